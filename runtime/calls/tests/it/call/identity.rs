//! First sight of an identity, changed claims, admins and rates.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use convoke::embed::Sqlite;
use convoke::testing::{ISSUER, TestApp};
use convoke::{Caller, Identity};
use convoke_store::{Plan, Reader as _, StoreError, TableDef, Transaction, WriteJob};
use serde_json::json;

use super::functions::{Person, Runs};

const SEEN: &str = "call/functions/seen";

fn ada(email: &str, issued_at: i64) -> Identity {
    Identity {
        issuer: ISSUER.to_owned(),
        subject: "ada".to_owned(),
        email: Some(email.to_owned()),
        issued_at: Some(issued_at),
        ..Identity::default()
    }
}

#[test]
fn hook_runs_before_the_first_call_and_after_claim_changes_but_not_for_older_tokens() {
    let app = TestApp::new();
    let call = |email, issued_at| app.identity(ada(email, issued_at)).call(SEEN, json!({})).value().clone();
    assert_eq!(call("a@example.com", 100), json!(1));
    assert_eq!(call("a@example.com", 200), json!(1));
    assert_eq!(call("b@example.com", 150), json!(1), "a token between two with the same claims is older too");
    assert_eq!(call("b@example.com", 250), json!(2));
    assert_eq!(call("a@example.com", 120), json!(2), "an older token changes nothing");
    assert_eq!(app.count::<Person>(), 1);
    assert_eq!(app.read(|db| Ok(db.scan::<Person>().first()?.unwrap().email.clone())).unwrap(), "b@example.com");
}

/// Removes all rows of some tables below everything that remembers them, as a restore does.
struct Lose(Vec<&'static TableDef>, mpsc::Sender<Result<(), StoreError>>);

impl WriteJob for Lose {
    fn run(&mut self, transaction: Rc<Transaction>) -> Result<(), Option<StoreError>> {
        for table in &self.0 {
            let mut ids = Vec::new();
            let all = transaction.select(&Plan::new(table, None), &mut |row| {
                ids.push(row.id()?);
                Ok(ControlFlow::Continue(()))
            });
            all.and_then(|()| ids.iter().try_for_each(|id| transaction.delete(table, *id).map(drop))).map_err(Some)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, outcome: Result<(), StoreError>) {
        self.1.send(outcome).unwrap();
    }

    fn name(&self) -> &str {
        "lose"
    }
}

#[test]
fn hook_runs_again_for_an_identity_that_the_database_lost_by_a_restore() {
    let app = TestApp::new();
    let ada = app.identity(ada("a@example.com", 100));
    assert_eq!(ada.call(SEEN, json!({})).value(), &json!(1));
    let store = app.runtime().store();
    let is_lost = |table: &&&TableDef| ["people", "_identities"].contains(&table.name);
    let (answer, answered) = mpsc::channel();
    let lose = Lose(store.tables().iter().filter(is_lost).copied().collect(), answer);
    assert!(store.write(Box::new(lose)).is_ok());
    answered.recv().unwrap().unwrap();
    assert_eq!(ada.call(SEEN, json!({})).value(), &json!(0), "the identity is remembered");
    store.commits().begin_history();
    assert_eq!(ada.call(SEEN, json!({})).value(), &json!(1));
}

#[test]
fn concurrent_first_calls_create_one_row() {
    let app = TestApp::new();
    let calls = (0..100).map(|_| {
        let caller = app.identity(ada("a@example.com", 1));
        async move { caller.call_async(SEEN, json!({})).await }
    });
    for reply in app.block_on(futures_util::future::join_all(calls)) {
        assert_eq!(reply.value(), &json!(1));
    }
}

#[test]
fn hook_runs_even_if_the_call_is_rejected() {
    let app = TestApp::new();
    assert_eq!(app.user("ada").call(SEEN, json!({ "x": 1 })).code(), "INVALID_ARGUMENT");
    assert_eq!(app.count::<Person>(), 1);
}

#[test]
fn anonymous_and_acting_deploy_keys_create_no_row() {
    let app = TestApp::new();
    app.nobody().call(SEEN, json!({})).value();
    app.deploy_key(&["*"]).acting_as("ada").call(SEEN, json!({})).value();
    assert_eq!(app.count::<Person>(), 0);
}

#[test]
fn admin_function_runs_only_for_admins_and_deploy_keys() {
    for path in ["forAdmins", "changeForAdmins", "actForAdmins"].map(|name| format!("call/functions/{name}")) {
        let app = TestApp::new();
        let runs = || app.runtime().memory::<Runs>().0.load(Ordering::SeqCst);
        assert_eq!(app.nobody().call(&path, json!({})).code(), "UNAUTHENTICATED");
        let refused = app.user("ada").call(&path, json!({}));
        assert_eq!((refused.code(), refused.message()), ("FORBIDDEN", "Access denied: Insufficient permissions"));
        assert_eq!(app.user("ada").call(&path, json!({ "x": 1 })).code(), "INVALID_ARGUMENT", "its form comes first");
        assert_eq!(runs(), 0, "{path}");
        let admin = Identity { roles: vec!["admin".to_owned()], ..ada("a@example.com", 1) };
        assert!(app.caller(Caller::User(Arc::new(admin))).call(&path, json!({})).is_success());
        assert!(app.deploy_key(&["*"]).call(&path, json!({})).is_success());
        assert_eq!(runs(), 2, "{path}");
    }
}

#[test]
fn exceeded_class_rate_returns_a_retry_time() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let path = "call/functions/charged";
    for _ in 0..3 {
        ada.call(path, json!({})).value();
    }
    let refused = ada.call(path, json!({}));
    assert_eq!(refused.code(), "RATE_LIMITED");
    assert_eq!(refused.data()["retryAfterMs"], json!(20_000));
    app.user("bob").call(path, json!({})).value();
    app.advance(Duration::from_secs(20));
    ada.call(path, json!({})).value();
    assert_eq!(ada.call(path, json!({})).code(), "RATE_LIMITED");
}

#[test]
fn invalid_request_creates_no_identity() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token("ada");
    let refused = server.post(Some(&token), &format!("/api/run/{SEEN}"), r#"{"arguments":{}}"#);
    assert_eq!((refused.status, refused.code()), (400, "INVALID_ENVELOPE"));
    assert_eq!(app.count::<Person>(), 0);
    assert_eq!(server.post(Some(&token), &format!("/api/run/{SEEN}"), r#"{"args":{}}"#).value(), &json!(1));
}

#[test]
fn typed_call_checks_the_same_rights() {
    use super::functions::for_admins;
    let app = TestApp::new();
    assert_eq!(app.nobody().run::<for_admins>(()).unwrap_err().code(), convoke::Code::Unauthenticated);
    assert_eq!(app.user("ada").run::<for_admins>(()).unwrap_err().code(), convoke::Code::Forbidden);
    assert_eq!(app.deploy_key(&[]).run::<for_admins>(()).unwrap(), "yes");
}

#[test]
fn cost_above_the_bucket_size_needs_a_full_bucket_and_leaves_a_debt() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let charge = |cost: u32| ada.call("call/functions/chargedFor", json!({ "cost": cost }));
    charge(5).value();
    assert_eq!(charge(1).data()["retryAfterMs"], json!(60_000));
    app.advance(Duration::from_secs(60));
    charge(1).value();
    assert_eq!(charge(5).data()["retryAfterMs"], json!(60_000), "until it is full");
}

#[test]
fn rerun_mutation_is_charged_once() {
    let app =
        TestApp::with(|options| options.engine = Arc::new(Sqlite { pages_max: Some(10_000), ..Sqlite::default() }));
    let ada = app.user("ada");
    assert_eq!(ada.call("call/functions/chargedAgain", json!({ "cost": 1 })).value(), &json!(2), "it ran twice");
    let charge = |cost: u32| ada.call("call/functions/chargedFor", json!({ "cost": cost }));
    charge(1).value();
    assert_eq!(charge(1).code(), "RATE_LIMITED", "one for the call, one beyond it, one now");
}

#[test]
fn hook_log_lines_reach_only_the_operator() {
    let app = TestApp::new();
    let first = app.user("ada").call("call/functions/logLevels", json!({}));
    assert_eq!(first.log_lines(), ["[DEBUG] one", "[INFO] two count=2 who=ada", "[WARN] three", "[ERROR] four"]);
    let log = super::logs::operators_log(|| drop(app.user("bob").call("call/functions/logLevels", json!({}))));
    let line = log.lines().find(|line| line.contains("met bob")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("call/functions/onIdentity") && line.contains("request_id="), "{line}");
}

#[test]
fn bucket_refills_after_the_clock_is_set_back() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let charge = |cost: u32| ada.call("call/functions/chargedFor", json!({ "cost": cost }));
    charge(3).value();
    app.clock().set(convoke::Millis(app.now().0 - 3_600_000));
    assert_eq!(charge(1).code(), "RATE_LIMITED");
    app.advance(Duration::from_secs(20));
    charge(1).value();
}
