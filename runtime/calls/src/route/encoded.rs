//! The form in which a response passes through a call: one line with its head as JSON, then the bytes of the body.
//!
//! A call's result is bytes, for a route as for any function, so a response is charged, stored under an idempotency key
//! and replayed in the same way. The head of a JSON response with the status 200 is an empty line.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use convoke_core::answer::pieces::Pieces;
use convoke_core::error::{Error, Result};

/// The status and headers of a response.
#[derive(Debug, Serialize, Deserialize)]
pub struct Head<'a> {
    /// The status.
    pub status: u16,
    /// Names and values of the headers. A value is the text of its bytes as Latin-1.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// True if the body is the stream that the request holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stream: bool,
}

/// Splits the bytes of a call's result. No head: a JSON value with the status 200.
///
/// # Errors
/// `INTERNAL`: they are not a response.
pub fn split(encoded: Pieces) -> Result<(Option<Bytes>, Pieces)> {
    let (head, body) = encoded.split_line().ok_or_else(|| Error::internal("a route's result without a head"))?;
    Ok(((!head.is_empty()).then_some(head), body))
}
