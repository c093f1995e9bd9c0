//! Results of queries that are kept: who is given one, when it falls, and that no one can tell.

mod compared;
mod functions;

use std::sync::atomic::Ordering::Relaxed;

use convoke::Caller;
use convoke::Code;
use convoke::embed::{Runtime, RuntimeOptions};
use convoke::testing::{TestApp, TestCaller};
use convoke_calls::call::dispatch::Request;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

/// Runs are counted for all tests together, so they are made one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock()
}

fn runs() -> u64 {
    functions::RUNS.load(Relaxed)
}

fn hits(app: &TestApp) -> u64 {
    app.runtime().cache().stats().hits.load(Relaxed)
}

fn put(caller: &TestCaller<'_>, label: i64, text: &str) {
    caller.call("cache/functions/put", json!({ "label": label, "shelf": 1, "rank": label, "text": text })).value();
}

fn ask(caller: &TestCaller<'_>, function: &str, label: i64) -> Value {
    caller.call(&format!("cache/functions/{function}"), json!({ "label": label })).value().clone()
}

#[test]
fn third_identical_query_is_a_cache_hit() {
    let (_alone, app) = (alone(), TestApp::new());
    let ada = app.user("ada");
    put(&ada, 1, "one");
    let before = runs();
    for _ in 0..10 {
        let reply = ada.call("cache/functions/text", json!({ "label": 1 }));
        assert_eq!((reply.value(), reply.log_lines()), (&json!("one"), &["[INFO] looked for 1".to_owned()][..]));
    }
    assert_eq!((runs() - before, hits(&app)), (2, 8));
    assert_eq!(app.runtime().cache().size().0, 1);
}

#[tokio::test(flavor = "multi_thread")]
#[allow(clippy::await_holding_lock, reason = "the others wait for the end of this test")]
async fn closed_store_serves_no_cached_results() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let runtime = Runtime::start(RuntimeOptions::in_folder(folder.path(), convoke::embed::default_engine())).unwrap();
    let ask = async || {
        let request = Request::Args { path: "cache/functions/text", args: "{\"label\":1}" };
        let (outcome, _) = runtime.call(request, Caller::Nobody, "r".into()).await;
        outcome.result.map(drop).map_err(|error| error.code())
    };
    for _ in 0..4 {
        ask().await.unwrap();
    }
    let kept = runtime.cache().stats().hits.load(Relaxed);
    assert!(kept > 0);
    runtime.store().close();
    assert_eq!(ask().await, Err(Code::NotReady));
    assert_eq!(runtime.cache().stats().hits.load(Relaxed), kept);
}

#[test]
fn result_is_evicted_only_by_changes_of_its_reads() {
    let (_alone, app) = (alone(), TestApp::new());
    let ada = app.user("ada");
    put(&ada, 1, "one");
    put(&ada, 2, "two");
    (0..3).for_each(|_| assert_eq!(ask(&ada, "text", 1), "one"));
    (0..3).for_each(|_| assert_eq!(ask(&ada, "text", 7), Value::Null));
    let before = runs();
    put(&ada, 2, "zwei");
    ada.call("cache/functions/putAndFail", json!({ "label": 1, "shelf": 1, "rank": 1, "text": "eins" })).error();
    assert_eq!((ask(&ada, "text", 1), ask(&ada, "text", 7)), (json!("one"), Value::Null));
    assert_eq!(runs(), before, "nothing that was read has changed");
    put(&ada, 1, "eins");
    assert_eq!(ask(&ada, "text", 1), "eins");
    put(&ada, 7, "sieben");
    assert_eq!(ask(&ada, "text", 7), "sieben");
    ada.call("cache/functions/remove", json!({ "label": 7 })).value();
    assert_eq!(ask(&ada, "text", 7), Value::Null);
    assert_eq!(app.runtime().cache().stats().evicted_changed.load(Relaxed), 3);
}

#[test]
fn caller_is_part_of_the_cache_key_if_the_query_reads_it() {
    let (_alone, app) = (alone(), TestApp::new());
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    put(&ada, 1, "one");
    for _ in 0..4 {
        assert_eq!(ask(&ada, "mine", 1), "ada: one");
        assert_eq!(ask(&bob, "mine", 1), "bob: one");
        assert_eq!(ask(&app.nobody(), "mine", 1), "nobody: one");
        assert_eq!(ask(&ada, "text", 1), "one");
        assert_eq!(ask(&bob, "text", 1), "one");
    }
    assert!(hits(&app) > 8, "{}", hits(&app));
}

#[test]
fn results_with_untracked_inputs_are_not_cached() {
    let (_alone, app) = (alone(), TestApp::new());
    let ada = app.user("ada");
    let before = runs();
    for _ in 0..5 {
        ada.call("cache/functions/time", json!({})).value();
        ask(&ada, "textAnew", 1);
    }
    assert_eq!((runs() - before, hits(&app), app.runtime().cache().size().0), (10, 0, 0));
}

#[test]
fn cache_hit_is_charged_like_a_run() {
    let (_alone, app) = (alone(), TestApp::configured("[rates]\nread = 5\n"));
    let ada = app.user("ada");
    let codes: Vec<bool> =
        (0..8).map(|_| ada.call("cache/functions/text", json!({ "label": 1 })).is_success()).collect();
    assert_eq!(codes, [true, true, true, true, true, false, false, false]);
    assert_eq!(ada.call("cache/functions/text", json!({ "label": 1 })).code(), "RATE_LIMITED");
    assert!(app.user("bob").call("cache/functions/text", json!({ "label": 1 })).is_success());
}

#[test]
fn temporary_failure_is_not_cached() {
    let (_alone, app) = (alone(), TestApp::new());
    let ada = app.user("ada");
    put(&ada, 1, "one");
    for _ in 0..4 {
        assert_eq!(ada.call("cache/functions/fail", json!({ "label": 1 })).error().code(), Code::Unavailable);
    }
    assert_eq!((hits(&app), app.runtime().cache().size().0), (0, 0));
}

#[test]
fn concurrent_identical_queries_share_one_run() {
    let (_alone, app) = (alone(), TestApp::new());
    let runtime = app.runtime().clone();
    // The function has been seen to give results that can be kept, and the question is asked for the second time.
    (0..2).for_each(|_| drop(ask(&app.user("ada"), "slow", 2)));
    ask(&app.user("ada"), "slow", 1);
    let before = runs();
    let all = app.block_on(async {
        let calls = (0..20).map(|_| {
            let runtime = runtime.clone();
            tokio::spawn(async move {
                let request = Request::Args { path: "cache/functions/slow", args: "{\"label\":1}" };
                let (outcome, _) = runtime.call(request, Caller::Nobody, "r".into()).await;
                outcome.result.is_ok()
            })
        });
        futures_util::future::join_all(calls).await
    });
    assert!(all.into_iter().all(|ended| ended.unwrap()));
    assert_eq!(runs() - before, 1);
}

#[test]
fn cache_can_be_disabled() {
    let (_alone, app) = (alone(), TestApp::with(|options| options.limits.cache_mib = 0));
    let ada = app.user("ada");
    put(&ada, 1, "one");
    (0..5).for_each(|_| assert_eq!(ask(&ada, "text", 1), "one"));
    assert_eq!((hits(&app), app.runtime().cache().size()), (0, (0, 0)));
}

#[test]
fn restart_empties_the_cache() {
    let (_alone, mut app) = (alone(), TestApp::new());
    put(&app.user("ada"), 1, "one");
    (0..4).for_each(|_| assert_eq!(ask(&app.user("ada"), "text", 1), "one"));
    app.restart();
    assert_eq!((hits(&app), app.runtime().cache().size().0), (0, 0));
    put(&app.user("ada"), 1, "eins");
    (0..4).for_each(|_| assert_eq!(ask(&app.user("ada"), "text", 1), "eins"));
}

#[test]
fn change_of_everything_evicts_the_cache() {
    let (_alone, app) = (alone(), TestApp::new());
    let ada = app.user("ada");
    put(&ada, 1, "one");
    (0..3).for_each(|_| assert_eq!(ask(&ada, "text", 1), "one"));
    let before = runs();
    // As a migration, a restore and an import do.
    app.runtime().store().commits().change_everything(|| {});
    assert_eq!(ask(&ada, "text", 1), "one");
    assert_eq!(runs() - before, 1);
}
