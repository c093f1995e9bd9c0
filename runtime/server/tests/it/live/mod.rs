//! Live queries, in process: the results that callers receive, and their cost.

mod exactness;
mod functions;
mod http;
mod pages;
mod snapshots;
mod sync;

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use convoke::Code;
use convoke::testing::{TestApp, TestCaller};
use convoke_calls::live::{AskedQuery, Bound, LiveConnection, Update};
use serde_json::{Value, json};

fn of(room: &str, name: &str) -> Value {
    json!({ "room": room, "name": name })
}

fn add(caller: &TestCaller<'_>, room: &str, names: &str) {
    caller.call("live/functions/add", of(room, names)).value();
}

/// Runs that a commit caused.
fn runs_again(app: &TestApp) -> u64 {
    app.live().stats().runs_changed.load(Relaxed)
}

/// The values of an update, by the number of their query.
fn values(update: &Update) -> Vec<(u32, Value)> {
    let value = |told: &convoke_calls::live::QueryResult| {
        let json: Value = serde_json::from_slice(&[b"{", &*told.json].concat()).unwrap();
        (told.query, json["value"].clone())
    };
    update.results.iter().map(value).collect()
}

fn asked(path: &str, args: &Value) -> AskedQuery {
    AskedQuery { path: path.to_owned(), args: args.to_string(), format: Default::default(), journal: None }
}

fn subscribe(app: &TestApp, connection: &mut LiveConnection, queries: &[(&str, Value)]) {
    for (number, (path, args)) in queries.iter().enumerate() {
        let number = u32::try_from(number).unwrap();
        app.block_on(connection.subscribe(number, asked(path, args)));
    }
}

#[test]
fn subscriber_gets_only_changes() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let mut seen = ada.watch("live/functions/count", of("a", "x"));
    assert_eq!(seen.next().value(), 0);
    add(&ada, "a", "x");
    assert_eq!(seen.next().value(), 1);
    add(&ada, "a", "y");
    add(&ada, "b", "x");
    ada.call("live/functions/addAndFail", of("a", "x")).error();
    assert!(seen.now().is_none());
    assert_eq!(runs_again(&app), 1, "nothing of that was read");
    add(&ada, "a", "y,x");
    assert_eq!(seen.now().unwrap().value(), 2);
    assert_eq!(runs_again(&app), 2);
}

#[test]
fn overtaken_run_is_repeated() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let (go_on, held) = std::sync::mpsc::channel();
    *functions::HELD.lock().unwrap() = Some(held);
    let query = ("live/functions/countLater", of("late", "x"));
    let mut slow = ada.live().unwrap();
    subscribe(&app, &mut slow, std::slice::from_ref(&query));
    app.block_on(async {
        let first = tokio::spawn(async move {
            let update = slow.next().await.unwrap();
            (slow, update)
        });
        while functions::HELD.lock().unwrap().is_some() {
            tokio::task::yield_now().await;
        }
        let call = |path: &'static str, args: Value| {
            let runtime = app.runtime().clone();
            async move {
                let args = args.to_string();
                let request = convoke_calls::call::dispatch::Request::Args { path, args: &args };
                runtime.call(request, convoke::Caller::Nobody, runtime.request_id()).await.0.result.unwrap()
            }
        };
        call("live/functions/add", of("late", "x")).await;
        let mut quick = app.runtime().live().open(convoke::Caller::Nobody, convoke::store::Flow::SYSTEM, None).unwrap();
        quick.subscribe(0, asked(query.0, &query.1)).await;
        assert_eq!(values(&quick.next().await.unwrap()), [(0, json!(1))]);
        go_on.send(()).unwrap();
        let (mut slow, update) = first.await.unwrap();
        assert_eq!(values(&update), [(0, json!(0))]);
        let next = tokio::time::timeout(Duration::from_secs(60), slow.next())
            .await
            .expect("the client must get the missed change");
        assert_eq!(values(&next.unwrap()), [(0, json!(1))]);
    });
}

#[test]
fn list_reruns_only_for_changes_of_its_reads() {
    let app = TestApp::new();
    let ada = app.user("ada");
    for names in ["a", "b,c", "c"] {
        add(&ada, "r", names);
    }
    let mut seen = ada.watch("live/functions/top", json!({ "room": "r", "rows": 1 }));
    assert_eq!(seen.next().value(), &json!(["c"]));
    add(&ada, "r", "d");
    assert!(seen.now().is_none());
    assert_eq!(runs_again(&app), 0, "what is behind the last row was not looked at");
    add(&ada, "r", "a,d");
    add(&ada, "r", "a");
    assert_eq!(seen.now().unwrap().value(), &json!(["a"]));
}

#[test]
fn all_queries_of_a_connection_move_together() {
    let app = TestApp::with(|options| options.limits.live_runs_per_second_max = 10_000);
    let ada = app.user("ada");
    let mut connection = ada.live().unwrap();
    let query = |name| ("live/functions/count", of("r", name));
    subscribe(&app, &mut connection, &[query("a"), query("b"), ("live/functions/countAsGuest", of("r", "a"))]);
    ada.call("live/functions/enterOrLeave", json!({ "room": "r" })).value();
    let runtime = app.runtime().clone();
    let mut known = [Value::Null, Value::Null, Value::Null];
    let (mut last, mut updates) = (Default::default(), 0);
    app.block_on(async {
        let writing = tokio::spawn(async move {
            for _ in 0..200 {
                let args = of("r", "a,b").to_string();
                let request = convoke_calls::call::dispatch::Request::Args { path: "live/functions/add", args: &args };
                let caller = convoke::Caller::Nobody;
                let (outcome, _) = runtime.call(request, caller, runtime.request_id()).await;
                outcome.result.unwrap();
            }
        });
        while known[0] != 200 {
            let update = connection.next().await.unwrap();
            assert!(update.commit > last);
            last = update.commit;
            updates += 1;
            for (number, value) in values(&update) {
                known[number as usize] = value;
            }
            assert!(known[0] == known[1] && known[1] == known[2], "{known:?} are of different commits");
        }
        writing.await.unwrap();
    });
    assert!(updates > 1, "the client saw it change");
}

#[test]
fn identical_queries_of_different_callers_share_a_run() {
    let app = TestApp::new();
    let names: Vec<String> = (0..20).map(|number| format!("user{number}")).collect();
    for name in &names {
        app.user(name).call("live/functions/enterOrLeave", json!({ "room": "r" })).value();
    }
    let watch = |path: &str| {
        let watch = |name: &String| {
            let mut seen = app.user(name).watch(path, of("r", "x"));
            seen.next();
            seen
        };
        names.iter().map(watch).collect::<Vec<_>>()
    };
    let mut shared = watch("live/functions/count");
    add(&app.nobody(), "r", "x");
    for seen in &mut shared {
        assert_eq!(seen.next().value(), 1);
    }
    assert_eq!(runs_again(&app), 1);
    drop(shared);
    let mut own = watch("live/functions/countAsGuest");
    add(&app.nobody(), "r", "x");
    for seen in &mut own {
        assert_eq!(seen.next().value(), 2);
    }
    assert_eq!(runs_again(&app), 21);
    drop(own);
    assert_eq!(app.live().counts(), (0, 0));
}

#[test]
fn query_that_reads_the_caller_is_not_shared() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let [mut of_ada, mut of_bob] = [&ada, &bob].map(|caller| caller.watch("live/functions/countOrName", of("r", "x")));
    assert_eq!((of_ada.next().value(), of_bob.next().value()), (&json!("0"), &json!("0")));
    for (one, other) in [("1 for ada", "1 for bob"), ("2", "2"), ("3 for ada", "3 for bob")] {
        add(&app.nobody(), "r", "x");
        assert_eq!(of_bob.next().value(), other);
        assert_eq!(of_ada.next().value(), one);
    }
}

#[test]
fn lost_right_sends_only_the_error() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    ada.call("live/functions/enterOrLeave", json!({ "room": "r" })).value();
    let mut seen = ada.watch("live/functions/countAsGuest", of("r", "x"));
    let mut of_bob = bob.watch("live/functions/countAsGuest", of("r", "x"));
    assert_eq!(seen.next().value(), 0);
    assert_eq!(of_bob.next().code(), "FORBIDDEN");
    ada.call("live/functions/enterOrLeave", json!({ "room": "r" })).value();
    seen.next().assert_refused(Code::Forbidden, "You are no guest of this room");
    add(&bob, "r", "x");
    assert!(seen.now().is_none() && of_bob.now().is_none());
    bob.call("live/functions/enterOrLeave", json!({ "room": "r" })).value();
    assert_eq!(of_bob.next().value(), 1);
}

#[test]
fn time_dependent_result_is_refreshed() {
    let app = TestApp::with(|options| options.limits.live_refresh = Duration::from_millis(20));
    let mut seen = app.nobody().watch("live/functions/time", json!({}));
    let first = seen.next().value().clone();
    app.clock().set(app.now() + Duration::from_secs(1));
    assert_ne!(seen.next().value(), &first);
    assert_eq!(runs_again(&app), 0);
    assert!(app.live().stats().runs_refreshed.load(Relaxed) > 0);
}

#[test]
fn temporary_failure_is_retried_before_it_is_sent() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let mut seen = ada.watch("live/functions/unsteady", of("r", "x"));
    assert_eq!(seen.next().value(), 0);
    app.memory::<functions::Flag>().failures.store(2, Relaxed);
    add(&ada, "r", "x");
    assert_eq!(seen.next().value(), 1);
    assert_eq!(app.memory::<functions::Flag>().failures.load(Relaxed), 0);

    let impatient = TestApp::with(|options| options.limits.live_retry_timeout = Duration::ZERO);
    let ada = impatient.user("ada");
    let mut seen = ada.watch("live/functions/unsteady", of("r", "x"));
    seen.next();
    impatient.memory::<functions::Flag>().failures.store(1, Relaxed);
    add(&ada, "r", "x");
    assert_eq!(seen.next().code(), "UNAVAILABLE");
}

#[test]
fn subscription_is_charged_once() {
    let app = TestApp::configured("[rates]\nread = 3");
    let ada = app.user("ada");
    let mut seen = ada.watch("live/functions/count", of("r", "x"));
    seen.next();
    for count in 1..10 {
        add(&app.nobody(), "r", "x");
        assert_eq!(seen.next().value(), count);
    }
    for _ in 0..2 {
        ada.call("live/functions/count", of("r", "x")).value();
    }
    assert_eq!(ada.call("live/functions/count", of("r", "x")).code(), "RATE_LIMITED");
    assert_eq!(ada.watch("live/functions/count", of("r", "x")).next().code(), "RATE_LIMITED");
}

#[test]
fn unknown_function_and_invalid_arguments_are_results() {
    let app = TestApp::new();
    let ada = app.user("ada");
    for (path, args, code) in [
        ("live/functions/cuont", json!({}), "FUNCTION_NOT_FOUND"),
        ("live/functions/add", of("a", "b"), "WRONG_FUNCTION_KIND"),
        ("live/functions/count", json!({ "room": "a" }), "INVALID_ARGUMENT"),
    ] {
        let mut seen = ada.watch(path, args);
        assert_eq!(seen.next().code(), code);
        add(&ada, "a", "b");
        assert!(seen.now().is_none());
    }
}

#[test]
fn connection_limits_are_enforced() {
    let app = TestApp::with(|options| {
        options.limits.live_connections_per_caller_max = 2;
        options.limits.live_queries_max = 3;
        options.limits.live_result_bytes_max = 1_000;
        options.limits.live_runs_per_second_max = 1;
    });
    let ada = app.user("ada");
    let (mut first, second) = (ada.live().unwrap(), ada.live().unwrap());
    assert_eq!(ada.live().err().unwrap().code(), Code::Overloaded);
    drop(second);
    let query = ("live/functions/count", of("r", "x"));
    subscribe(&app, &mut first, &vec![query; 4]);
    let update = app.block_on(first.next()).unwrap();
    assert_eq!(update.results.len(), 4);
    assert!(String::from_utf8_lossy(&update.results[3].json).contains("OVERLOADED"));
    first.unsubscribe(2);
    first.unsubscribe(3);
    app.block_on(first.subscribe(7, asked("live/functions/long", &json!({ "room": "", "rows": 900 }))));
    assert_eq!(app.block_on(first.next()).unwrap().results.len(), 1);
    first.unsubscribe(1);
    app.block_on(first.subscribe(8, asked("live/functions/long", &json!({ "room": "", "rows": 901 }))));
    assert_eq!(app.block_on(first.next()).unwrap_err().code(), Code::Overloaded);
    drop(first);
    let met = |bound| app.live().stats().met(bound);
    assert_eq!([met(Bound::Connections), met(Bound::Queries), met(Bound::ResultBytes)], [1, 1, 1]);

    let mut seen = ada.watch("live/functions/count", of("r", "x"));
    assert_eq!(seen.next().value(), 0);
    let began = tokio::time::Instant::now();
    let before = runs_again(&app);
    for _ in 0..30 {
        add(&ada, "r", "x");
    }
    while seen.next().value() != 30 {}
    assert!(met(Bound::Runs) > 0);
    let (runs, seconds) = (runs_again(&app) - before, began.elapsed().as_secs());
    assert!(runs <= seconds + 2, "{runs} runs in {seconds} s");
}
