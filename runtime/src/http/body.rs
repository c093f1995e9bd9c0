//! Reads a request's whole body, within its size and time.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;

use super::refusal::Refused;
use crate::error::Code;

const TOO_LARGE: Refused =
    Refused { code: Code::PayloadTooLarge, message: "The request's body is larger than the limit." };
const TOO_SLOW: Refused = Refused { code: Code::RequestTimeout, message: "The request's body did not arrive in time." };
const BROKEN: Refused = Refused { code: Code::BadRequest, message: "The request's body ended early or is malformed." };

/// The whole body. One that came with the head, which is nearly every call's, is neither copied nor timed.
///
/// # Errors
/// `PAYLOAD_TOO_LARGE` from the declared length or as soon as more than `bytes_max` has come, `REQUEST_TIMEOUT`,
/// `BAD_REQUEST` for a body that breaks off.
pub(super) async fn read(body: hyper::body::Incoming, bytes_max: usize, timeout: Duration) -> Result<Bytes, Refused> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(TOO_LARGE);
    }
    let mut gathering = pin!(gather(body, bytes_max));
    if let Poll::Ready(whole) = poll_fn(|cx| Poll::Ready(gathering.as_mut().poll(cx))).await {
        return whole;
    }
    match tokio::time::timeout(timeout, gathering).await {
        Ok(whole) => whole,
        Err(_elapsed) => Err(TOO_SLOW),
    }
}

/// What is set aside at once for a body in several pieces, whatever length it declares.
const FIRST_BUFFER_BYTES_MAX: u64 = 64 * 1024;

async fn gather(mut body: hyper::body::Incoming, bytes_max: usize) -> Result<Bytes, Refused> {
    let expected = body.size_hint().lower().min(FIRST_BUFFER_BYTES_MAX);
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BROKEN)?.into_data() else { continue };
        if first.len().max(whole.len()) + data.len() > bytes_max {
            return Err(TOO_LARGE);
        }
        if first.is_empty() {
            first = data;
        } else {
            if whole.is_empty() {
                whole.reserve(usize::try_from(expected).unwrap_or(0).max(first.len() + data.len()));
                whole.extend_from_slice(&first);
            }
            whole.extend_from_slice(&data);
        }
        if body.is_end_stream() {
            break;
        }
    }
    Ok(if whole.is_empty() { first } else { whole.freeze() })
}
