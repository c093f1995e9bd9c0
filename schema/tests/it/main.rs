//! The complete schema: the tables as the database and clients see them, and the errors of values.

// The attributes of the functions in these tests refer to the crate by its name.
extern crate whole as convoke;

mod golden;
mod refusals;
mod store;
mod wire;
