//! The complete schema: the tables as the database and clients see them, and the errors of values.

// The attributes of the functions in these tests need the complete runtime under the name `convoke`.
extern crate whole as convoke;

mod golden;
mod refusals;
mod store;
mod wire;
