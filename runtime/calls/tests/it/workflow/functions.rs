//! The functions that the tests of workflows call as steps.

use std::collections::HashMap;
use std::sync::Mutex;

use convoke::prelude::*;
use convoke::testing::TestApp;
use serde_json::{Value, json};

/// An effect of a step. It has no unique key, so that a repeated effect is visible.
#[table(name = "stepEffects", prefix = "stepeffect")]
pub(super) struct StepEffect {
    pub text: String,
    pub at: Millis,
}

/// The keys that the attempts of each action received.
#[derive(Default)]
pub(super) struct Keys(pub Mutex<HashMap<String, Vec<String>>>);

#[args]
pub(super) struct Text {
    pub text: String,
}

pub(super) fn text(text: &str) -> Text {
    Text { text: text.to_owned() }
}

/// Leaves an effect, and returns its text twice.
#[mutation(internal)]
pub(super) fn note(ctx: &mut MutationCtx, args: Text) -> Result<String> {
    let at = ctx.now();
    ctx.db_mut().insert(StepEffect { text: args.text.clone(), at })?;
    Ok(args.text.repeat(2))
}

/// Leaves an effect, and fails.
#[mutation(internal)]
pub(super) fn refuse(ctx: &mut MutationCtx, args: Text) -> Result<()> {
    ctx.run::<note>(args)?;
    Err(Error::not_found("There is no such thing"))
}

/// Returns the number of effects.
#[query(internal)]
pub(super) fn count(ctx: &QueryCtx) -> Result<u64> {
    Ok(ctx.db().scan::<StepEffect>().count()?)
}

#[args]
pub(super) struct Reach {
    pub text: String,
    pub failures: usize,
}

/// Reaches a service that fails at first.
#[action(internal)]
pub(super) async fn reach(ctx: &ActionCtx, args: Reach) -> Result<String> {
    let tries = {
        let keys = ctx.memory::<Keys>();
        let mut keys = keys.0.lock().unwrap();
        let keys = keys.entry(args.text.clone()).or_default();
        keys.push(ctx.attempt().to_owned());
        keys.len()
    };
    if tries <= args.failures {
        return Err(Error::provider("The service is down"));
    }
    ctx.run::<note>(text(&args.text)).await
}

/// Returns a value of a mebibyte and more.
#[mutation(internal)]
pub(super) fn bulk(ctx: &mut MutationCtx) -> Result<String> {
    ctx.run::<note>(text("bulk"))?;
    Ok("x".repeat(1024 * 1024))
}

#[args]
pub(super) struct SendSignal {
    pub run: Id<Run>,
    pub name: String,
    pub value: i64,
}

#[mutation]
pub(super) fn send_signal(ctx: &mut MutationCtx, args: SendSignal) -> Result<()> {
    ctx.signal(args.run, &args.name, args.value)
}

/// Calls a mutation of a test, and returns its value.
pub(super) fn call(app: &TestApp, path: &str, args: Value) -> Value {
    app.nobody().call(&format!("workflow/{path}"), args).value().clone()
}

/// Starts a run by the mutation at `path`.
pub(super) fn start(app: &TestApp, path: &str) -> Id<Run> {
    serde_json::from_value(call(app, path, json!({}))).unwrap()
}

pub(super) fn signal(app: &TestApp, run: Id<Run>, name: &str, value: i64) {
    call(app, "functions/sendSignal", json!({ "run": run, "name": name, "value": value }));
}

/// Every effect as text and milliseconds after the start of the test's clock, in order.
pub(super) fn effects(app: &TestApp) -> Vec<(String, i64)> {
    app.read(|db| {
        let rows = db.scan::<StepEffect>().take(100_000)?;
        Ok(rows.iter().map(|row| (row.text.clone(), row.at.0 - convoke::testing::START.0)).collect())
    })
}

/// The texts of every effect, in order.
pub(super) fn texts(app: &TestApp) -> Vec<String> {
    effects(app).into_iter().map(|(text, _)| text).collect()
}
