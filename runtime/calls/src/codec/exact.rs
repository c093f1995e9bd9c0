//! Results as JSON that every client reads exactly. An integer beyond ±(2^53 − 1) is not a double, and most clients
//! would change it. It is a mistake of the function, unless the bounds of the result's type declare such integers: then
//! generated clients read it exactly. A number that is not finite has no JSON form, so it is a mistake, too.

use std::cell::Cell;
use std::io;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::ser::Error as _;
use serde_json::ser::Formatter;
use serde_json::{Map, Number, Value};

use super::{described, finite};
use convoke_core::wire::INTEGER_MAX;

/// Writes a result.
///
/// # Errors
/// The value cannot be written; it has an integer beyond ±(2^53 − 1) that its type does not declare; it has a number
/// that is not finite.
pub(crate) fn write<T: Serialize + JsonSchema>(value: &T, out: impl io::Write) -> serde_json::Result<()> {
    let noted = Noted::default();
    value.serialize(&mut serde_json::Serializer::with_formatter(out, Noting(&noted)))?;
    if noted.has_beyond.get() {
        require_declared(value)?;
    }
    if noted.has_null.get() {
        finite::require(value).map_err(serde_json::Error::custom)?;
    }
    Ok(())
}

/// Values in a result that need a second look.
#[derive(Default)]
struct Noted {
    /// True if it has an integer beyond ±(2^53 − 1).
    has_beyond: Cell<bool>,
    /// True if it has a null. The serializer also writes null for a number that is not finite.
    has_null: Cell<bool>,
}

/// Writes JSON without spaces, and records values that need a second look.
struct Noting<'a>(&'a Noted);

impl Noting<'_> {
    fn note(&self, is_beyond: bool) {
        if is_beyond {
            self.0.has_beyond.set(true);
        }
    }
}

impl Formatter for Noting<'_> {
    fn write_null<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.has_null.set(true);
        serde_json::ser::CompactFormatter.write_null(writer)
    }

    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, number: i64) -> io::Result<()> {
        self.note(!(-INTEGER_MAX..=INTEGER_MAX).contains(&number));
        serde_json::ser::CompactFormatter.write_i64(writer, number)
    }

    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, number: u64) -> io::Result<()> {
        self.note(number > INTEGER_MAX.unsigned_abs());
        serde_json::ser::CompactFormatter.write_u64(writer, number)
    }
}

fn require_declared<T: Serialize + JsonSchema>(value: &T) -> serde_json::Result<()> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = generator.subschema_for::<T>().to_value();
    let definitions = generator.take_definitions(true);
    match undeclared(&serde_json::to_value(value)?, &schema, &definitions, "") {
        None => Ok(()),
        Some((path, number)) => Err(serde_json::Error::custom(format!(
            "the result has {number}{}{path}, beyond ±(2^53 − 1): most clients would read another number; return it as a \
             string, or as a #[value(integer, min = …, max = …)] whose bounds declare it",
            if path.is_empty() { "" } else { " at " }
        ))),
    }
}

/// Returns the first integer beyond ±(2^53 − 1) whose schema does not declare it by its bounds.
fn undeclared(value: &Value, schema: &Value, definitions: &Map<String, Value>, path: &str) -> Option<(String, Number)> {
    let schema = described::behind(schema, definitions, value);
    match value {
        Value::Number(number) if is_beyond(number) && is_integer(schema) && !is_wide(schema) => {
            Some((path.to_owned(), number.clone()))
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(place, item)| {
            undeclared(item, described::item(schema, place)?, definitions, &format!("{path}[{place}]"))
        }),
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            undeclared(member, described::member(schema, name)?, definitions, &path)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn is_beyond(number: &Number) -> bool {
    let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    magnitude.is_some_and(|magnitude| magnitude > INTEGER_MAX.unsigned_abs())
}

fn is_integer(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "integer"),
        kind => kind.is_some_and(|kind| kind == "integer"),
    }
}

fn is_wide(schema: &Value) -> bool {
    ["minimum", "maximum"].into_iter().filter_map(|key| schema.get(key)?.as_number()).any(is_beyond)
}
