//! The form in which a response passes through a call: one line with its head as JSON, then the bytes of the body.
//!
//! A call's result is bytes, for a route as for any function, so a response is charged, stored under an idempotency key
//! and replayed in the same way. The head of a JSON response with the status 200 is an empty line.

use std::borrow::Cow;

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use super::request::{ByteStream, RouteRequest};
use convoke_core::answer::pieces::Pieces;
use convoke_core::error::{Error, Result};

/// The status and headers of a response.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Head<'a> {
    pub(crate) status: u16,
    /// Names and values of the headers. A value is the text of its bytes as Latin-1.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) headers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// True if the body is the stream that the request holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_stream: bool,
}

/// A response that a call returned.
pub struct Decoded {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body.
    pub body: DecodedBody,
}

/// The body of a response.
pub enum DecodedBody {
    /// All its bytes.
    Whole(Pieces),
    /// A stream, which the listener reads.
    Stream(ByteStream),
}

/// Reads the result of a call of a route.
///
/// # Errors
/// `INTERNAL`: it is not a response.
pub fn decode(encoded: Pieces, request: &RouteRequest) -> Result<Decoded> {
    let (head, body) = encoded.split_line().ok_or_else(|| Error::internal("a route's result without a head"))?;
    if head.is_empty() {
        let headers = vec![(CONTENT_TYPE, const { HeaderValue::from_static("application/json") })];
        return Ok(Decoded { status: 200, headers, body: DecodedBody::Whole(body) });
    }
    let head: Head<'_> = serde_json::from_slice(&head).map_err(Error::internal)?;
    let headers = head.headers.iter().map(|(name, value)| field(name, value)).collect::<Result<_>>()?;
    let body = match head.is_stream {
        // A replayed response has no stream, and only mutations are replayed.
        true => DecodedBody::Stream(request.take_stream().ok_or_else(|| Error::internal("a stream was taken twice"))?),
        false => DecodedBody::Whole(body),
    };
    Ok(Decoded { status: head.status, headers, body })
}

fn field(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    let name = HeaderName::try_from(name).map_err(Error::internal)?;
    let value: Option<Vec<u8>> = value.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    let value = value.ok_or_else(|| Error::internal("a header that is not Latin-1"))?;
    Ok((name, HeaderValue::try_from(value).map_err(Error::internal)?))
}
