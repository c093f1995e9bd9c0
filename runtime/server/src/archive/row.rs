//! Lossless conversion between a row and a line of JSON, by the types of the columns.
//!
//! Ids are TypeIDs, bytes are base64, a double that is not finite is `"Infinity"` or `"-Infinity"`, and nested values
//! are copied. A nested value whose stored text cannot be embedded in a line of JSON (it has line breaks or is not
//! JSON) is `{"$text": "…"}`.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use convoke_core::clock::Millis;
use convoke_core::id;
use convoke_store::table::{FieldDef, TableDef, json, write_id};
use convoke_store::{ColumnType, NewRow, Row, StoreError, Value, ValueRef};

/// The name of the id column.
pub const ID: &str = "_id";
/// The name of the column with the creation time.
pub const CREATION_TIME: &str = "_creationTime";
const ESCAPE: &str = "$text";

/// Appends a row as JSON, without a line break and without hidden columns.
///
/// # Errors
/// [`StoreError::Corrupt`]: a value does not have the type of its column.
pub fn write(table: &'static TableDef, row: &dyn Row, out: &mut Vec<u8>) -> Result<(), StoreError> {
    out.extend_from_slice(b"{\"_id\":");
    write_id(table.prefix, row.id()?, out);
    out.extend_from_slice(b",\"_creationTime\":");
    json(&row.creation_time()?, out)?;
    let shown = |field: &FieldDef| !field.retired && !super::is_hidden(table, field);
    for (place, field) in table.fields.iter().enumerate().filter(|(_, field)| shown(field)) {
        out.push(b',');
        json(field.name, out)?;
        out.push(b':');
        write_value(field, row.value(place)?, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Appends a value of a column as JSON.
///
/// # Errors
/// [`StoreError::Corrupt`]: the value does not have the type of its column.
pub(crate) fn write_value(field: &FieldDef, value: ValueRef<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
    match value {
        ValueRef::Null => out.extend_from_slice(b"null"),
        ValueRef::Bool(truth) => json(&truth, out)?,
        ValueRef::Integer(number) => json(&number, out)?,
        ValueRef::Float(number) if number.is_finite() => json(&number, out)?,
        ValueRef::Float(number) => json(if number > 0.0 { "Infinity" } else { "-Infinity" }, out)?,
        ValueRef::Text(text) if field.column == ColumnType::Json && is_embeddable(text) => {
            out.extend_from_slice(text.as_bytes());
        }
        ValueRef::Text(text) if field.column == ColumnType::Json => {
            out.extend_from_slice(b"{\"$text\":");
            json(text, out)?;
            out.push(b'}');
        }
        ValueRef::Text(text) => json(text, out)?,
        ValueRef::Bytes(bytes) => json(&STANDARD.encode(bytes), out)?,
        ValueRef::Id(bits) => write_id(field.references.unwrap_or("id"), bits, out),
    }
    Ok(())
}

/// Returns true if a stored nested value can be embedded in a line of JSON without changing its text.
fn is_embeddable(text: &str) -> bool {
    let outer_space =
        text.starts_with(|c: char| c.is_ascii_whitespace()) || text.ends_with(|c: char| c.is_ascii_whitespace());
    // A stored JSON null differs from an absent value, but would be read back as absent.
    !outer_space
        && text != "null"
        && !text.contains(['\n', '\r'])
        && escaped(text).is_none()
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Returns the text within `{"$text": "…"}`, if the value has this form.
fn escaped(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Escaped {
        #[serde(rename = "$text")]
        text: String,
    }
    if !text.contains(ESCAPE) {
        return None;
    }
    serde_json::from_str::<Escaped>(text).ok().map(|escaped| escaped.text)
}

/// The reason why a line is not a row of its table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", .column.as_ref().map(|name| format!("column {name}: ")).unwrap_or_default())]
pub struct Misfit {
    /// The invalid column, if known.
    pub column: Option<String>,
    /// The reason.
    pub reason: String,
}

impl Misfit {
    fn at(column: &str, reason: impl Into<String>) -> Self {
        Self { column: Some(column.to_owned()), reason: reason.into() }
    }
}

/// Parses a line that [`write()`] wrote. A missing column has its default, or null if it is nullable.
///
/// # Errors
/// [`Misfit`] names the column.
pub fn read(table: &'static TableDef, line: &str) -> Result<NewRow, Misfit> {
    let members: Members<'_> = serde_json::from_str(line)
        .map_err(|error| Misfit { column: None, reason: format!("is not a JSON object: {error}") })?;
    let (mut id, mut creation_time) = (None, None);
    let mut values = vec![None; table.fields.len()];
    for (name, raw) in members.0 {
        let raw = raw.get();
        let twice = match &*name {
            ID => id.replace(read_id(table.prefix, raw).map_err(|reason| Misfit::at(ID, reason))?).is_some(),
            CREATION_TIME => {
                let time = read_time(raw).map_err(|reason| Misfit::at(CREATION_TIME, reason))?;
                creation_time.replace(time).is_some()
            }
            _ => {
                let place = table
                    .field(&name)
                    .filter(|place| !table.fields[*place].retired)
                    .ok_or_else(|| Misfit::at(&name, format!("{} has no such column", table.name)))?;
                let value = read_value(&table.fields[place], raw).map_err(|reason| Misfit::at(&name, reason))?;
                values[place].replace(value).is_some()
            }
        };
        if twice {
            return Err(Misfit::at(&name, "is in the line twice"));
        }
    }
    let missing = |column| Misfit::at(column, "is missing");
    let values = values
        .into_iter()
        .zip(table.fields)
        .map(|(value, field)| match value {
            Some(value) => Ok(value),
            None if field.nullable || field.retired => Ok(Value::Null),
            None => field.default.map(|default| default()).ok_or_else(|| missing(field.name)),
        })
        .collect::<Result<_, _>>()?;
    Ok(NewRow {
        id: id.ok_or_else(|| missing(ID))?,
        creation_time: creation_time.ok_or_else(|| missing(CREATION_TIME))?,
        values,
    })
}

/// Parses the value of a column in a line.
///
/// # Errors
/// The expected type and the actual text.
pub fn read_value(field: &FieldDef, raw: &str) -> Result<Value, String> {
    let expected = |what: &str| format!("must be {what}, not {}", shortened(raw));
    if raw == "null" {
        // Rows older than a column with a default have null in it.
        let allowed = field.nullable || field.default.is_some();
        return if allowed { Ok(Value::Null) } else { Err("must not be null".to_owned()) };
    }
    let text = || serde_json::from_str::<String>(raw).ok();
    let value = match field.column {
        ColumnType::Bool => match raw {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        ColumnType::Integer => raw.parse().ok().map(Value::Integer),
        ColumnType::Float => match raw {
            "\"Infinity\"" => Some(Value::Float(f64::INFINITY)),
            "\"-Infinity\"" => Some(Value::Float(f64::NEG_INFINITY)),
            number => number.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Float),
        },
        ColumnType::Text => text().map(Value::Text),
        ColumnType::Json => Some(Value::Text(escaped(raw).unwrap_or_else(|| raw.to_owned()))),
        ColumnType::Bytes => text().and_then(|text| STANDARD.decode(text).ok()).map(Value::Bytes),
        ColumnType::Id => return read_id(field.references.unwrap_or("id"), raw).map(Value::Id),
    };
    let value = value.ok_or_else(|| expected(type_name(field.column)))?;
    (field.check)(value.as_ref()).map_err(|reason| format!("{reason}: {}", shortened(raw)))?;
    Ok(value)
}

fn read_id(prefix: &str, raw: &str) -> Result<u128, String> {
    serde_json::from_str::<Cow<'_, str>>(raw)
        .ok()
        .and_then(|text| id::parse(prefix, &text))
        .ok_or_else(|| format!("must be an id of the form {prefix}_…, not {}", shortened(raw)))
}

fn read_time(raw: &str) -> Result<i64, String> {
    raw.parse()
        .ok()
        .filter(|time| (0..=Millis::MAX.0).contains(time))
        .ok_or_else(|| format!("must be a time in milliseconds, not {}", shortened(raw)))
}

/// Returns the type of a column, in words.
const fn type_name(column: ColumnType) -> &'static str {
    match column {
        ColumnType::Bool => "true or false",
        ColumnType::Integer => "an integer",
        ColumnType::Float => "a number",
        ColumnType::Text => "a text",
        ColumnType::Bytes => "bytes in base64",
        ColumnType::Id => "an id",
        ColumnType::Json => "JSON",
    }
}

/// Returns the beginning of a value, for a message.
fn shortened(raw: &str) -> String {
    const SHOWN: usize = 60;
    match raw.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &raw[..end]),
        None => raw.to_owned(),
    }
}

/// The members of an object in their order, with the raw text of each value.
struct Members<'de>(Vec<(Cow<'de, str>, &'de RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Members<'de>, M::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    members.push((Cow::Owned(name), value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use convoke_store::table::{Bytes, Column};

    const fn field<C: Column + schemars::JsonSchema>(name: &'static str) -> FieldDef {
        FieldDef::of::<C>(name, C::json_schema)
    }

    static THINGS: TableDef = TableDef {
        name: "things",
        prefix: "thing",
        fields: &[
            field::<bool>("truth"),
            field::<i64>("number"),
            field::<Option<f64>>("share"),
            field::<String>("text"),
            field::<Bytes>("bytes"),
            FieldDef { column: ColumnType::Id, references: Some("other"), ..field::<Option<i64>>("otherId") },
            FieldDef { check: |_| Ok(()), ..field::<Vec<u8>>("list") },
        ],
        indexes: &[],
        file: file!(),
        line: line!(),
    };

    struct Stored(u128, i64, Vec<Value>);

    impl Row for Stored {
        fn id(&self) -> Result<u128, StoreError> {
            Ok(self.0)
        }
        fn creation_time(&self) -> Result<i64, StoreError> {
            Ok(self.1)
        }
        fn value(&self, place: usize) -> Result<ValueRef<'_>, StoreError> {
            Ok(self.2[place].as_ref())
        }
    }

    fn line(row: &Stored) -> String {
        let mut out = Vec::new();
        write(&THINGS, row, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn values() -> impl Strategy<Value = Vec<Value>> {
        let float = prop_oneof![
            Just(Value::Null),
            any::<f64>().prop_filter("no NaN is stored", |number| !number.is_nan()).prop_map(Value::Float)
        ];
        let nested = prop_oneof![
            Just("null".to_owned()),
            Just("[1, 2 ,3]".to_owned()),
            Just("{\n  \"a\": 1.50\n}".to_owned()),
            Just(" 1 ".to_owned()),
            Just("{\"$text\":\"x\"}".to_owned()),
            Just("{\"$text\":\"x\",\"more\":1}".to_owned()),
            Just("not JSON".to_owned()),
            ".*",
        ];
        let other = prop_oneof![Just(Value::Null), any::<u128>().prop_map(Value::Id)];
        (any::<bool>(), any::<i64>(), float, ".*", any::<Vec<u8>>(), other, nested).prop_map(
            |(truth, number, share, text, bytes, other, nested)| {
                let (text, nested) = (Value::Text(text), Value::Text(nested));
                vec![Value::Bool(truth), Value::Integer(number), share, text, Value::Bytes(bytes), other, nested]
            },
        )
    }

    /// Compares like [`PartialEq`], but distinguishes the sign of zero.
    fn same(one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Float(one), Value::Float(other)) => one.to_bits() == other.to_bits(),
            _ => one == other,
        }
    }

    proptest! {
        #[test]
        fn rows_round_trip_bit_for_bit(id in any::<u128>(), time in 0..=Millis::MAX.0, values in values()) {
            let text = line(&Stored(id, time, values.clone()));
            prop_assert!(!text.contains('\n'));
            let back = read(&THINGS, &text).unwrap();
            prop_assert_eq!((back.id, back.creation_time), (id, time));
            for (one, other) in back.values.iter().zip(&values) {
                prop_assert!(same(one, other), "{:?} became {:?}", other, one);
            }
        }

        #[test]
        fn no_line_panics(text in ".*") {
            let _ = read(&THINGS, &text);
        }
    }

    #[test]
    fn row_is_written_as_json() {
        let values = vec![
            Value::Bool(true),
            Value::Integer(-3),
            Value::Float(1.5),
            Value::Text("a \"b\"".to_owned()),
            Value::Bytes(vec![1, 2]),
            Value::Id(1),
            Value::Text("[1]".to_owned()),
        ];
        assert_eq!(
            line(&Stored(0, 7, values)),
            r#"{"_id":"thing_00000000000000000000000000","_creationTime":7,"truth":true,"number":-3,"share":1.5,"text":"a \"b\"","bytes":"AQI=","otherId":"other_00000000000000000000000001","list":[1]}"#
        );
    }

    #[test]
    fn invalid_column_is_named() {
        let good = line(&Stored(
            0,
            7,
            vec![
                Value::Bool(true),
                Value::Integer(1),
                Value::Null,
                Value::Text(String::new()),
                Value::Bytes(Vec::new()),
                Value::Null,
                Value::Text("[]".to_owned()),
            ],
        ));
        assert!(read(&THINGS, &good).is_ok());
        for (from, to, said) in [
            ("\"number\":1", "\"number\":1.5", "column number: must be an integer, not 1.5"),
            ("\"number\":1", "\"number\":null", "column number: must not be null"),
            ("\"number\":1,", "", "column number: is missing"),
            ("\"number\":1", "\"number\":1,\"number\":2", "column number: is in the line twice"),
            ("\"number\":1", "\"number\":1,\"age\":2", "column age: things has no such column"),
            ("\"share\":null", "\"share\":1e999", "column share: must be a number, not 1e999"),
            ("\"bytes\":\"\"", "\"bytes\":\"!\"", "column bytes: must be bytes in base64, not \"!\""),
            ("thing_", "other_", "column _id: must be an id of the form thing_…"),
            ("\"_creationTime\":7", "\"_creationTime\":-7", "column _creationTime: must be a time in milliseconds"),
            ("{", "[", "is not a JSON object"),
        ] {
            let misfit = read(&THINGS, &good.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(misfit.starts_with(said), "{misfit}");
        }
    }
}
