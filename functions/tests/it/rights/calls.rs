//! The calls of the table: for each function the example of its description, or the calls that its tests submit.

use std::sync::OnceLock;

use convoke::testing::TestApp;
use convoke_calls::registry::Registered;
use convoke_server::openapi::{About, Document, Options};
use serde_json::Value;

use super::access::functions;
use super::fixture::Ids;

/// Path and arguments of a call that the same caller makes first.
type Prior = (&'static str, fn(&Ids) -> Value);

/// A call of a function whose example is not sufficient: it needs an object of the fixture that no example names, or a
/// prior call of the same caller. Submitted beside the function's other tests.
pub(crate) struct Call {
    pub(super) path: &'static str,
    pub(super) args: fn(&Ids) -> Value,
    pub(super) before: Option<Prior>,
    pub(super) rights: Option<&'static str>,
}

inventory::collect!(Call);

impl Call {
    /// Creates a call with these arguments.
    pub(crate) const fn new(path: &'static str, args: fn(&Ids) -> Value) -> Self {
        Self { path, args, before: None, rights: None }
    }

    /// Adds a prior call of the same caller.
    pub(crate) const fn after(self, path: &'static str, args: fn(&Ids) -> Value) -> Self {
        Self { before: Some((path, args)), ..self }
    }

    /// Expects the responses of these rights instead of the declared ones, for rights that depend on the arguments.
    pub(crate) const fn answered_as(self, rights: &'static str) -> Self {
        Self { rights: Some(rights), ..self }
    }

    /// Returns the calls that were submitted for a function.
    pub(super) fn of(path: &str) -> impl Iterator<Item = &'static Call> {
        inventory::iter::<Call>().filter(move |call| call.path == path)
    }
}

/// A public function of the product.
pub(super) struct Product {
    pub(super) path: String,
    /// Its declared rights.
    pub(super) rights: Option<&'static str>,
    /// The arguments in its description, the most complete ones first.
    pub(super) examples: Vec<Value>,
}

/// Returns all of them, by path.
pub(super) fn products() -> &'static [Product] {
    static PRODUCTS: OnceLock<Vec<Product>> = OnceLock::new();
    PRODUCTS.get_or_init(|| {
        let app = TestApp::new();
        let options = Options { admin: true, ..Options::default() };
        let document = Document::of(app.runtime().registry(), About::collect().unwrap(), &options);
        let product = |function: &Registered| {
            let operation = &document.value()["paths"][format!("/api/run/{}", function.path)]["post"];
            let shown = operation["requestBody"]["content"]["application/json"]["examples"].as_object();
            let shown = shown.into_iter().flat_map(|shown| shown.values());
            Product {
                path: function.path.to_string(),
                rights: function.def.rights,
                examples: shown.map(|example| example["value"]["args"].clone()).collect(),
            }
        };
        functions(&app).filter(|function| function.is_callable_from_outside()).map(product).collect()
    })
}

/// Replaces the ids of an example by those of the fixture: those of the call, otherwise the participant's, by member
/// and table.
pub(super) fn name_things(example: &mut Value, call: &Value, ids: &Ids) {
    match example {
        Value::Object(members) => {
            for (name, value) in members {
                match (call.get(name), name.as_str()) {
                    (Some(thing), name) if name.ends_with("Id") || name.ends_with("Ids") => *value = thing.clone(),
                    (_, "clientId") => *value = ids.client.as_str().into(),
                    (_, "sessionId") => *value = ids.session.as_str().into(),
                    (_, "subscriptionId") => *value = ids.subscription.as_str().into(),
                    _ => name_things(value, call, ids),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| name_things(item, call, ids)),
        Value::String(text) => {
            let things = [
                ("meeting_", &ids.meeting),
                ("user_", &ids.participant),
                ("insight_", &ids.insight),
                ("prompt_", &ids.prompt),
                ("attachment_", &ids.attachment),
                ("fileupload_", &ids.upload),
                ("webhookendpoint_", &ids.endpoint),
                ("match_", &ids.matched),
                ("signal_", &ids.signal),
            ];
            if let Some((_, thing)) = things.into_iter().find(|(prefix, _)| text.starts_with(prefix)) {
                text.clone_from(thing);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
