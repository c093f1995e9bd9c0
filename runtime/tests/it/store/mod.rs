//! The store: what it keeps, what it refuses, and what survives.

mod basics;
mod support;
