//! Queues, retries of actions, and outcomes of jobs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke::prelude::*;
use convoke::scheduler::Job;
use convoke::testing::TestApp;
use convoke_core::clock::SystemClock;
use serde_json::json;

use super::functions::{Effect, Numbered, leave};
use super::harness::effects;

convoke::queue!("in-order", per_key = 1);
convoke::queue!("pairs", parallel = 2);
convoke::queue!("slow", rate = "2/s");

/// The keys that the attempts of each number received, and the running actions.
#[derive(Default)]
struct Attempts {
    keys: Mutex<HashMap<i64, Vec<String>>>,
    order: Mutex<Vec<i64>>,
    running: AtomicUsize,
    most: AtomicUsize,
}

#[args]
pub(super) struct Deliver {
    n: i64,
    /// Number of first attempts that fail.
    failures: usize,
    /// Code of the failures.
    code: String,
}

/// Delivers to a service that fails at first.
#[action(internal)]
async fn deliver(ctx: &ActionCtx, args: Deliver) -> Result<i64> {
    let attempts = ctx.memory::<Attempts>();
    let tries = {
        let mut keys = attempts.keys.lock().unwrap();
        let keys = keys.entry(args.n).or_default();
        keys.push(ctx.attempt().to_owned());
        keys.len()
    };
    if tries <= args.failures {
        let code = Code::ALL.iter().find(|code| code.as_str() == args.code).unwrap();
        return Err(Error::new(*code, "The service is down"));
    }
    attempts.order.lock().unwrap().push(args.n);
    Ok(args.n * 2)
}

/// Stays for a while.
#[action(internal)]
async fn stay(ctx: &ActionCtx, args: Numbered) -> Result<()> {
    let attempts = ctx.memory::<Attempts>();
    let running = attempts.running.fetch_add(1, Ordering::SeqCst) + 1;
    attempts.most.fetch_max(running, Ordering::SeqCst);
    ctx.sleep(Duration::from_millis(20)).await;
    attempts.running.fetch_sub(1, Ordering::SeqCst);
    ctx.run::<leave>(args).await
}

/// Outcomes of jobs, as text.
#[table(name = "outcomes", prefix = "outcome")]
struct OutcomeRow {
    n: i64,
    text: String,
}

#[mutation(internal)]
fn delivered(ctx: &mut MutationCtx, finished: Finished<deliver>) -> Result<()> {
    let text = match finished.outcome {
        Ended::Value(value) => format!("value {value}"),
        Ended::Error(error) => format!("{}: {}", error.code, error.message),
        Ended::Cancelled => "cancelled".to_owned(),
    };
    ctx.db_mut().insert(OutcomeRow { n: finished.args.n, text })?;
    Ok(())
}

#[mutation(internal)]
fn left(ctx: &mut MutationCtx, finished: Finished<leave>) -> Result<()> {
    let text = format!("{:?}", finished.outcome);
    ctx.db_mut().insert(OutcomeRow { n: finished.args.n, text })?;
    Ok(())
}

#[args]
pub(super) struct Send {
    n: i64,
    failures: usize,
    code: Option<String>,
    key: Option<String>,
}

#[mutation]
pub(super) fn send(ctx: &mut MutationCtx, args: Send) -> Result<Id<Job>> {
    let code = args.code.unwrap_or_else(|| "PROVIDER_ERROR".to_owned());
    let deliver_args = Deliver { n: args.n, failures: args.failures, code };
    let mut job = ctx.schedule::<deliver>(When::now(), deliver_args)?;
    if let Some(key) = args.key {
        job = job.queue("in-order").key(key);
    }
    Ok(job.retry(Retry::exponential(3).from(secs(1)).up_to(mins(5))).then::<delivered>().id())
}

#[args]
pub(super) struct Fill {
    queue: String,
    key: Option<String>,
    from: i64,
    to: i64,
}

#[mutation]
pub(super) fn fill(ctx: &mut MutationCtx, args: Fill) -> Result<()> {
    for n in args.from..args.to {
        let job = ctx.schedule::<leave>(When::now(), Numbered { n })?.queue(&args.queue);
        if let Some(key) = &args.key {
            job.key(key);
        }
    }
    Ok(())
}

#[mutation]
pub(super) fn fill_with_stays(ctx: &mut MutationCtx, args: Fill) -> Result<()> {
    for n in args.from..args.to {
        ctx.schedule::<stay>(When::now(), Numbered { n })?.queue(&args.queue);
    }
    Ok(())
}

#[mutation]
pub(super) fn leave_and_report(ctx: &mut MutationCtx, args: Numbered) -> Result<()> {
    ctx.schedule::<leave>(When::now(), args)?.then::<left>();
    Ok(())
}

#[mutation]
pub(super) fn cancel_job(ctx: &mut MutationCtx, args: super::functions::OfJob) -> Result<bool> {
    ctx.cancel(args.job)
}

fn call(app: &TestApp, name: &str, args: serde_json::Value) -> serde_json::Value {
    app.nobody().call(&format!("scheduler/queues/{name}"), args).value().clone()
}

fn outcomes(app: &TestApp) -> Vec<(i64, String)> {
    app.read(|db| Ok(db.scan::<OutcomeRow>().take(100)?.iter().map(|row| (row.n, row.text.clone())).collect()))
}

fn keys(app: &TestApp, n: i64) -> Vec<String> {
    app.runtime().memory::<Attempts>().keys.lock().unwrap().get(&n).cloned().unwrap_or_default()
}

#[test]
fn action_is_retried_with_one_key_and_its_outcome_is_reported_once() {
    let app = TestApp::new();
    let job = call(&app, "send", json!({ "n": 4, "failures": 2 }));
    app.run_due();
    assert_eq!(keys(&app, 4).len(), 1);
    assert_eq!(app.pending_jobs()[0].last_error.as_deref(), Some("PROVIDER_ERROR: The service is down"));
    app.advance(mins(1));
    assert_eq!(keys(&app, 4), vec![job.as_str().unwrap(); 3]);
    assert_eq!(outcomes(&app), [(4, "value 8".to_owned())]);
}

#[test]
fn last_error_is_reported_once_and_the_job_can_run_again() {
    let app = TestApp::new();
    call(&app, "send", json!({ "n": 1, "failures": 3 }));
    app.advance(mins(10));
    assert_eq!((keys(&app, 1).len(), app.failed_jobs().len()), (3, 1));
    assert_eq!(outcomes(&app), [(1, "PROVIDER_ERROR: The service is down".to_owned())]);
    app.block_on(app.jobs().retry(app.failed_jobs()[0].id())).unwrap();
    app.run_due();
    assert_eq!((keys(&app, 1).len(), app.failed_jobs().len(), outcomes(&app).len()), (4, 0, 1));
}

#[test]
fn only_errors_that_may_pass_are_retried() {
    let app = TestApp::new();
    let passing = ["UNAVAILABLE", "TIMEOUT", "PROVIDER_ERROR", "OVERLOADED"];
    let lasting = ["NOT_FOUND", "FORBIDDEN", "INTERNAL", "RATE_LIMITED", "CONFLICT"];
    for (n, code) in (0..).zip(passing.iter().chain(&lasting)) {
        call(&app, "send", json!({ "n": n, "failures": 1, "code": code }));
    }
    app.advance(mins(10));
    let tries: Vec<usize> = (0..9).map(|n| keys(&app, n).len()).collect();
    assert_eq!(tries, [2, 2, 2, 2, 1, 1, 1, 1, 1]);
    assert_eq!(app.failed_jobs().len(), lasting.len());
}

#[test]
fn outcomes_of_cancelled_jobs_and_of_mutations_are_reported() {
    let app = TestApp::new();
    let job = call(&app, "send", json!({ "n": 1, "failures": 0 }));
    assert_eq!(call(&app, "cancelJob", json!({ "job": job })), json!(true));
    call(&app, "leaveAndReport", json!({ "n": 2 }));
    app.run_due();
    assert_eq!(outcomes(&app), [(1, "cancelled".to_owned()), (2, "Value(())".to_owned())]);
    assert_eq!(effects(&app), [(2, 0)]);
}

#[test]
fn jobs_of_a_key_keep_their_order_while_the_first_is_retried() {
    let app = TestApp::new();
    call(&app, "send", json!({ "n": 1, "failures": 1, "key": "ada" }));
    call(&app, "send", json!({ "n": 2, "failures": 0, "key": "ada" }));
    call(&app, "send", json!({ "n": 3, "failures": 0, "key": "bob" }));
    app.run_due();
    app.advance(secs(10));
    assert_eq!(*app.runtime().memory::<Attempts>().order.lock().unwrap(), [3, 1, 2]);
}

#[test]
fn keys_of_a_queue_take_turns() {
    let app = TestApp::new();
    call(&app, "fill", json!({ "queue": "pairs", "key": "a", "from": 0, "to": 5 }));
    call(&app, "fill", json!({ "queue": "pairs", "key": "b", "from": 10, "to": 12 }));
    call(&app, "fill", json!({ "queue": "pairs", "key": "c", "from": 20, "to": 21 }));
    app.run_due();
    let order: Vec<i64> = effects(&app).into_iter().map(|(n, _)| n).collect();
    assert_eq!(order, [0, 10, 20, 1, 11, 2, 3, 4]);
}

#[test]
fn rate_of_a_queue_spreads_its_jobs() {
    let app = TestApp::new();
    call(&app, "fill", json!({ "queue": "slow", "from": 0, "to": 5 }));
    app.advance(secs(3));
    assert_eq!(effects(&app), [(0, 0), (1, 500), (2, 1_000), (3, 1_500), (4, 2_000)]);
}

#[test]
fn unknown_queue_fails_the_mutation() {
    let app = TestApp::new();
    let reply = app.nobody().call("scheduler/queues/fill", json!({ "queue": "mial", "from": 0, "to": 1 }));
    assert_eq!(reply.code(), "INTERNAL");
    assert!(reply.error().chain().contains("write `convoke::queue!(\"mial\")`"), "{}", reply.error().chain());
    assert_eq!(app.pending_jobs().len(), 0);
}

#[test]
fn queue_bounds_the_running_jobs_of_a_server() {
    let app = TestApp::with(|options| options.clock = Arc::new(SystemClock::new()));
    let background = app.block_on(async { app.start_background() });
    call(&app, "fillWithStays", json!({ "queue": "pairs", "from": 0, "to": 20 }));
    app.block_on(async {
        while app.count::<Effect>() < 20 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        background.stop().await;
    });
    assert_eq!(app.runtime().memory::<Attempts>().most.load(Ordering::SeqCst), 2);
    assert_eq!(app.count::<Effect>(), 20);
}
