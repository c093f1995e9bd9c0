//! The examples of arguments in the interface's description: a reader who sends one is served.

use convoke::openapi::{About, Document, Options};
use serde_json::Value;

use super::fixture::{Fixture, Ids, Who};
use super::rows::{self, Cell};

/// Ids and texts of the fixture in place of those that an example makes up.
fn of_the_fixture(value: &mut Value, name: &str, ids: &Ids) {
    match value {
        Value::Object(members) => members.iter_mut().for_each(|(name, value)| of_the_fixture(value, name, ids)),
        Value::Array(items) => items.iter_mut().for_each(|item| of_the_fixture(item, name, ids)),
        Value::String(text) => {
            let known = match name {
                "sessionId" => Some(&ids.session),
                "subscriptionId" => Some(&ids.subscription),
                "clientId" => Some(&ids.client),
                "resourceId" => Some(&ids.meeting),
                _ => match text.split_once('_').map_or("", |(prefix, _)| prefix) {
                    "meeting" => Some(&ids.meeting),
                    "user" => Some(&ids.participant),
                    "insight" => Some(&ids.insight),
                    "prompt" => Some(&ids.prompt),
                    "match" => Some(&ids.matched),
                    _ => None,
                },
            };
            if let Some(known) = known {
                text.clone_from(known);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn each_example_of_arguments_is_accepted() {
    let registry = convoke::registry::Registry::collect().unwrap();
    let options = Options { admin: true, ..Options::default() };
    let document = Document::of(&registry, About::collect().unwrap(), &options);
    let (mut tried, mut refused) = (0, Vec::new());
    for place in 0..rows::rows(&Fixture::new().ids).len() {
        let row = rows::rows(&Fixture::new().ids).swap_remove(place);
        let at = format!("/api/run/{}", row.path);
        let examples =
            &document.value()["paths"][&at]["post"]["requestBody"]["content"]["application/json"]["examples"];
        for (name, example) in examples.as_object().into_iter().flatten() {
            let fixture = Fixture::new();
            let row = rows::rows(&fixture.ids).swap_remove(place);
            let who = Who::ALL.into_iter().rev().find(|who| row.cell(*who) == Cell::Yes).unwrap();
            let caller = fixture.caller(who);
            if let Some((path, args)) = row.before {
                caller.call(path, args).value();
            }
            let mut args = example["value"]["args"].clone();
            of_the_fixture(&mut args, "", &fixture.ids);
            let reply = caller.call(row.path, args.clone());
            tried += 1;
            if !reply.is_success() {
                refused.push(format!("{} ({name}, {who:?}): {}: {args}", row.path, reply.message()));
            }
        }
    }
    assert!(tried > 100, "{tried}");
    assert!(refused.is_empty(), "{} of {tried} are refused:\n{}", refused.len(), refused.join("\n"));
}
