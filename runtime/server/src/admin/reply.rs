//! The reply of a handler: a value in the envelope of every `/api/*` body.

use bytes::Bytes;
use serde::Serialize;
use zeroize::Zeroizing;

use convoke_calls::call::envelope;
use convoke_core::error::{Error, Result};
use convoke_http::Reply;

/// As [`success`], for a value that holds a secret: what it is written to is zeroed once it is sent.
///
/// # Errors
/// As [`success`].
pub fn success_once(value: &impl Serialize) -> Result<Reply> {
    // More than such an answer has: bytes that grow leave their beginnings behind.
    const BYTES: usize = 4_096;
    let mut body = Zeroizing::new(Vec::with_capacity(BYTES));
    envelope::write_success(&mut body, value).map_err(Error::internal)?;
    Ok(Reply::json(200, Bytes::from_owner(body)))
}

/// A success with this value, in the envelope of every `/api/*` body.
///
/// # Errors
/// `INTERNAL` for a value that is no JSON.
pub fn success(value: &impl Serialize) -> Result<Reply> {
    let value = serde_json::to_vec(value).map_err(Error::internal)?;
    Ok(Reply::json(200, envelope::success(value.into())))
}
