//! The server accepts the examples of calls in the API description.

use serde_json::Value;

use super::access::answer;
use super::calls::{name_things, products};
use super::fixture::{Fixture, Ids, Who};
use super::rows::{Cell, rows};

/// Callers to try, in this order, if the table permits them.
const CALLERS: [Who; 5] = [Who::Participant, Who::Host, Who::Admin, Who::Key, Who::Stranger];

#[test]
fn every_example_of_the_reference_is_accepted() {
    let examples: Vec<(&str, &Value)> = products()
        .iter()
        .flat_map(|product| product.examples.iter().map(|args| (product.path.as_str(), args)))
        .collect();
    assert!(examples.len() > 100, "{}", examples.len());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let refused: Vec<String> = std::thread::scope(|scope| {
        let refusals = |part: &[(&str, &Value)]| -> Vec<String> {
            part.iter().filter_map(|(path, args)| refusal(path, args)).collect()
        };
        let parts = examples.chunks(examples.len().div_ceil(threads));
        let workers: Vec<_> = parts.map(|part| scope.spawn(move || refusals(part))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(refused.is_empty(), "{} of {} are refused:\n{}", refused.len(), examples.len(), refused.join("\n"));
}

/// Returns the error of an example for the last caller that was tried; `None` if it is accepted.
///
/// A caller is prepared like its row of the access table, and the ids of the example become those of the row.
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
            name_things(&mut args, &row.args, &fixture.ids);
            let reply = caller.call(path, args.clone());
            match answer(&reply) {
                None => return None,
                Some(refused) => last = format!("{path} {args} as {who:?}: {refused:?}"),
            }
        }
    }
    Some(last)
}
