//! What one could talk about, before a call and when it falls silent.

pub mod generator;
