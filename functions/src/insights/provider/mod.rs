//! Insights from a language model behind an OpenAI-compatible address, where one is configured.
//!
//! In reading order: `request` says what the model is asked, `answer` what of its answer is believed, `exchange` how
//! often it is asked and what happens when it fails. The connection itself is the caller's.

pub mod answer;
pub mod exchange;
pub mod request;
