//! The arguments of a completed call for operators: without secrets, and with large values truncated.
//!
//! A call pays for a copy of the text that was sent. The rest of the work happens when the record is written or shown.

use std::borrow::Cow;

use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::codec::decode::{Body, Envelope};
use crate::codec::secret_fields::{SecretFields, item_of, member_of};
use crate::registry::Registered;

/// Maximum bytes of arguments that are copied. Larger arguments are recorded by their length.
const SENT_BYTES_MAX: usize = 16 * 1024;
/// Maximum bytes of arguments that are shown.
const SHOWN_BYTES_MAX: usize = 8 * 1024;
/// Maximum bytes of arguments that certainly fit: no value is shown in eight times its bytes.
const SMALL_BYTES_MAX: usize = SHOWN_BYTES_MAX / 8;
/// Maximum characters of one string that are shown.
const TEXT_CHARS_MAX: usize = 200;
/// Maximum items of one array that are shown.
const ITEMS_MAX: usize = 20;
/// Maximum members of one object that are shown.
const MEMBERS_MAX: usize = 50;
/// Minimum characters of a word of mixed letters and digits that counts as a token.
const TOKEN_CHARS_MIN: usize = 32;
/// The text in place of a secret.
const SECRET: &str = "(secret)";

/// The arguments of one call.
#[derive(Clone, Debug)]
pub struct Arguments(Source);

#[derive(Clone, Debug)]
enum Source {
    /// The text that was sent.
    Sent { text: Box<str>, is_envelope: bool, function: Registered },
    /// The number of bytes, which were not copied.
    Large(usize),
    /// The JSON that operators see.
    Shown(Box<RawValue>),
}

impl Arguments {
    /// Copies the arguments that were sent to a function.
    pub(crate) fn sent(function: &Registered, body: Body<'_>) -> Self {
        let (text, is_envelope) = match body {
            Body::Envelope(text) => (text, true),
            Body::Args(text, _) => (text, false),
            Body::Route(request) => return Self(Source::Large(request.body().len())),
        };
        Self(match text.len() {
            ..=SENT_BYTES_MAX => Source::Sent { text: text.into(), is_envelope, function: function.clone() },
            bytes => Source::Large(bytes),
        })
    }

    /// Returns its bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        match &self.0 {
            Source::Sent { text, .. } => text.len(),
            Source::Large(_) => 0,
            Source::Shown(json) => json.get().len(),
        }
    }

    /// Returns the JSON that operators see.
    pub fn shown(&self) -> Cow<'_, str> {
        match &self.0 {
            Source::Sent { text, is_envelope, function } => shown(text, *is_envelope, function.secret_fields()).into(),
            Source::Large(bytes) => format!("\"({bytes} bytes)\"").into(),
            Source::Shown(json) => json.get().into(),
        }
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Source::Sent { text, is_envelope, function } if text.len() <= SMALL_BYTES_MAX => {
                Shown { value: &value(args(text, *is_envelope)), path: "", secrets: function.secret_fields() }
                    .serialize(serializer)
            }
            Source::Shown(json) => json.serialize(serializer),
            Source::Sent { .. } | Source::Large(_) => {
                let json = RawValue::from_string(self.shown().into_owned()).map_err(serde::ser::Error::custom)?;
                json.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|json| Self(Source::Shown(json)))
    }
}

fn shown(text: &str, is_envelope: bool, secrets: &SecretFields) -> String {
    let args = args(text, is_envelope);
    let json = serde_json::to_string(&Shown { value: &value(args), path: "", secrets }).unwrap_or_default();
    if json.len() <= SHOWN_BYTES_MAX { json } else { format!("\"({} bytes)\"", args.len()) }
}

fn args(text: &str, is_envelope: bool) -> &str {
    match is_envelope {
        true => Envelope::read(text).and_then(|envelope| envelope.args_or_array()).unwrap_or("null"),
        false => text,
    }
}

/// Parses a text that was validated when the call came in.
fn value(args: &str) -> Value {
    serde_json::from_str(args).unwrap_or(Value::Null)
}

/// A value as operators see it.
struct Shown<'a> {
    value: &'a Value,
    path: &'a str,
    secrets: &'a SecretFields,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Shown { value, path, secrets } = *self;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.serialize(serializer),
            Value::String(text) if is_token(text) => serializer.serialize_str(SECRET),
            Value::String(text) => match text.char_indices().nth(TEXT_CHARS_MAX) {
                None => serializer.serialize_str(text),
                Some((end, _)) => {
                    serializer.collect_str(&format_args!("{}… ({} characters)", &text[..end], text.chars().count()))
                }
            },
            Value::Array(items) => {
                let (path, mut list) = (item_of(path), serializer.serialize_seq(None)?);
                for value in items.iter().take(ITEMS_MAX) {
                    list.serialize_element(&Shown { value, path: &path, secrets })?;
                }
                if items.len() > ITEMS_MAX {
                    list.serialize_element(&format!("… ({} more)", items.len() - ITEMS_MAX))?;
                }
                list.end()
            }
            Value::Object(members) => {
                let mut object = serializer.serialize_map(None)?;
                for (name, value) in members.iter().take(MEMBERS_MAX) {
                    let path = member_of(path, name);
                    match value {
                        Value::Null | Value::Bool(_) => object.serialize_entry(name, value)?,
                        _ if secrets.has(&path, name) => object.serialize_entry(name, SECRET)?,
                        value => object.serialize_entry(name, &Shown { value, path: &path, secrets })?,
                    }
                }
                if members.len() > MEMBERS_MAX {
                    object.serialize_entry("…", &format!("({} more)", members.len() - MEMBERS_MAX))?;
                }
                object.end()
            }
        }
    }
}

/// Returns true if a text has the form of a credential, for any name of its member.
fn is_token(text: &str) -> bool {
    let starts = |beginnings: &[&str]| beginnings.iter().any(|beginning| text.starts_with(beginning));
    if starts(&["Bearer ", "Basic ", "Convoke ", "Convex ", "-----BEGIN "]) {
        return true;
    }
    let is_word = !text.contains(|c: char| c.is_whitespace());
    let is_jwt = || text.starts_with("eyJ") && text.matches('.').count() == 2;
    let is_known =
        || text.len() >= 20 && starts(&["sk-", "sk_", "pk_", "rk_", "ghp_", "github_pat_", "xoxb-", "xoxp-", "AKIA"]);
    let has = |is: fn(&char) -> bool| text.chars().any(|c| is(&c));
    let is_random = || {
        text.len() >= TOKEN_CHARS_MIN
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_+/=.:|".contains(c))
            && has(char::is_ascii_uppercase)
            && has(char::is_ascii_lowercase)
            && has(char::is_ascii_digit)
            && !text.contains("://")
    };
    is_word && (is_jwt() || is_known() || is_random())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown_of(value: &Value) -> Value {
        let secrets = SecretFields::of(&json!({ "properties": { "pin": { "format": "password" } } }));
        serde_json::from_str(&shown(&json!({ "args": value }).to_string(), true, &secrets)).unwrap()
    }

    #[test]
    fn secrets_are_removed_by_name_by_schema_and_by_form() {
        let args = json!({
            "title": "Stand-up",
            "pin": "1234",
            "newPassword": "hush",
            "nested": [{ "api_key": "abc", "tokens": 7, "confirmed": true }],
            "header": "Bearer abc",
            "link": "eyJhbGciOi.eyJzdWIi.c2ln",
            "key": "production:ci|kJ3nTq0bT5mVvY2wXxZz9aBcDeFgHiJkLmNoPqRsTuV",
            "meetingId": "meeting_01h455vb4pex5vsknk084sn02q",
            "url": "https://Example.com/A1b2C3d4E5f6A1b2C3d4E5f6A1b2C3d4",
        });
        assert_eq!(
            shown_of(&args),
            json!({
                "title": "Stand-up",
                "pin": "(secret)",
                "newPassword": "(secret)",
                "nested": [{ "api_key": "(secret)", "tokens": "(secret)", "confirmed": true }],
                "header": "(secret)",
                "link": "(secret)",
                "key": "(secret)",
                "meetingId": "meeting_01h455vb4pex5vsknk084sn02q",
                "url": "https://Example.com/A1b2C3d4E5f6A1b2C3d4E5f6A1b2C3d4",
            })
        );
    }

    #[test]
    fn large_values_are_truncated_and_their_size_is_shown() {
        let items: Vec<usize> = (0..30).collect();
        let args = shown_of(&json!({ "text": "ü".repeat(201), "fits": "ü".repeat(200), "items": items }));
        assert_eq!(args["text"], format!("{}… (201 characters)", "ü".repeat(200)));
        assert_eq!(args["fits"], "ü".repeat(200));
        assert_eq!((args["items"].as_array().unwrap().len(), &args["items"][20]), (21, &json!("… (10 more)")));
        let members: serde_json::Map<String, Value> =
            (0..60).map(|place| (format!("m{place:02}"), place.into())).collect();
        assert_eq!(shown_of(&members.into())["…"], "(10 more)");
        let texts: Vec<String> = (0..20).map(|_| "x y ".repeat(200)).collect();
        let wide = json!({ "a": texts, "b": texts, "c": texts });
        assert_eq!(shown_of(&wide), format!("({} bytes)", wide.to_string().len()));
    }
}
