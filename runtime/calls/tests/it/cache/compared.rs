//! Random changes and questions, of a store that keeps few results and of one that keeps none: no one can tell them apart.

use std::sync::atomic::Ordering::Relaxed;

use convoke::testing::{TestApp, TestCaller};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

/// With texts that long, sixty-four results or fewer have room in one MiB.
const PADDING: i64 = 16 * 1024;

#[derive(Clone, Debug)]
enum Step {
    Change(&'static str, Value),
    Ask(&'static str, Value, &'static str),
}

fn step() -> impl Strategy<Value = Step> {
    let label = 0..30_i64;
    let put = (label.clone(), 0..3_i64, 0..6_i64, 0..3_i64).prop_map(|(label, shelf, rank, text)| {
        let args = json!({ "label": label, "shelf": shelf, "rank": rank, "text": text.to_string() });
        (if text == 2 { "putAndFail" } else { "put" }, args)
    });
    let remove = label.clone().prop_map(|label| ("remove", json!({ "label": label })));
    let who = || prop_oneof![Just("ada"), Just("bob")];
    let of_label = |name: &'static str| (0..30_i64).prop_map(move |label| (name, json!({ "label": label })));
    let of_shelf = |name: &'static str, padding: i64| {
        (0..3_i64, 0..6_i64, 0..4_i64, any::<bool>()).prop_map(move |(shelf, from, rows, reverse)| {
            (name, json!({ "shelf": shelf, "from": from, "rows": rows, "reverse": reverse, "padding": padding }))
        })
    };
    let asked = prop_oneof![of_label("text"), of_label("mine"), of_shelf("count", 0), of_shelf("look", PADDING)];
    prop_oneof![
        1 => put.prop_map(|(name, args)| Step::Change(name, args)),
        1 => remove.prop_map(|(name, args)| Step::Change(name, args)),
        6 => (asked, who()).prop_map(|((name, args), who)| Step::Ask(name, args, who)),
    ]
}

fn call(caller: &TestCaller<'_>, name: &str, args: &Value) -> Result<Value, String> {
    let reply = caller.call(&format!("cache/functions/{name}"), args.clone());
    if reply.is_success() { Ok(reply.value().clone()) } else { Err(reply.code().to_owned()) }
}

#[test]
fn cached_results_equal_uncached_results() {
    let _alone = super::alone();
    let unlimited = |options: &mut convoke::embed::RuntimeOptions| {
        options.settings = toml::from_str("[rates]\nread = 0\nwrite = 0\nsmall = 0\n").unwrap();
    };
    let keeping = TestApp::with(|options| {
        unlimited(options);
        options.limits.cache_mib = 1;
    });
    let plain = TestApp::with(|options| {
        unlimited(options);
        options.limits.cache_mib = 0;
    });
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    let run = |steps: Vec<Step>| {
        for step in steps {
            let (name, args, who) = match &step {
                Step::Change(name, args) => (name, args, "ada"),
                Step::Ask(name, args, who) => (name, args, *who),
            };
            let answers = [&keeping, &plain].map(|app| call(&app.user(who), name, args));
            prop_assert_eq!(&answers[0], &answers[1], "{:?}", step);
        }
        Ok(())
    };
    runner.run(&proptest::collection::vec(step(), 200..400), run).unwrap();
    let stats = keeping.runtime().cache().stats();
    let met =
        [&stats.hits, &stats.misses, &stats.evicted_changed, &stats.evicted_size].map(|count| count.load(Relaxed));
    assert!(met.iter().all(|count| *count > 0), "hits, misses, changed, size: {met:?}");
    println!("hits, misses, changed, size: {met:?}");
}
