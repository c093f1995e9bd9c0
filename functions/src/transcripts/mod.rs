//! What is said in a meeting: taking it in, its figures, and reading it back.
//!
//! `transcript` owns the rows and the figures that go with them, `said` what others read of them, `window` how much of
//! them a generator reads; the functions beside it say who may and what is
//! answered.

pub mod transcript;
pub mod said;
pub mod window;
pub mod ingestion;
pub mod queries;
