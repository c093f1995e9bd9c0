//! The schema as a whole: what the tables look like to the database and to clients, and what stands at its door.

mod golden;
mod refusals;
mod store;
mod wire;
