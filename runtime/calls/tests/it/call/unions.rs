//! Values that are one of several variants, and tuples: in tables, arguments and results.

use convoke::prelude::*;
use convoke::testing::TestApp;
use serde_json::{Value, json};

/// An event of a parcel.
#[value]
pub(super) enum Event {
    /// It moved.
    Moved {
        /// Where to.
        to: City,
        /// The hours that it took.
        #[default(1)]
        hours: u8,
        note: Option<String>,
    },
    Weighed {
        grams: u32,
        size: (u8, f64, Option<String>),
    },
    Closed,
}

#[value]
pub(super) struct City {
    pub name: String,
    pub zip: Option<String>,
}

/// A parcel with what happened last, and before.
#[table(name = "parcels", prefix = "parcel")]
pub(super) struct Parcel {
    pub last: Event,
    pub earlier: Vec<Event>,
    pub expected: Option<Event>,
}

#[args]
pub(super) struct Send {
    pub last: Event,
    #[default(vec![])]
    pub earlier: Vec<Event>,
    pub expected: Option<Event>,
}

#[mutation]
pub(super) fn send(ctx: &mut MutationCtx, args: Send) -> Result<Id<Parcel>> {
    let Send { last, earlier, expected } = args;
    Ok(ctx.db_mut().insert(Parcel { last, earlier, expected })?)
}

#[query]
pub(super) fn parcels(ctx: &QueryCtx) -> Result<Vec<Doc<Parcel>>> {
    Ok(ctx.db().scan::<Parcel>().take(10)?)
}

#[query]
pub(super) fn parcels_as_they_lie(ctx: &QueryCtx) -> Result<Encoded<Vec<Doc<Parcel>>>> {
    Ok(ctx.db().scan::<Parcel>().encode(10)?)
}

#[args]
pub(super) struct Numbers {
    pub pair: (i64, String),
    pub counts: std::collections::BTreeMap<String, u32>,
    pub rest: Option<Vec<(u8,)>>,
}

#[query]
pub(super) fn numbers(_ctx: &QueryCtx, args: Numbers) -> Result<(i64, String, Vec<u32>)> {
    Ok((args.pair.0, args.pair.1, args.counts.into_values().collect()))
}

const SEND: &str = "call/unions/send";

fn refusal(app: &TestApp, path: &str, args: Value) -> (String, String) {
    let reply = app.nobody().call(path, args);
    assert_eq!(reply.code(), "INVALID_ARGUMENT");
    (reply.field().unwrap_or_default().to_owned(), reply.message().to_owned())
}

/// The JSON of a value, with its tag before or behind its other members.
fn with_tag(value: &Value, is_last: bool) -> String {
    let Some(members) = value.as_object() else { return value.to_string() };
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|(name, _)| (*name == "type") == is_last);
    let members: Vec<String> = members.into_iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn variant_round_trips_through_arguments_table_and_result() {
    let app = TestApp::new();
    let moved = json!({ "type": "moved", "to": { "name": "Turin" }, "hours": 2, "note": "fragile" });
    let weighed = json!({ "type": "weighed", "grams": 1200, "size": [3, 0.5, null] });
    let closed = json!({ "type": "closed" });
    app.nobody().call(SEND, json!({ "last": moved, "earlier": [weighed, closed], "expected": closed })).value();
    // The tag may stand behind the members, and members may be absent or null.
    app.nobody().call(SEND, json!({ "last": { "to": { "name": "Rome", "zip": null }, "type": "moved" } })).value();
    for path in ["call/unions/parcels", "call/unions/parcelsAsTheyLie"] {
        let reply = app.nobody().call(path, json!({}));
        let parcels: Vec<Value> = reply
            .value()
            .as_array()
            .unwrap()
            .iter()
            .map(|parcel| json!([parcel["last"], parcel["earlier"], parcel["expected"]]))
            .collect();
        assert_eq!(parcels[0], json!([moved, [weighed, closed], closed]), "{path}");
        assert_eq!(parcels[1], json!([{ "type": "moved", "to": { "name": "Rome" }, "hours": 1 }, [], null]), "{path}");
    }
}

#[test]
fn variant_error_has_its_path_for_any_position_of_the_tag() {
    let app = TestApp::new();
    let server = app.serve();
    for (last, field, message) in [
        (json!({}), "last.type", "Missing required argument: last.type"),
        (json!("closed"), "last", "last: must be an object (got \"closed\")"),
        (json!(["closed"]), "last", "last: must be an object (got an array)"),
        (json!({ "type": "lost" }), "last.type", "last.type: must be one of moved, weighed, closed (got \"lost\")"),
        (json!({ "type": 7 }), "last.type", "last.type: must be one of moved, weighed, closed (got 7)"),
        (json!({ "type": "moved" }), "last.to", "Missing required argument: last.to"),
        (json!({ "type": "closed", "to": 1 }), "last.to", "Unknown argument: last.to"),
        (json!({ "type": "moved", "to": {} }), "last.to.name", "Missing required argument: last.to.name"),
        (
            json!({ "type": "moved", "to": { "name": "Rome" }, "hours": 256 }),
            "last.hours",
            "last.hours: must be an integer between 0 and 255 (got 256)",
        ),
        (
            json!({ "type": "weighed", "grams": 1, "size": [1, true, null] }),
            "last.size[1]",
            "last.size[1]: must be a number (got true)",
        ),
    ] {
        for is_last in [false, true] {
            let body = format!("{{\"args\":{{\"last\":{}}}}}", with_tag(&last, is_last));
            let reply = server.post(None, &format!("/api/run/{SEND}"), body.clone());
            let said = (reply.body["errorData"]["field"].as_str(), reply.body["errorMessage"].as_str());
            assert_eq!(said, (Some(field), Some(message)), "{body}");
        }
    }
    let nested =
        json!({ "last": { "type": "closed" }, "earlier": [{ "type": "closed" }, { "type": "moved", "to": 1 }] });
    assert_eq!(
        refusal(&app, SEND, nested),
        ("earlier[1].to".to_owned(), "earlier[1].to: must be an object (got 1)".to_owned())
    );
}

#[test]
fn tuples_and_maps_follow_the_rules_of_their_elements() {
    let app = TestApp::new();
    let numbers = "call/unions/numbers";
    let args = json!({ "pair": [31.0, "x"], "counts": { "a": 1.0, "b": 4_294_967_295_u32 }, "rest": [[255]] });
    assert_eq!(app.nobody().call(numbers, args).value(), &json!([31, "x", [1, 4_294_967_295_u32]]));
    let two = "pair: must be an array of 2 values";
    for (pair, field, message) in [
        (json!([1]), "pair", format!("{two} (got 1 value)")),
        (json!([1, "a", 2, 3]), "pair", format!("{two} (got 4 values)")),
        (json!({}), "pair", format!("{two} (got an object)")),
        (
            json!([9_007_199_254_740_992_i64, "a"]),
            "pair[0]",
            "pair[0]: must be an integer between -9007199254740991 and 9007199254740991 (got 9007199254740992)"
                .to_owned(),
        ),
        (json!([1, "a\0"]), "pair[1]", "pair[1]: must be a text without U+0000 (got \"a\\0\")".to_owned()),
    ] {
        let args = json!({ "pair": pair, "counts": {} });
        assert_eq!(refusal(&app, numbers, args), (field.to_owned(), message));
    }
    let args = json!({ "pair": [1, "a"], "counts": { "b": -1 } });
    assert_eq!(
        refusal(&app, numbers, args),
        ("counts.b".to_owned(), "counts.b: must be an integer between 0 and 4294967295 (got -1)".to_owned())
    );
    let args = json!({ "pair": [1, "a"], "counts": {}, "rest": [[1], [256]] });
    assert_eq!(
        refusal(&app, numbers, args),
        ("rest[1][0]".to_owned(), "rest[1][0]: must be an integer between 0 and 255 (got 256)".to_owned())
    );
}
