//! Transcripts of meetings: adding chunks, statistics, and reading.
//!
//! `transcript` has the rows and statistics, `said` the form for readers of the text, and `window` the part that a
//! generator reads. The functions beside them check rights and build responses.

pub mod transcript;
pub mod said;
pub mod window;
pub mod ingestion;
pub mod queries;
