//! The secret arguments of a function, by their schema and by their names.

use std::collections::HashSet;

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

/// The members that a schema marks as secret, by their paths: `user.pin`, `keys[].value`.
#[derive(Debug, Default)]
pub(crate) struct SecretFields(HashSet<String>);

impl SecretFields {
    /// Collects the members with `"writeOnly": true` or `"format": "password"`. The schema must not contain references.
    pub(crate) fn of(schema: &Value) -> Self {
        let mut found = Self::default();
        found.collect("", schema, DEPTH_MAX);
        found
    }

    fn collect(&mut self, path: &str, schema: &Value, depth: usize) {
        let is_marked = schema.get("writeOnly") == Some(&Value::Bool(true))
            || schema.get("format").and_then(Value::as_str) == Some("password");
        if is_marked {
            self.0.insert(path.to_owned());
            return;
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.collect(&member_of(path, name), member, depth);
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

    /// Returns true if the member `name` at `path` is secret.
    pub(crate) fn has(&self, path: &str, name: &str) -> bool {
        let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        NAMES.iter().any(|part| plain.contains(part)) || self.0.contains(path)
    }
}

/// Returns the path of a member.
pub(crate) fn member_of(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
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
            }
        }));
        for (path, name) in
            [("pin", "pin"), ("keys[].value", "value"), ("other.seed", "seed"), ("x", "newPassword"), ("y", "api_key")]
        {
            assert!(fields.has(path, name), "{path}");
        }
        for (path, name) in [("keys", "keys"), ("value", "value"), ("title", "title"), ("keyword", "keyword")] {
            assert!(!fields.has(path, name), "{path}");
        }
    }
}
