//! Insights from a language model with an OpenAI-compatible API.
//!
//! In reading order: `request` builds requests, `answer` validates responses, and `exchange` handles retries and
//! failures. The caller provides the connection.

pub mod answer;
pub mod exchange;
pub mod request;
