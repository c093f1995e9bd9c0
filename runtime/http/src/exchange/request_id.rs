//! The id that connects a response with the server's log lines.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Deref;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::{HeaderName, HeaderValue};

/// The field of the id, in requests and responses.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id of a client that is accepted.
const LENGTH_MAX: usize = 64;

/// The id of a request: 1 to 64 of `[A-Za-z0-9._-]`, stored inline, so that a rejected request does not allocate. The
/// alignment to a word makes the UTF-8 check fast.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(8))]
pub(crate) struct RequestId {
    bytes: [u8; LENGTH_MAX],
    length: u8,
}

impl RequestId {
    /// Returns the client's id if it is usable, else a new one, and the field that echoes it.
    pub(crate) fn of(field: Option<&HeaderValue>) -> (Self, HeaderValue) {
        if let Some(field) = field
            && let Some(id) = Self::from_text(field.as_bytes())
        {
            return (id, field.clone());
        }
        let id = Self::random();
        (id, HeaderValue::from_bytes(id.as_bytes()).expect("the id's characters are valid in a field"))
    }

    /// Creates an id of 16 hexadecimal digits, unique within the process. Ids are not secret: a mixed counter with a
    /// random start is enough, and needs no system call.
    fn random() -> Self {
        static START: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let digits = hexadecimal(mix(START.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed))));
        Self::from_text(&digits).expect("hexadecimal digits make an id")
    }

    /// Returns this text as an id, if it is usable.
    fn from_text(text: &[u8]) -> Option<Self> {
        if !is_usable(text) {
            return None;
        }
        let mut bytes = [0; LENGTH_MAX];
        bytes[..text.len()].copy_from_slice(text);
        Some(Self { bytes, length: u8::try_from(text.len()).ok()? })
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl Deref for RequestId {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("the id's characters are ASCII")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
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
    let mut digits = [0; 16];
    hex::encode_to_slice(number.to_be_bytes(), &mut digits).expect("eight bytes are sixteen digits");
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(id: Option<&str>) -> RequestId {
        let (id, field) = RequestId::of(id.map(|id| HeaderValue::from_str(id).unwrap()).as_ref());
        assert_eq!(field, *id);
        id
    }

    #[test]
    fn usable_id_is_accepted_and_any_other_is_replaced() {
        let longest = "a".repeat(64);
        for id in ["a", "Order-7.retry_2", &longest] {
            assert_eq!(&*of(Some(id)), id);
        }
        let longer = "a".repeat(65);
        for id in [None, Some(""), Some("a b"), Some("a\tb"), Some("a/b"), Some(&*longer)] {
            let made = of(id);
            assert!(made.len() == 16 && made.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id:?} gave {made}");
        }
    }

    #[test]
    fn new_ids_are_unique() {
        let ids: std::collections::HashSet<_> = (0..10_000).map(|_| RequestId::random().to_string()).collect();
        assert_eq!(ids.len(), 10_000);
    }

    #[test]
    fn digits_are_those_of_the_number() {
        assert_eq!(&hexadecimal(0x0123_4567_89ab_cdef), b"0123456789abcdef");
    }
}
