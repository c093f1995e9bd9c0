//! `data TABLE set|add|delete`: rows added, changed and removed.

use hyper::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::connect::Connection;
use super::failure::Failure;
use super::table::encoded;

/// The change of a table's rows.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Change {
    /// Change fields of a row: ID FIELD=VALUE…
    Set,
    /// Add a row: FIELD=VALUE…
    Add,
    /// Remove a row: ID
    Delete,
}

#[derive(Deserialize)]
struct Changed {
    id: String,
}

#[derive(Deserialize)]
struct Columns {
    columns: Vec<Column>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
    r#type: String,
}

/// Makes the change, and reports it.
///
/// # Errors
/// The words are not a change; the rejection.
pub(super) async fn run(connection: &Connection, table: &str, change: Change, words: &[String]) -> Result<(), Failure> {
    let (id, fields) = match (change, words) {
        (Change::Add, fields) => (None, fields),
        (Change::Set, [id, fields @ ..]) if !fields.is_empty() => (Some(id), fields),
        (Change::Delete, [id]) => (Some(id), &[][..]),
        (Change::Set, _) => return Err(Failure(format!("write convoke data {table} set ID FIELD=VALUE…"))),
        (Change::Delete, _) => return Err(Failure(format!("write convoke data {table} delete ID"))),
    };
    let row = id.map_or_else(String::new, |id| format!("/{}", encoded(id)));
    let path = format!("tables/{}{row}", encoded(table));
    let (method, done) = match change {
        Change::Set => (Method::PATCH, "was changed"),
        Change::Add => (Method::POST, "was added"),
        Change::Delete => (Method::DELETE, "was removed"),
    };
    let body = match change {
        Change::Delete => None,
        Change::Set | Change::Add => Some(json!({ "set": self::fields(connection, table, fields).await? })),
    };
    let Changed { id } = connection.admin(method, &path, body.as_ref()).await?;
    note!("the row {id} {done}");
    Ok(())
}

/// Reads `FIELD=VALUE` in the form that the field's type needs: a text unchanged, other types as JSON.
async fn fields(connection: &Connection, table: &str, words: &[String]) -> Result<Map<String, Value>, Failure> {
    let asked = format!("tables/{}?limit=1", encoded(table));
    let Columns { columns } = connection.admin(Method::GET, &asked, None).await?;
    let mut fields = Map::new();
    for word in words {
        let (name, text) = word.split_once('=').ok_or_else(|| Failure(format!("{word}: must be FIELD=VALUE")))?;
        let kind = columns.iter().find(|column| column.name == name).map_or("text", |column| &column.r#type);
        fields.insert(name.to_owned(), value(kind, text));
    }
    Ok(fields)
}

fn value(kind: &str, text: &str) -> Value {
    let is_text = matches!(kind, "text" | "id" | "bytes");
    let json = serde_json::from_str::<Value>(text).ok();
    match json {
        Some(Value::Null) => Value::Null,
        // Text in quotes is a text too, even if it reads null.
        Some(Value::String(quoted)) => quoted.into(),
        Some(value) if !is_text => value,
        Some(_) | None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_has_the_type_of_its_field() {
        for (kind, text, expected) in [
            ("text", "Stand-up", json!("Stand-up")),
            ("text", "7", json!("7")),
            ("text", "\"7\"", json!("7")),
            ("text", "null", Value::Null),
            ("text", "\"null\"", json!("null")),
            ("id", "user_01", json!("user_01")),
            ("integer", "7", json!(7)),
            ("bool", "true", json!(true)),
            ("json", "[1]", json!([1])),
            ("integer", "seven", json!("seven")),
        ] {
            assert_eq!(value(kind, text), expected, "{kind} {text}");
        }
    }
}
