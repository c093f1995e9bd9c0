//! The replies of handlers: a value in the envelope of all `/api/*` responses.

use bytes::Bytes;
use serde::Serialize;
use zeroize::Zeroizing;

use convoke_calls::call::envelope;
use convoke_core::error::{Error, Result};
use convoke_http::Reply;

/// Returns a success whose value contains a secret. The body is zeroed after it is sent.
///
/// # Errors
/// Those of [`success`].
pub fn success_once(value: &impl Serialize) -> Result<Reply> {
    // Larger than such a response: a growing buffer would leave copies of the secret in freed memory.
    const BYTES: usize = 4_096;
    let mut body = Zeroizing::new(Vec::with_capacity(BYTES));
    envelope::write_success(&mut body, value).map_err(Error::internal)?;
    Ok(Reply::json(200, Bytes::from_owner(body)))
}

/// Returns a success with this value.
///
/// # Errors
/// `INTERNAL`: the value cannot be written as JSON.
pub fn success(value: &impl Serialize) -> Result<Reply> {
    let value = serde_json::to_vec(value).map_err(Error::internal)?;
    Ok(Reply::json(200, envelope::success(value.into())))
}
