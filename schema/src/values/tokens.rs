//! Opaque identifiers: tokens that clients choose, and digests.

use convoke::value;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// An id that a client chooses for a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
///
/// ```json
/// "tab-1"
/// ```
#[value(text, min = 1, max = 128, pattern = "^[A-Za-z0-9._:@-]+$")]
pub struct ClientToken(String);

/// An idempotency key: a call with the same key and the same arguments returns the stored result and has no effect.
///
/// ```json
/// "5f0c8a52-1f0e-4c0a-9a51-6f1e2b7d3c44"
/// ```
#[value(text, min = 1, max = 255, check = printable)]
pub struct IdempotencyKey(String);

fn printable(text: String) -> Result<String, String> {
    // U+2028 and U+2029 end a line as U+000A does, without being control characters.
    match text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        true => Err("must be a text of printable characters".to_owned()),
        false => Ok(text),
    }
}

/// The SHA-256 of content, as 64 hex digits. It compares content without storing it.
#[value(text, pattern = "^[0-9a-f]{64}$")]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Returns the fingerprint of a value's canonical JSON. Members are ordered by name, so their order does not matter.
    ///
    /// # Panics
    /// The value has a map whose keys are not texts, which has no JSON form.
    pub fn of(value: &impl Serialize) -> Self {
        let value = serde_json::to_value(value).expect("what is fingerprinted has a JSON form");
        let mut text = String::new();
        write_canonical(&value, &mut text);
        Self(hex::encode(Sha256::digest(text)))
    }
}

fn write_canonical(value: &serde_json::Value, out: &mut String) {
    use serde_json::Value;
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| name.as_str());
            out.push('{');
            for (name, value) in members {
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_str, json};

    use super::*;

    #[test]
    fn a_client_token_is_short_and_plain() {
        for good in ["a", "A-Z.a_z:0@9", &"x".repeat(128)] {
            assert_eq!(ClientToken::new(good).unwrap().as_str(), good);
        }
        for bad in ["", " a", "a b", "a/b", "ä", "a\n", &"x".repeat(129)] {
            assert!(ClientToken::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_idempotency_key_is_printable() {
        for good in ["k", "a b", "größe 😀", &"x".repeat(255)] {
            assert!(IdempotencyKey::new(good).is_ok(), "{good:?}");
        }
        for bad in ["", "a\nb", "a\tb", "\u{7f}", "\u{85}", "\u{2028}", "a\0b", &"x".repeat(256)] {
            assert!(IdempotencyKey::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_fingerprint_does_not_depend_on_the_order_of_members() {
        let one: Value = from_str(r#"{"a": 1, "b": {"c": [1, 2], "d": null}}"#).unwrap();
        let other: Value = from_str(r#"{"b": {"d": null, "c": [1, 2]}, "a": 1}"#).unwrap();
        assert_eq!(Fingerprint::of(&one), Fingerprint::of(&other));
        for different in [json!({}), json!({"a": 1, "b": {"c": [2, 1], "d": null}}), json!([1]), json!("1")] {
            assert_ne!(Fingerprint::of(&one), Fingerprint::of(&different));
        }
        assert_eq!(
            Fingerprint::of(&json!("")).as_str(),
            // The SHA-256 of two quotation marks.
            "12ae32cb1ec02d01eda3581b127c1fee3b0dc53572ed6baf239721a03d82e126"
        );
        assert_eq!(Fingerprint::new(Fingerprint::of(&one).as_str()).unwrap(), Fingerprint::of(&one));
    }
}
