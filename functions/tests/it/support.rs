//! What the tests share: arguments that are right, to be made wrong one at a time.

use serde_json::{Value, json};

/// `object` with the members of `changes` in place of its own; null removes one.
pub fn with(mut object: Value, changes: Value) -> Value {
    let members = object.as_object_mut().expect("an object is changed");
    for (name, value) in changes.as_object().expect("by the members of another") {
        match value {
            Value::Null => members.remove(name),
            value => members.insert(name.clone(), value.clone()),
        };
    }
    object
}

/// Arguments of `saveOnboarding`.
pub fn onboarding() -> Value {
    json!({
        "age": 36, "gender": "female", "field": "Computing", "jobTitle": "Engineer", "company": "Analytical Engines",
        "bio": "Notes on the engine.",
        "interests": [
            {"id": "machine-learning", "name": "Machine Learning", "category": "industry"},
            {"id": "chess", "name": "Chess", "category": "personal", "iconName": "knight"},
        ],
    })
}
