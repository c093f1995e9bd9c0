//! What is said in a meeting: taking it in, its figures, and reading it back.
//!
//! `transcript` owns the rows and the figures that go with them; the functions beside it say who may and what is
//! answered.

pub mod transcript;
pub mod ingestion;
pub mod queries;
