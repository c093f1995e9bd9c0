//! Calls of HTTP routes: the check of the signature, extractors, the call of the function, and its answer.

pub mod answer;
pub mod extract;
pub mod handler;
mod text_values;
pub mod verify;

pub use extract::{Form, FromRequest, Headers, Json, Path, Query};
