//! What the description of the interface shows as an example of a call is accepted by the server.

use convoke::openapi::{About, Document, Options};
use convoke::testing::TestApp;
use serde_json::Value;

use super::access::{answer, functions};
use super::fixture::{Fixture, Ids, Who};
use super::rows::{Cell, Row, rows};

/// Whose calls are tried, in this order, of those that the table lets in.
const CALLERS: [Who; 5] = [Who::Participant, Who::Host, Who::Admin, Who::Key, Who::Stranger];

#[test]
fn every_example_of_the_reference_is_accepted() {
    let examples = examples();
    assert!(examples.len() > 100, "{}", examples.len());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let refused: Vec<String> = std::thread::scope(|scope| {
        let refusals = |part: &[(String, Value)]| -> Vec<String> {
            part.iter().filter_map(|(path, args)| refusal(path, args)).collect()
        };
        let parts = examples.chunks(examples.len().div_ceil(threads));
        let workers: Vec<_> = parts.map(|part| scope.spawn(move || refusals(part))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(refused.is_empty(), "{} of {} are refused:\n{}", refused.len(), examples.len(), refused.join("\n"));
}

/// Path and arguments of each example that the description shows.
fn examples() -> Vec<(String, Value)> {
    let app = TestApp::new();
    let options = Options { admin: true, ..Options::default() };
    let document = Document::of(app.runtime().registry(), About::collect().unwrap(), &options);
    let mut examples = Vec::new();
    for function in functions(&app) {
        let operation = &document.value()["paths"][format!("/api/run/{}", function.path)]["post"];
        let shown = operation["requestBody"]["content"]["application/json"]["examples"].as_object();
        let shown = shown.into_iter().flat_map(|shown| shown.values());
        examples.extend(shown.map(|example| (function.path.to_string(), example["value"]["args"].clone())));
    }
    examples
}

/// How the server refuses an example, by the last caller that was tried; `None` if it accepts it.
///
/// A caller is prepared as its row of the access table says, and the ids of the example become those of the row.
fn refusal(path: &str, args: &Value) -> Option<String> {
    let count = rows(&Ids::default()).iter().filter(|row| row.path == path).count();
    assert!(count > 0, "no row calls {path}");
    let mut last = String::new();
    for place in 0..count {
        for who in CALLERS {
            let fixture = Fixture::new();
            let row = rows(&fixture.ids).into_iter().filter(|row| row.path == path).nth(place).unwrap();
            if row.cell(who) != Cell::Yes {
                continue;
            }
            let caller = fixture.caller(who);
            if let Some((before, args)) = &row.before {
                caller.call(before, args.clone()).value();
            }
            let mut args = args.clone();
            name_things(&mut args, &row, &fixture.ids);
            let reply = caller.call(path, args.clone());
            match answer(&reply) {
                None => return None,
                Some(refused) => last = format!("{path} {args} as {who:?}: {refused:?}"),
            }
        }
    }
    Some(last)
}

/// Puts things of the fixture in the place of the ids that the example made up.
fn name_things(example: &mut Value, row: &Row, ids: &Ids) {
    match example {
        Value::Object(members) => {
            for (name, value) in members {
                match row.args.get(name) {
                    Some(thing) if name.ends_with("Id") || name.ends_with("Ids") => *value = thing.clone(),
                    _ => name_things(value, row, ids),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| name_things(item, row, ids)),
        Value::String(text) => {
            let things = [
                ("meeting_", &ids.meeting),
                ("user_", &ids.participant),
                ("insight_", &ids.insight),
                ("prompt_", &ids.prompt),
                ("match_", &ids.matched),
            ];
            if let Some((_, thing)) = things.into_iter().find(|(prefix, _)| text.starts_with(prefix)) {
                text.clone_from(thing);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
