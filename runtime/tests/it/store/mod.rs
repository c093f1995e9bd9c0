//! The store: what it keeps, what it refuses, and what survives.

mod basics;
mod dangers;
mod model;
mod support;
