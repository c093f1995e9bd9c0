//! `MutationCtx::prepared`: what is read ahead of a transaction, and what it is worth in it.

use std::sync::{Condvar, Mutex};

use convoke::prelude::*;
use convoke::store::Db;
use convoke::testing::TestApp;
use convoke::{args, mutation};
use serde_json::json;

use super::functions::{Counter, Named, increment};

/// Point at which a read waits for its test.
#[derive(Default)]
struct Ahead {
    waits: Mutex<bool>,
    begun: tokio::sync::Notify,
    may_go_on: Condvar,
}

fn count(db: &Db, name: &str) -> Result<i64> {
    Ok(db.query(Counter::by_name).eq(name).unique()?.map_or(0, |row| row.count))
}

#[allow(clippy::ptr_arg, reason = "it takes what the mutation takes")]
fn count_when_let(ctx: &QueryCtx, name: &String) -> Result<i64> {
    let ahead = ctx.memory::<Ahead>();
    let counted = count(ctx.db(), name)?;
    ahead.begun.notify_one();
    let waits = ahead.waits.lock().unwrap();
    drop(ahead.may_go_on.wait_while(waits, |waits| *waits).unwrap());
    info!("counted ahead");
    match counted {
        13 => Err(Error::failed_precondition("An unlucky number")),
        counted => Ok(counted),
    }
}

/// Returns the count before the transaction, the count in it, and the number of its statements.
#[mutation(rate = "small")]
pub(super) fn count_ahead(ctx: &mut MutationCtx, args: Named) -> Result<Vec<i64>> {
    ctx.charge(1)?;
    info!("counting");
    ctx.db_mut().insert(Counter { name: format!("{} was counted", args.name), count: 1 })?;
    ctx.after_commit(|| ());
    let ahead = ctx.prepared(args.name.clone(), count_when_let)?;
    let statements = i64::try_from(ctx.db().statements()).unwrap();
    Ok(vec![*ahead, count(ctx.db(), &args.name)?, statements])
}

/// Goes on without what it asked for, and writes.
#[mutation]
pub(super) fn count_regardless(ctx: &mut MutationCtx, args: Named) -> Result<bool> {
    let inner = ctx.attempt(|ctx| ctx.prepared(args.name.clone(), count_when_let).map(|counted| *counted));
    ctx.run::<increment>(args)?;
    Ok(inner.is_ok())
}

#[args]
pub(super) struct Rounds {
    pub rounds: i64,
}

/// Asks for one thing after the other.
#[mutation]
pub(super) fn count_in_rounds(ctx: &mut MutationCtx, args: Rounds) -> Result<i64> {
    let mut sum = 0;
    for round in 0..args.rounds {
        sum += *ctx.prepared(round, |_: &QueryCtx, round: &i64| Ok(*round))?;
    }
    Ok(sum)
}

fn increment_by(app: &TestApp, by: usize) {
    for _ in 0..by {
        app.nobody().call("call/functions/increment", json!({"name": "a"})).value();
    }
}

#[test]
fn mutation_reruns_with_prepared_reads_and_drops_the_first_run() {
    let app = TestApp::new();
    increment_by(&app, 2);

    let counted = app.nobody().call("call/prepared/countAhead", json!({"name": "a"}));

    // One statement: the insert. The reading was in another transaction.
    assert_eq!(counted.value(), &json!([2, 2, 1]));
    assert_eq!(app.count::<Counter>(), 2);
    assert_eq!(counted.log_lines(), ["[INFO] counting"]);
}

#[test]
fn writes_during_the_preparation_are_visible_to_the_transaction() {
    let app = TestApp::new();
    increment_by(&app, 1);
    let ahead = app.runtime().memory::<Ahead>();
    *ahead.waits.lock().unwrap() = true;
    let caller = app.nobody();
    let counting = caller.call_async("call/prepared/countAhead", json!({"name": "a"}));
    let others = async {
        ahead.begun.notified().await;
        let increment = app.nobody().call_async("call/functions/increment", json!({"name": "a"})).await;
        assert_eq!(increment.value(), 2, "the writer is free");
        *ahead.waits.lock().unwrap() = false;
        ahead.may_go_on.notify_all();
    };

    let (counted, ()) = app.block_on(futures_util::future::join(counting, others));

    assert_eq!(counted.value(), &json!([1, 2, 1]));
}

#[test]
fn ignored_preparation_error_still_ends_the_first_run() {
    let app = TestApp::new();

    let counted = app.nobody().call("call/prepared/countRegardless", json!({"name": "a"}));

    assert_eq!(counted.value(), true);
    assert_eq!(app.nobody().call("call/functions/read", json!({"name": "a"})).value(), 1);
}

#[test]
fn failed_preparation_ends_the_call() {
    let app = TestApp::new();
    increment_by(&app, 13);

    let refused = app.nobody().call("call/prepared/countAhead", json!({"name": "a"}));

    refused.assert_refused(Code::FailedPrecondition, "An unlucky number");
    assert_eq!(refused.log_lines(), ["[INFO] counted ahead"]);
    assert_eq!(app.count::<Counter>(), 1);
}

#[test]
fn prepared_call_is_charged_once() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let of = |name: &str| ada.call("call/prepared/countAhead", json!({"name": name}));

    for name in ["a", "b", "c"] {
        of(name).value();
    }

    assert_eq!(of("d").code(), "RATE_LIMITED");
}

#[test]
fn insufficient_preparation_reads_the_rest_in_the_transaction() {
    let app = TestApp::new();

    let counted = app.nobody().call("call/prepared/countInRounds", json!({"rounds": 9}));

    assert_eq!(counted.value(), 36);
}
