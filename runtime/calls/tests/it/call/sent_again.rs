//! A mutation that is sent again with its `Idempotency-Key`, on a real port.

use std::time::Duration;

use convoke::prelude::*;
use convoke::testing::{HttpReply, TestApp, TestServer};
use convoke_calls::call::idempotency::{KEPT_BYTES_MAX, REMEMBERED};
use convoke_server::auth::development::DevelopmentUser;
use serde_json::{Value, json};

const KEY: &str = "3f1c9c0e-5d2b-4a52";
const ADD: &str = "call/sentAgain/add";

/// An added name.
#[table(name = "sentAgain", prefix = "sentagain")]
pub(super) struct Added {
    pub name: String,
}

/// A user who is no longer admitted.
#[table(name = "sentAgainClosed", prefix = "sentagainclosed")]
#[index(by_subject(subject))]
pub(super) struct Closed {
    pub subject: String,
}

#[args]
pub(super) struct Add {
    pub name: String,
    /// Characters of what is returned beside the count.
    pub padding: Option<usize>,
    pub idempotency_key: Option<String>,
}

/// Returns the number of names; a name is taken once.
#[mutation]
pub(super) fn add(ctx: &mut MutationCtx, args: Add) -> Result<(i64, String)> {
    ctx.charge_call()?;
    if let Some(subject) = ctx.identity().map(|identity| identity.subject.clone())
        && ctx.db().query(Closed::by_subject).eq(&subject).count()? > 0
    {
        return Err(Error::forbidden("Account is deactivated"));
    }
    ctx.once(args.idempotency_key.clone().as_deref(), &args.clone(), |ctx| {
        let there = ctx.db().scan::<Added>().take(1_000)?;
        if there.iter().any(|added| added.name == args.name) {
            return Err(Error::conflict("It is there already"));
        }
        ctx.db_mut().insert(Added { name: args.name.clone() })?;
        Ok((i64::try_from(there.len()).unwrap_or(i64::MAX) + 1, "x".repeat(args.padding.unwrap_or(0))))
    })
}

#[args]
pub(super) struct Close {
    pub subject: String,
}

/// Closes an account.
#[mutation]
pub(super) fn close(ctx: &mut MutationCtx, args: Close) -> Result<()> {
    ctx.db_mut().insert(Closed { subject: args.subject })?;
    Ok(())
}

/// Works outside.
#[action]
pub(super) async fn act(_ctx: &ActionCtx) -> Result<()> {
    Ok(())
}

async fn send(server: &TestServer<'_>, token: Option<&str>, path: &str, key: &str, args: Value) -> HttpReply {
    let body = json!({ "args": args }).to_string();
    server.send_async(token, &format!("/api/run/{path}"), &[("idempotency-key", key)], body).await
}

fn replayed(reply: &HttpReply) -> bool {
    match reply.headers.get("idempotency-replayed") {
        None => false,
        Some(value) => value == "true",
    }
}

#[test]
fn same_key_runs_once_and_replays_for_a_week() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token("ada");
    let send = |name: &str| app.block_on(send(&server, Some(&token), ADD, "k", json!({ "name": name })));
    let first = send("a");
    assert_eq!((first.value(), replayed(&first)), (&json!([1, ""]), false));
    for _ in 0..2 {
        let again = send("a");
        assert_eq!((&again.body, replayed(&again)), (&first.body, true));
    }
    let null = json!({ "name": "a", "padding": null });
    let again = app.block_on(self::send(&server, Some(&token), ADD, "k", null));
    assert_eq!((&again.body, replayed(&again)), (&first.body, true), "an optional argument that is null is absent");
    let reused = send("b");
    assert_eq!((reused.status, reused.code(), replayed(&reused)), (200, "IDEMPOTENCY_KEY_REUSED", false));
    assert_eq!(app.count::<Added>(), 1);
    app.advance(REMEMBERED + Duration::from_millis(1));
    let token = server.token("ada");
    let later = app.block_on(self::send(&server, Some(&token), ADD, "k", json!({ "name": "c" })));
    assert_eq!((later.value(), replayed(&later)), (&json!([2, ""]), false));
}

#[test]
fn header_key_belongs_to_caller_and_function_and_differs_from_argument_keys() {
    let app = TestApp::new();
    let server = app.serve();
    let (ada, bob) = (server.token("ada"), server.token("bob"));
    let send = |token, path, args| app.block_on(send(&server, token, path, KEY, args));
    assert_eq!(send(Some(&ada), ADD, json!({ "name": "a" })).value(), &json!([1, ""]));
    assert_eq!(send(Some(&bob), ADD, json!({ "name": "b" })).value(), &json!([2, ""]));
    assert_eq!(send(None, ADD, json!({ "name": "c" })).value(), &json!([3, ""]));
    assert_eq!(send(Some(&ada), "call/sentAgain/close", json!({ "subject": "eve" })).value(), &json!(null));
    let both = json!({ "name": "d", "idempotencyKey": KEY });
    let carol = server.token("carol");
    let first = send(Some(&carol), ADD, both.clone());
    assert_eq!(send(Some(&carol), ADD, both).body, first.body);
    assert_eq!(app.count::<Added>(), 4);
}

#[test]
fn failure_is_not_stored_and_a_replay_ignores_later_state() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token("ada");
    let send = |key, name: &str| app.block_on(send(&server, Some(&token), ADD, key, json!({ "name": name })));
    assert!(send("k1", "a").body["status"] == "success");
    assert_eq!(send("k2", "a").code(), "CONFLICT");
    assert_eq!(send("k2", "b").value(), &json!([2, ""]), "the key was not used up");
    assert!(replayed(&send("k1", "a")), "that the name is taken is its own doing");
}

#[test]
fn replay_checks_rights_account_and_rate() {
    let app = TestApp::configured("[rates]\nwrite = 3");
    let server = app.serve();
    let (ada, bob) = (server.token("ada"), server.token("bob"));
    let send = |token: &str, name: &str| app.block_on(send(&server, Some(token), ADD, "k", json!({ "name": name })));
    assert_eq!(send(&ada, "a").value(), &json!([1, ""]));
    assert!(replayed(&send(&ada, "a")));
    server.call(None, "call/sentAgain/close", &json!({ "subject": "ada" })).value();
    let closed = send(&ada, "a");
    assert_eq!((closed.code(), replayed(&closed)), ("FORBIDDEN", false));
    let answers: Vec<String> = (0..5).map(|_| send(&bob, "b")).map(|reply| code(&reply)).collect();
    assert_eq!(answers, ["", "", "", "RATE_LIMITED", "RATE_LIMITED"], "a replay is charged like a call");
}

fn code(reply: &HttpReply) -> String {
    reply.body["errorData"]["code"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn concurrent_calls_with_one_key_run_once() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token("ada");
    let sent = (0..30).map(|_| send(&server, Some(&token), ADD, "k", json!({ "name": "a" })));
    let replies = app.block_on(futures_util::future::join_all(sent));
    assert!(replies.iter().all(|reply| reply.value() == &json!([1, ""])));
    assert_eq!(replies.iter().filter(|reply| !replayed(reply)).count(), 1);
    assert_eq!(app.count::<Added>(), 1);
}

#[test]
fn long_response_is_stored_without_its_value() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token("ada");
    // Around the text stands `[1,""]`.
    for (name, padding, is_kept) in [("a", KEPT_BYTES_MAX - 6, true), ("b", KEPT_BYTES_MAX - 5, false)] {
        let send = || app.block_on(send(&server, Some(&token), ADD, name, json!({ "name": name, "padding": padding })));
        let (first, again) = (send(), send());
        assert_eq!(first.value()[1].as_str().unwrap().len(), padding);
        match is_kept {
            true => assert_eq!((&again.body, replayed(&again)), (&first.body, true)),
            false => {
                assert_eq!((again.code(), replayed(&again)), ("CONFLICT", false));
                assert_eq!(again.body["errorData"]["reason"], "ANSWER_NOT_KEPT");
            }
        }
    }
    assert_eq!(app.count::<Added>(), 2);
}

#[test]
fn misplaced_or_invalid_key_is_400() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token("ada");
    let add = json!({ "name": "a" });
    let long = "k".repeat(256);
    for (token, path, key, args, expected) in [
        (Some(&*token), "call/sentAgain/act", KEY, json!({}), "WRONG_FUNCTION_KIND"),
        (Some(&*token), "call/functions/nothing", KEY, json!({}), "WRONG_FUNCTION_KIND"),
        (Some(&*token), ADD, "", add.clone(), "BAD_REQUEST"),
        (Some(&*token), ADD, &*long, add.clone(), "BAD_REQUEST"),
        (Some(&*token), ADD, "a b", add.clone(), "BAD_REQUEST"),
        (None, ADD, "fifteen-charact", add.clone(), "BAD_REQUEST"),
    ] {
        let reply = app.block_on(send(&server, token, path, key, args));
        assert_eq!((reply.status, reply.code()), (400, expected), "{path} {key:?}");
    }
    let twice = [("idempotency-key", KEY), ("idempotency-key", KEY)];
    let body = json!({ "args": add }).to_string();
    let reply = app.block_on(server.send_async(Some(&token), &format!("/api/run/{ADD}"), &twice, body));
    assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"));
    assert_eq!(app.count::<Added>(), 0);
    let longest = "k".repeat(255);
    assert_eq!(app.block_on(send(&server, Some(&token), ADD, &longest, add)).value(), &json!([1, ""]));
}

#[test]
fn key_is_shared_across_routes_and_formats() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token_of(&DevelopmentUser::new("ada"));
    let post = |route: &str, body: Value| {
        let fields = [("idempotency-key", "k")];
        app.block_on(server.send_async(Some(&token), route, &fields, body.to_string()))
    };
    let run = post("/api/run/call/sentAgain/add", json!({ "args": { "name": "a", "padding": 1 } }));
    let path = "call/sentAgain:add";
    let again =
        post("/api/mutation", json!({ "path": path, "args": [{ "padding": 1, "name": "a" }], "format": "json" }));
    assert_eq!((&again.body, replayed(&again)), (&run.body, true));
    let args = json!({ "name": "a", "padding": 1 });
    let encoded = post("/api/mutation", json!({ "path": path, "args": args, "format": "convex_encoded_json" }));
    assert_eq!((encoded.value(), replayed(&encoded)), (&json!([1.0, "x"]), true));
}

#[test]
fn prepared_mutation_is_replayed() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token("ada");
    let path = "call/prepared/countInRounds";
    let send = || app.block_on(send(&server, Some(&token), path, "k", json!({ "rounds": 3 })));
    let (first, again) = (send(), send());
    assert_eq!((first.value(), &again.body), (&json!(3), &first.body));
    assert_eq!((replayed(&first), replayed(&again)), (false, true));
}
