//! The schema as a whole: what the tables look like to the database and to clients, and what stands at its door.

// The tests call functions, whose attributes speak of the whole of it.
extern crate whole as convoke;

mod golden;
mod refusals;
mod store;
mod wire;
