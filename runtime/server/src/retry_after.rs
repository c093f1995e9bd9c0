//! `Retry-After` of responses.

use serde_json::Value;

use convoke_core::error::Error;

/// Returns the seconds of `Retry-After` for an error with this HTTP status: those that the error names, at least one.
pub(crate) fn retry_after_s(status: u16, error: &Error) -> Option<u32> {
    matches!(status, 429 | 503).then(|| {
        let wait_ms = error.data().get("retryAfterMs").and_then(Value::as_u64).unwrap_or(0);
        u32::try_from(wait_ms.div_ceil(1_000)).unwrap_or(u32::MAX).max(1)
    })
}
