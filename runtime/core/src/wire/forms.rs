//! The two forms of a type: the form in arguments and the form in results.
//!
//! The forms differ if an absent member may also be sent as null. Such a type has two names in clients and in OpenAPI:
//! `PlaceInput` in arguments, and `Place` in results. The arguments of a function have their plain name; if they are
//! also returned, that form is `AddOutput`. The names depend on the type alone, not on its uses.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The types whose two forms differ.
pub struct Forms {
    values: BTreeSet<String>,
    arguments: BTreeSet<String>,
}

impl Forms {
    /// Compares the forms of all types that arguments refer to. `arguments` has the names of the argument types of
    /// functions. A reference is `prefix` and the name of a type.
    pub fn of(
        prefix: &str,
        arguments: &BTreeSet<&str>,
        sent: &BTreeMap<String, Value>,
        returned: &BTreeMap<String, Value>,
    ) -> Self {
        let mut differ: BTreeSet<&str> = BTreeSet::new();
        loop {
            let other = |(name, schema): &(&String, &Value)| {
                returned.get(*name) != Some(schema) || refers_to(schema, prefix, &|name| differ.contains(name))
            };
            let more: BTreeSet<&str> = sent.iter().filter(other).map(|(name, _)| name.as_str()).collect();
            if more.len() == differ.len() {
                break;
            }
            differ = more;
        }
        let (arguments, values) =
            differ.into_iter().map(str::to_owned).partition(|name| arguments.contains(name.as_str()));
        Self { values, arguments }
    }

    /// Returns the name of a type in arguments.
    pub fn sent<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if self.values.contains(name) { format!("{name}Input").into() } else { name.into() }
    }

    /// Returns the name of a type in results.
    pub fn returned<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if self.arguments.contains(name) { format!("{name}Output").into() } else { name.into() }
    }
}

fn refers_to(schema: &Value, prefix: &str, matches: &impl Fn(&str) -> bool) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, value)| match value {
            Value::String(target) if key == "$ref" => target.strip_prefix(prefix).is_some_and(matches),
            other => refers_to(other, prefix, matches),
        }),
        Value::Array(items) => items.iter().any(|item| refers_to(item, prefix, matches)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn type_whose_forms_differ_has_two_names_and_so_has_each_type_that_refers_to_it() {
        let definitions = |text: Value| text.as_object().unwrap().clone().into_iter().collect::<BTreeMap<_, _>>();
        let sent = definitions(json!({
            "Place": { "type": ["string", "null"] },
            "Places": { "items": { "$ref": "#/Place" } },
            "Same": true,
            "Add": { "properties": { "to": { "$ref": "#/Places" } } },
        }));
        let returned = definitions(json!({
            "Place": { "type": "string" },
            "Places": { "items": { "$ref": "#/Place" } },
            "Same": true,
            "Add": { "properties": { "to": { "$ref": "#/Places" } } },
        }));
        let forms = Forms::of("#/", &BTreeSet::from(["Add"]), &sent, &returned);
        let names = ["Place", "Places", "Same", "Add"].map(|name| (forms.sent(name), forms.returned(name)));
        let expected = [("PlaceInput", "Place"), ("PlacesInput", "Places"), ("Same", "Same"), ("Add", "AddOutput")];
        assert_eq!(names, expected.map(|(sent, returned)| (sent.into(), returned.into())));
    }
}
