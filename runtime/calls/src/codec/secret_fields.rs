//! The secret arguments of a function, by their schema and by their names.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde_json::Value;

/// Maximum depth of the search in a schema: types may contain themselves.
const DEPTH_MAX: usize = 16;

/// Parts of a member's name that mark a secret, in lower case and without separators.
const NAMES: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "credential",
    "cookie",
    "signature",
    "onetimecode",
];

/// The members of a schema by their paths (`user.pin`, `keys[].value`): true for a secret, by the schema or by its name.
#[derive(Debug, Default)]
pub(crate) struct SecretFields(FxHashMap<String, bool>);

impl SecretFields {
    /// Collects the members of a schema. Those with `"writeOnly": true` or `"format": "password"` are secret, whatever
    /// their name. The schema must not contain references.
    pub(crate) fn of(schema: &Value) -> Self {
        let mut found = Self::default();
        found.collect("", schema, DEPTH_MAX);
        found
    }

    fn collect(&mut self, path: &str, schema: &Value, depth: usize) {
        let is_marked = schema.get("writeOnly") == Some(&Value::Bool(true))
            || schema.get("format").and_then(Value::as_str) == Some("password");
        if is_marked {
            self.0.insert(path.to_owned(), true);
            return;
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = member_of(path, name);
            // A choice between objects may mark the member in one of them.
            self.0.entry(path.clone().into_owned()).or_insert_with(|| is_secret_name(name));
            self.collect(&path, member, depth);
        }
        if let Some(items) = schema.get("items") {
            self.collect(&item_of(path), items, depth);
        }
        for choice in ["anyOf", "oneOf", "allOf"] {
            for schema in schema.get(choice).and_then(Value::as_array).into_iter().flatten() {
                self.collect(path, schema, depth);
            }
        }
    }

    /// Returns true if the member `name` at `path` is secret. One that is in no schema is judged by its name.
    pub(crate) fn has(&self, path: &str, name: &str) -> bool {
        self.0.get(path).copied().unwrap_or_else(|| is_secret_name(name))
    }
}

fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    NAMES.iter().any(|part| plain.contains(part))
}

pub(crate) fn member_of<'a>(path: &str, name: &'a str) -> Cow<'a, str> {
    if path.is_empty() { name.into() } else { format!("{path}.{name}").into() }
}

/// Returns the path of an array's items.
pub(crate) fn item_of(path: &str) -> String {
    format!("{path}[]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_secret_by_schema_and_by_name() {
        let fields = SecretFields::of(&json!({
            "properties": {
                "pin": { "type": "string", "format": "password" },
                "keys": { "type": "array", "items": { "properties": { "value": { "writeOnly": true } } } },
                "other": { "anyOf": [{ "properties": { "seed": { "writeOnly": true } } }, { "type": "null" }] },
                "cookieBanner": { "type": "boolean" },
            }
        }));
        for (path, name) in [
            ("pin", "pin"),
            ("cookieBanner", "cookieBanner"),
            ("keys[].value", "value"),
            ("other.seed", "seed"),
            ("x", "newPassword"),
            ("y", "api_key"),
        ] {
            assert!(fields.has(path, name), "{path}");
        }
        for (path, name) in [("keys", "keys"), ("value", "value"), ("title", "title"), ("keyword", "keyword")] {
            assert!(!fields.has(path, name), "{path}");
        }
    }
}
