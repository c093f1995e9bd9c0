//! Errors for invalid values: the message, and the path of the argument.

use convoke::prelude::*;
use convoke::testing::{Reply, TestApp};
use convoke::{args, query};
use schema::*;
use serde_json::{Value, json};

/// One argument of each kind.
#[args]
pub(crate) struct AcceptValues {
    pub age: Option<Age>,
    pub name: Option<DisplayName>,
    pub bio: Option<Bio>,
    pub title: Option<MeetingTitle>,
    pub max: Option<MaxParticipants>,
    pub emails: Option<List<ParticipantEmail, 0, 2>>,
    pub metadata: Option<Metadata>,
    pub payload: Option<SignalPayload>,
    pub url: Option<UrlOrEmpty>,
    pub gender: Option<Gender>,
    pub presence: Option<PresenceChange>,
    pub meeting: Option<Id<Meeting>>,
    pub user: Option<UserRef>,
    pub limit: Option<Limit<20, 1000>>,
    pub operation: Option<NoteEditInput>,
    pub constraints: Option<MatchConstraints>,
    pub at: Option<Millis>,
}

/// Returns the decoded arguments.
#[query]
pub(crate) fn accept_values(_ctx: &QueryCtx, args: AcceptValues) -> Result<AcceptValues> {
    Ok(args)
}

fn call(app: &TestApp, args: Value) -> Reply {
    app.nobody().call("refusals/acceptValues", args)
}

#[test]
fn error_names_the_expected_and_the_actual_value_and_the_path() {
    let app = TestApp::new();
    for (args, field, message) in [
        (json!({"age": 7}), "age", "age: must be an integer between 13 and 120 (got 7)"),
        (json!({"age": "7"}), "age", "age: must be an integer between 13 and 120 (got \"7\")"),
        (json!({"name": " \u{a0}"}), "name", "Display name cannot be empty"),
        (json!({"bio": "x".repeat(1001)}), "bio", "Bio cannot exceed 1000 characters"),
        (json!({"title": ""}), "title", "Meeting title cannot be empty"),
        (json!({"max": 0}), "max", "Maximum participants must be at least 1"),
        (json!({"emails": ["a@b.c", "x"]}), "emails[1]", "Invalid participant email: x"),
        (
            json!({"emails": ["a@b.c", "a@b.c", "a@b.c"]}),
            "emails",
            "emails: must be an array of at most 2 items (got 3 items)",
        ),
        (
            json!({"metadata": {"größe": 1}}),
            "metadata.größe",
            "metadata.größe: must be a member whose key has 1 to 64 printable ASCII characters and does not begin with $ (got \"größe\")",
        ),
        (
            json!({"payload": {"a": [{"$integer": "AQAAAAAAIAA="}]}}),
            "payload.a[0].$integer",
            "payload.a[0].$integer: must be a member whose key has 1 to 64 printable ASCII characters and does not begin with $ \
             (got \"$integer\")",
        ),
        (
            json!({"metadata": {"n": 9_007_199_254_740_993_i64}}),
            "metadata.n",
            "metadata.n: must be a number that a double holds exactly, or a string (got 9007199254740993)",
        ),
        (
            json!({"gender": "zzz"}),
            "gender",
            "gender: must be one of male, female, non-binary, prefer-not-to-say (got \"zzz\")",
        ),
        (json!({"presence": "invited"}), "presence", "presence: must be one of joined, left (got \"invited\")"),
        (
            json!({"metadata": {"a": {}}}),
            "metadata.a",
            "metadata.a: must be a string, a number or a boolean (got an object)",
        ),
        (
            json!({"metadata": {"a": null}}),
            "metadata.a",
            "metadata.a: must be a string, a number or a boolean (got null)",
        ),
        (
            json!({"metadata": {"": 1}}),
            "metadata",
            "metadata: must be a member whose key has 1 to 64 printable ASCII characters and does not begin with $ (got \"\")",
        ),
        (json!({"payload": []}), "payload", "payload: must be an object (got an array)"),
        (json!({"url": "x"}), "url", "url: must be an absolute http or https URL (got \"x\")"),
        (json!({"limit": 0}), "limit", "limit: must be an integer between 1 and 1000 (got 0)"),
        (
            json!({"operation": {"type": "insert", "position": -1}}),
            "operation.position",
            "operation.position: must be an integer of at least 0 (got -1)",
        ),
        (
            json!({"operation": {"type": "insert"}}),
            "operation.position",
            "Missing required argument: operation.position",
        ),
        (
            json!({"constraints": {"interests": ["ai", ""], "roles": []}}),
            "constraints.interests[1]",
            "constraints.interests[1]: must be a text of 1 to 64 characters (got 0 characters)",
        ),
        (json!({"surprise": 1}), "surprise", "Unknown argument: surprise"),
    ] {
        let reply = call(&app, args.clone());
        assert_eq!((reply.field(), reply.message()), (Some(field), message), "{args}");
        assert_eq!(reply.code(), "INVALID_ARGUMENT");
    }
}

#[test]
fn id_of_another_table_is_rejected_with_the_field() {
    let app = TestApp::new();
    for id in ["user_00000000000000000000000001", "meeting_1", "", "meeting_8zzzzzzzzzzzzzzzzzzzzzzzzz"] {
        let reply = call(&app, json!({"meeting": id}));
        assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some("meeting")), "{id:?}");
    }
}

#[test]
fn valid_value_returns_in_normal_form_and_null_is_absent() {
    let app = TestApp::new();
    let reply = call(
        &app,
        json!({
            "age": 31.0, "name": " Ada ", "bio": "", "emails": [" Bob@Example.ORG "], "url": "", "at": 1e3,
            "metadata": {"latency": 80.5, "on": true}, "gender": null, "limit": 3.1e1,
        }),
    );
    assert_eq!(
        reply.value(),
        &json!({
            "age": 31, "name": "Ada", "bio": "", "emails": ["bob@example.org"], "url": "", "at": 1000,
            "metadata": {"latency": 80.5, "on": true}, "limit": 31,
        })
    );
}
