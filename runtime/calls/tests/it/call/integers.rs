//! Numbers of results: integers that JSON readers keep, those that a type declares beyond, and numbers that are not finite.

use convoke::prelude::*;
use convoke::testing::TestApp;
use serde_json::json;

#[value(integer, min = -9_223_372_036_854_775_808, max = 9_223_372_036_854_775_807)]
pub struct Wide(i64);

#[value(output)]
pub(super) struct Power {
    pub plain: Option<(String, u64)>,
    pub declared: Vec<Wide>,
}

#[args]
pub(super) struct Exponents {
    pub plain: u32,
    pub declared: u32,
}

#[query]
pub(super) fn powers(_ctx: &QueryCtx, args: Exponents) -> Result<Power> {
    let declared = Wide::new(1 << args.declared).map_err(|invalid| invalid.at("declared"))?;
    Ok(Power { plain: Some(("two".to_owned(), 1 << args.plain)), declared: vec![declared] })
}

const POWERS: &str = "call/integers/powers";

#[test]
fn integer_beyond_doubles_fails_the_call_unless_its_type_declares_it() {
    let app = TestApp::new();
    let reply = app.nobody().call(POWERS, json!({ "plain": 52, "declared": 62 }));
    assert_eq!(reply.value(), &json!({ "plain": ["two", 1_u64 << 52], "declared": [1_i64 << 62] }));
    for power in [53, 63] {
        let reply = app.nobody().call(POWERS, json!({ "plain": power, "declared": 62 }));
        assert_eq!(reply.code(), "INTERNAL");
        let said = format!("the result has {} at plain[1], beyond ±(2^53 − 1)", 1_u64 << power);
        assert!(reply.error().chain().contains(&said), "{}", reply.error().chain());
    }
}

#[test]
fn declared_integer_beyond_doubles_is_tagged_in_the_encoded_format() {
    let app = TestApp::new();
    let server = app.serve();
    let body = r#"{"path":"call/integers:powers","args":{"plain":3,"declared":62},"format":"convex_encoded_json"}"#;
    let reply = server.post(None, "/api/query", body);
    assert_eq!(reply.value(), &json!({ "plain": ["two", 8.0], "declared": [{ "$integer": "AAAAAAAAAEA=" }] }));
}

#[args]
pub(super) struct Quotient {
    pub over: f64,
    pub under: f64,
}

#[value(output)]
pub(super) struct Quotients {
    pub each: Vec<Option<f64>>,
}

#[query]
pub(super) fn quotient(_ctx: &QueryCtx, args: Quotient) -> Result<Quotients> {
    Ok(Quotients { each: vec![None, Some(args.over / args.under)] })
}

#[test]
fn number_that_is_not_finite_fails_the_call() {
    let app = TestApp::new();
    let divide =
        |over: f64, under: f64| app.nobody().call("call/integers/quotient", json!({ "over": over, "under": under }));
    assert_eq!(divide(1.0, 2.0).value(), &json!({ "each": [null, 0.5] }));
    for (over, number) in [(0.0, "NaN"), (1.0, "inf"), (-1.0, "-inf")] {
        let reply = divide(over, 0.0);
        assert_eq!(reply.code(), "INTERNAL");
        let said = format!("the result has {number} at each[1], which JSON cannot express");
        assert!(reply.error().chain().contains(&said), "{}", reply.error().chain());
    }
}
