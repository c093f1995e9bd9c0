//! The schema as a whole: what the tables look like to the database and to clients.

mod golden;
mod wire;
