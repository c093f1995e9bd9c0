//! Decoding of a function's arguments, and the message if they do not fit.
//!
//! A body is read twice: first a strict validation (syntax, duplicate keys, depth), which builds nothing, then a direct
//! decoding into the arguments' type. Only a rejected body costs more: it is decoded again to record the path.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use smallvec::SmallVec;

use super::convex_json;
use super::excerpt::shortened;
use crate::route::request::RouteRequest;
use convoke_core::error::{Code, Error, Result};
use convoke_core::wire::union;

/// The source of the arguments.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    /// A call's whole body, already validated: `{"args": {…}, "format": …}`.
    Envelope(&'a str),
    /// The arguments alone, already validated.
    Args(&'a str, Format),
    Route(&'a RouteRequest),
}

impl<'a> Body<'a> {
    /// Returns the arguments' JSON, as sent.
    ///
    /// # Errors
    /// `INVALID_ENVELOPE`.
    pub(crate) fn json(self) -> Result<&'a str> {
        match self {
            Body::Envelope(body) => Envelope::read(body)?.args(),
            Body::Args(json, _) => Ok(json),
            Body::Route(_) => Err(of_a_route()),
        }
    }
}

/// The format of values in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Plain JSON.
    #[default]
    Json,
    /// `convex_encoded_json`: large integers, bytes and special floats as tagged objects.
    ConvexEncoded,
}

impl Format {
    /// Returns the format that a request names.
    ///
    /// # Errors
    /// `UNSUPPORTED_FORMAT`.
    pub(crate) fn named(name: Option<&str>) -> Result<Self> {
        match name {
            None | Some("json") => Ok(Format::Json),
            Some("convex_encoded_json") => Ok(Format::ConvexEncoded),
            Some(other) => {
                let end = other.floor_char_boundary(80);
                let message = format!("Format {:?} is not supported; use \"json\"", &other[..end]);
                Err(Error::new(Code::UnsupportedFormat, message))
            }
        }
    }
}

/// Decodes the arguments of a function.
///
/// # Errors
/// `INVALID_ENVELOPE`, `UNSUPPORTED_FORMAT`, or `INVALID_ARGUMENT` with the path of the mistake.
pub(crate) fn args<A: DeserializeOwned>(body: Body<'_>) -> Result<A> {
    match body {
        Body::Route(_) => Err(of_a_route()),
        Body::Args(json, format) => args_of(json, format),
        Body::Envelope(body) => {
            let mut reader = serde_json::Deserializer::from_str(body);
            match reader.deserialize_map(EnvelopeVisitor(PhantomData)) {
                Ok(args) => Ok(args),
                // The arguments do not fit, or the format is another one: decode again, in the slow way.
                Err(_) => {
                    let envelope = Envelope::read(body)?;
                    args_of(envelope.args()?, Format::named(envelope.format.as_deref())?)
                }
            }
        }
    }
}

/// Decodes a value of plain JSON that is already validated.
///
/// # Errors
/// `INVALID_ARGUMENT` with the path of the mistake.
pub fn plain<A: DeserializeOwned>(json: &str) -> Result<A> {
    args_of(json, Format::Json)
}

fn of_a_route() -> Error {
    Error::internal("a route has a request in place of arguments")
}

fn args_of<A: DeserializeOwned>(json: &str, format: Format) -> Result<A> {
    match format {
        Format::Json => serde_json::from_str(json).map_err(|_| refusal::<A>(json)),
        Format::ConvexEncoded => {
            let plain = convex_json::decode(json)?;
            serde_json::from_str(&plain).map_err(|_| refusal::<A>(&plain))
        }
    }
}

/// Decodes the common case in one pass: an envelope of plain JSON whose arguments fit.
struct EnvelopeVisitor<A>(PhantomData<A>);

impl<'de, A: DeserializeOwned> Visitor<'de> for EnvelopeVisitor<A> {
    type Value = A;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an envelope")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<A, M::Error> {
        let mut args = None;
        while let Some(key) = map.next_key::<EnvelopeKey>()? {
            match key {
                EnvelopeKey::Args => args = Some(map.next_value()?),
                EnvelopeKey::Format => {
                    if map.next_value::<Option<&str>>()?.is_some_and(|format| format != "json") {
                        return Err(M::Error::custom("another format"));
                    }
                }
                EnvelopeKey::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        args.ok_or_else(|| M::Error::missing_field("args"))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum EnvelopeKey {
    Args,
    Format,
    #[serde(other)]
    Other,
}

/// A call's body before its arguments are decoded.
pub(crate) struct Envelope<'a> {
    args: Option<&'a RawValue>,
    pub(crate) path: Option<String>,
    pub(crate) format: Option<String>,
    /// The commit at which a query runs, as `/api/query_ts` returned it.
    pub(crate) ts: Option<String>,
}

impl<'a> Envelope<'a> {
    /// Reads the envelope of a validated body.
    ///
    /// # Errors
    /// `INVALID_ENVELOPE`; it names the part with the wrong type.
    pub(crate) fn read(body: &'a str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Wire<'a> {
            #[serde(borrow)]
            args: Option<&'a RawValue>,
            #[serde(borrow)]
            path: Option<&'a RawValue>,
            #[serde(borrow)]
            format: Option<&'a RawValue>,
            #[serde(borrow)]
            ts: Option<&'a RawValue>,
        }
        let wire: Wire<'a> = match body.bytes().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{') => serde_json::from_str(body).map_err(|_| envelope("The body is not a call's envelope"))?,
            _ => return Err(envelope("The body must be an object such as {\"args\": {}}")),
        };
        let (path, format) = (text("path", wire.path)?, text("format", wire.format)?);
        // On other routes, this member is ignored like an unknown one.
        let ts = wire.ts.and_then(|ts| serde_json::from_str(ts.get()).ok());
        Ok(Self { args: wire.args, path, format, ts })
    }

    /// Returns the arguments' JSON, which must be an object.
    ///
    /// # Errors
    /// `INVALID_ENVELOPE`.
    pub(crate) fn args(&self) -> Result<&'a str> {
        let args = self.args.ok_or_else(|| envelope("args is missing; send {\"args\": {}} when there are none"))?.get();
        if args.starts_with('{') { Ok(args) } else { Err(envelope("args must be an object of named arguments")) }
    }

    /// As [`Envelope::args`], and accepts `[{…}]` too, as the generic routes do.
    ///
    /// # Errors
    /// `INVALID_ENVELOPE`.
    pub(crate) fn args_or_array(&self) -> Result<&'a str> {
        match self.args {
            Some(args) if args.get().starts_with('[') => object_or_array(args.get()),
            _ => self.args(),
        }
    }
}

/// Returns the arguments' object: itself, or the item of the one-element array that some clients send.
///
/// # Errors
/// `INVALID_ENVELOPE`.
pub(crate) fn object_or_array(raw: &str) -> Result<&str> {
    if raw.starts_with('{') {
        return Ok(raw);
    }
    match serde_json::from_str::<Vec<&RawValue>>(raw).as_deref() {
        Ok([one]) if one.get().starts_with('{') => Ok(one.get()),
        _ => Err(envelope("args must be an object, or an array that holds one object")),
    }
}

fn text(name: &str, value: Option<&RawValue>) -> Result<Option<String>> {
    value
        .map(|value| serde_json::from_str(value.get()).map_err(|_| envelope(format!("{name} must be a string"))))
        .transpose()
}

fn envelope(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(Code::InvalidEnvelope, message)
}

/// Returns the reason why `json` is not an `A`, with the path of the first mistake.
fn refusal<A: DeserializeOwned>(json: &str) -> Error {
    let mut reader = serde_json::Deserializer::from_str(json);
    match serde_path_to_error::deserialize::<_, A>(&mut reader) {
        Ok(_) => Error::internal("the arguments were rejected and then accepted"),
        Err(error) => {
            let path = shortened(&error.path().to_string());
            let error = error.inner();
            let text = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            sentence(if path == "." { "" } else { &path }, text.strip_suffix(&place).unwrap_or(&text))
        }
    }
}

/// Converts a message of serde to one of ours.
fn sentence(path: &str, text: &str) -> Error {
    if let Some((within, text)) = union::at(text) {
        return sentence(&shortened(&join(path, within)), text);
    }
    if let Some(name) = quoted(text, "missing field `") {
        let field = join(path, name);
        let message = format!("Missing required argument: {field}");
        return Error::invalid_argument(field, message);
    }
    if let Some(name) = quoted(text, "unknown field `") {
        let name = &*shortened(name);
        let field =
            if path == name || path.ends_with(&format!(".{name}")) { path.to_owned() } else { join(path, name) };
        let message = format!("Unknown argument: {field}");
        return Error::invalid_argument(field, message);
    }
    let said = text.strip_prefix("invalid type: ").or_else(|| text.strip_prefix("invalid value: "));
    if let Some((came, expected)) = said.and_then(|said| said.rsplit_once(", expected ")) {
        return Error::invalid_argument(
            path,
            format!("{}must be {} (got {})", prefix(path), wanted(expected), shown(came)),
        );
    }
    if let Some((length, expected)) =
        text.strip_prefix("invalid length ").and_then(|said| said.split_once(", expected "))
    {
        let plural = if length == "1" { "" } else { "s" };
        return Error::invalid_argument(
            path,
            format!("{}must be {} (got {length} value{plural})", prefix(path), wanted(expected)),
        );
    }
    // A message of a value type: "must be …" is about the argument, other messages are complete.
    let before = if text.starts_with("must be ") { prefix(path) } else { String::new() };
    Error::invalid_argument(path, format!("{before}{text}"))
}

fn prefix(path: &str) -> String {
    if path.is_empty() { "args: ".to_owned() } else { format!("{path}: ") }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn quoted<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.strip_prefix(start)?.split('`').next()
}

/// Converts serde's description of an expected type to JSON: names of Rust's types mean nothing to a client.
fn wanted(expected: &str) -> &str {
    let is_of = |kinds: &[&str]| kinds.iter().any(|kind| expected.starts_with(kind));
    match expected {
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number that is not negative",
        "f32" | "f64" => "a number",
        "unit" => "null",
        "a map" | "map" => "an object",
        "a sequence" | "sequence" => "an array",
        _ if is_of(&["unit struct "]) => "null",
        _ if is_of(&["struct ", "internally tagged enum ", "adjacently tagged enum "]) => "an object",
        _ if is_of(&["tuple struct ", "tuple variant ", "a tuple of size "]) => "an array of the right length",
        _ if is_of(&["enum ", "unit variant ", "newtype variant ", "newtype struct "]) => {
            "one of the documented values"
        }
        other => other,
    }
}

/// Returns a message of serde_json without the names of Rust's types.
pub fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(", expected ") {
        None => text,
        Some((before, after)) => {
            let (expected, place) = after.split_once(" at line ").unwrap_or((after, ""));
            let place = if place.is_empty() { String::new() } else { format!(" at line {place}") };
            format!("{before}, expected {}{place}", wanted(expected))
        }
    }
}

/// Converts serde's description of a value to JSON: "string \"x\"" is `"x"`, "integer `7`" is `7`.
fn shown(came: &str) -> String {
    const CAME_CHARS_MAX: usize = 80;
    let came = match came {
        "map" | "struct" => "an object",
        "sequence" => "an array",
        "unit value" | "Option value" => "null",
        other => other,
    };
    let bare = ["string ", "integer ", "floating point ", "boolean ", "character "]
        .iter()
        .find_map(|kind| came.strip_prefix(kind))
        .unwrap_or(came)
        .trim_matches('`');
    let mut short: String = bare.chars().take(CAME_CHARS_MAX).collect();
    if short.len() < bare.len() {
        short.push('…');
    }
    short
}

/// Validates a body as JSON: its syntax, no duplicate keys in an object, at most `depth_max` levels. Returns the body
/// as text, so that its strings need no further UTF-8 validation.
///
/// # Errors
/// `INVALID_JSON`; it says where.
pub fn strict(body: &[u8], depth_max: usize) -> Result<&str> {
    let invalid = |message: String| Error::new(Code::InvalidJson, message);
    let checked = match std::str::from_utf8(body) {
        Ok(text) => check(serde_json::Deserializer::from_str(text), depth_max).map(|()| text),
        // The JSON parser finds the same mistake and reports its position.
        Err(error) => check(serde_json::Deserializer::from_slice(body), depth_max)
            .and_then(|()| Err(serde::de::Error::custom(error))),
    };
    checked.map_err(|error| match body.is_empty() {
        true => invalid("The body is empty; send {\"args\": {}}".to_owned()),
        false => invalid(format!("The body is not valid JSON: {error}")),
    })
}

fn check<'a>(
    mut reader: serde_json::Deserializer<impl serde_json::de::Read<'a>>,
    depth_max: usize,
) -> serde_json::Result<()> {
    Strict { depth_left: depth_max }.deserialize(&mut reader)?;
    reader.end()
}

#[derive(Clone, Copy)]
struct Strict {
    depth_left: usize,
}

impl Strict {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(Self { depth_left }),
            None => Err(E::custom("nested too deep")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<(), S::Error> {
        let inner = self.deeper()?;
        while seq.next_element_seed(inner)?.is_some() {}
        Ok(())
    }
    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let inner = self.deeper()?;
        let mut seen = Seen::default();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            if !seen.add(key.0) {
                return Err(M::Error::custom("an object has the same key twice"));
            }
            map.next_value_seed(inner)?;
        }
        Ok(())
    }
}

/// A key, borrowed if it has no escapes (`Cow` alone would always copy).
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] std::borrow::Cow<'a, str>);

/// The keys of one object: few keys are compared one by one, more keys by hash.
#[derive(Default)]
struct Seen<'a> {
    few: SmallVec<[std::borrow::Cow<'a, str>; 4]>,
    many: HashSet<std::borrow::Cow<'a, str>>,
}

impl<'a> Seen<'a> {
    fn add(&mut self, key: std::borrow::Cow<'a, str>) -> bool {
        const FEW: usize = 16;
        if self.few.contains(&key) {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(key);
            return true;
        }
        self.many.insert(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_has_the_name_of_a_type() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "it is only decoded")]
        struct Room {
            size: i64,
            pair: (i64, i64),
        }
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "it is only decoded")]
        struct Args {
            room: Room,
        }
        let said = |json: &str| plain::<Args>(json).unwrap_err().message().to_owned();
        assert_eq!(said(r#"{"room":7}"#), "room: must be an object (got 7)");
        assert_eq!(said(r#"{"room":{"size":"7"}}"#), "room.size: must be a whole number (got \"7\")");
        assert_eq!(
            said(r#"{"room":{"size":7,"pair":[1]}}"#),
            "room.pair: must be an array of the right length (got 1 value)"
        );
        let error = serde_json::from_str::<Args>("[]").unwrap_err();
        assert_eq!(in_words(&error), "invalid length 0, expected an object at line 1 column 2");
    }

    #[test]
    fn strict_rejects_invalid_syntax_duplicate_keys_and_deep_nesting() {
        for good in [r#"{"args":{}}"#, "[1,2.5,-3e2,null,true,\"x\"]", r#"{"a":{"a":1},"b":[{"a":1}]}"#, " 1 "] {
            assert!(strict(good.as_bytes(), 64).is_ok(), "{good}");
        }
        let many = format!("{{{},\"k3\":0}}", (0..40).map(|i| format!("\"k{i}\":0")).collect::<Vec<_>>().join(","));
        for bad in
            ["", "{", "{\"a\":1,\"a\":2}", r#"{"a":1,"\u0061":2}"#, "[[1],[2]] x", "{\"x\":[{\"a\":1,\"a\":2}]}", &many]
        {
            assert_eq!(strict(bad.as_bytes(), 64).unwrap_err().code(), Code::InvalidJson, "{bad}");
        }
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(strict(deep(64).as_bytes(), 64).is_ok());
        assert!(strict(deep(65).as_bytes(), 64).is_err());
    }
}
