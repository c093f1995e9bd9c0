//! The id that ties a response to the server's log lines.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

/// The field that carries it, both ways.
pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id of a caller that is taken over.
const LENGTH_MAX: usize = 64;

/// A request's id, as text and as the field that echoes it.
pub(super) struct RequestId {
    pub(super) text: Arc<str>,
    pub(super) field: HeaderValue,
}

impl RequestId {
    /// The caller's own, if it is one field of 1 … 64 of `[A-Za-z0-9._-]`; else a new one.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut fields = headers.get_all(X_REQUEST_ID).iter();
        if let (Some(field), None) = (fields.next(), fields.next())
            && is_usable(field.as_bytes())
            && let Ok(text) = field.to_str()
        {
            return Self { text: Arc::from(text), field: field.clone() };
        }
        Self::new()
    }

    /// Sixteen hexadecimal digits, of which no two are alike in one process. They are no secret: a mixed counter from
    /// a random start is enough, and costs no system call.
    pub(super) fn new() -> Self {
        static START: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let digits = hexadecimal(mix(START.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed))));
        let text = std::str::from_utf8(&digits).expect("hexadecimal digits are ASCII");
        let field = HeaderValue::from_maybe_shared(Bytes::copy_from_slice(&digits));
        Self { text: Arc::from(text), field: field.expect("hexadecimal digits stand in any field") }
    }
}

fn is_usable(id: &[u8]) -> bool {
    (1..=LENGTH_MAX).contains(&id.len())
        && id.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// A bijection of 64 bits that looks random (the finalizer of splitmix64).
fn mix(counter: u64) -> u64 {
    let mut x = counter.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn hexadecimal(number: u64) -> [u8; 16] {
    std::array::from_fn(|digit| b"0123456789abcdef"[(number >> (60 - 4 * digit)) as usize & 15])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &[&str]) -> Arc<str> {
        let mut headers = HeaderMap::new();
        for id in ids {
            headers.append(X_REQUEST_ID, HeaderValue::from_str(id).unwrap());
        }
        RequestId::of(&headers).text
    }

    #[test]
    fn a_usable_id_is_taken_over_and_any_other_replaced() {
        let longest = "a".repeat(64);
        for id in ["a", "Order-7.retry_2", &longest] {
            assert_eq!(&*of(&[id]), id);
        }
        let longer = "a".repeat(65);
        for ids in [&[][..], &[""], &["a b"], &["a\tb"], &["a/b"], &[&longer], &["a", "b"]] {
            let made = of(ids);
            assert!(made.len() == 16 && made.bytes().all(|byte| byte.is_ascii_hexdigit()), "{ids:?} gave {made}");
        }
    }

    #[test]
    fn made_ids_differ() {
        let ids: std::collections::HashSet<_> = (0..10_000).map(|_| RequestId::new().text).collect();
        assert_eq!(ids.len(), 10_000);
    }

    #[test]
    fn digits_are_those_of_the_number() {
        assert_eq!(&hexadecimal(0x0123_4567_89ab_cdef), b"0123456789abcdef");
    }
}
