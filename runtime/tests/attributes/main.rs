//! What the attributes make of types and functions, seen from a crate that uses them.

mod objects;
mod tables;
mod values;
