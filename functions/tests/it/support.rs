//! Shared parts of the tests: callers, valid arguments that are changed one at a time, and invariants.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;

use convoke::embed::RuntimeOptions;
use convoke::testing::{ISSUER, TestApp, TestCaller};
use convoke::{Caller, Identity};
use convoke_calls::transfers::Receiving;
use schema::{Interest, Meeting, MeetingState, Participant, Role, UserInterest};
use serde_json::{Value, json};

/// Returns `object` with the members of `changes`; null removes a member.
pub(crate) fn with(mut object: Value, changes: Value) -> Value {
    let members = object.as_object_mut().expect("an object is changed");
    for (name, value) in changes.as_object().expect("by the members of another") {
        match value {
            Value::Null => members.remove(name),
            value => members.insert(name.clone(), value.clone()),
        };
    }
    object
}

/// Returns true if the database is the embedded one. `docs/explanation/several-nodes.md` lists the tests that only run there.
pub(crate) fn is_embedded() -> bool {
    std::env::var_os("CONVOKE_TEST_STORE").is_none()
}

/// Number of cases of a property, or calls of a stress test: all on the embedded database, an eighth on a server, which
/// would take minutes. The tested texts and numbers do not depend on the engine.
pub(crate) fn cases(embedded: u32) -> u32 {
    if is_embedded() { embedded } else { embedded.div_ceil(8) }
}

/// The claims of a test user.
pub(crate) fn claims(subject: &str) -> Identity {
    Identity {
        issuer: ISSUER.to_owned(),
        subject: subject.to_owned(),
        email: Some(format!("{subject}@example.com")),
        email_verified: Some(true),
        issued_at: Some(1),
        ..Identity::default()
    }
}

/// A member of an organization.
pub(crate) fn member<'a>(app: &'a TestApp, subject: &str, organization: &str) -> TestCaller<'a> {
    app.identity(Identity { org_id: Some(organization.to_owned()), ..claims(subject) })
}

/// An admin of an organization.
pub(crate) fn admin<'a>(app: &'a TestApp, subject: &str, organization: &str) -> TestCaller<'a> {
    let roles = vec!["admin".to_owned()];
    app.identity(Identity { org_id: Some(organization.to_owned()), roles, ..claims(subject) })
}

/// Sends the bytes of a file to the address that a mutation of this path returns. Returns the `storageId`.
pub(crate) fn upload(app: &TestApp, caller: &TestCaller<'_>, begin: &str, args: Value, bytes: &[u8]) -> String {
    let address = caller.call(begin, args).value()["url"].as_str().expect("an address").to_owned();
    let token = address.rsplit('/').next().expect("it ends in a token").to_owned();
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    app.block_on(async move {
        let mut receiving = Receiving::begin(app.runtime(), &token, None, None).await.expect("a new address");
        receiving.write(bytes).await.expect("bytes within the limit");
        receiving.finish().await.expect("an accepted content").to_string()
    })
}

/// The runtime itself, as the caller of jobs.
pub(crate) fn system(app: &TestApp) -> TestCaller<'_> {
    app.caller(Caller::System)
}

/// Returns the caller's id by a first call.
pub(crate) fn id_of(caller: &TestCaller<'_>) -> String {
    caller.call("users/queries/getCurrentUser", json!({})).value()["_id"].as_str().unwrap().to_owned()
}

/// Arguments of `saveOnboarding`.
pub(crate) fn onboarding() -> Value {
    json!({
        "age": 36, "gender": "female", "field": "Computing", "jobTitle": "Engineer", "company": "Analytical Engines",
        "bio": "Notes on the engine.",
        "interests": [
            {"id": "machine-learning", "name": "Machine Learning", "category": "industry"},
            {"id": "chess", "name": "Chess", "category": "personal", "iconName": "knight"},
        ],
    })
}

/// Returns the id of a new active meeting of `host` with these others.
pub(crate) fn meeting(host: &TestCaller<'_>, others: &[&str]) -> String {
    create(host, json!({"participantEmails": emails(others)}))
}

/// Returns the id of a new meeting of `host` in an hour, with these others.
pub(crate) fn scheduled(app: &TestApp, host: &TestCaller<'_>, others: &[&str]) -> String {
    create(host, json!({"participantEmails": emails(others), "scheduledAt": app.now().get() + 3_600_000}))
}

/// Returns the id of a new meeting of `host` with these arguments.
pub(crate) fn create(host: &TestCaller<'_>, changes: Value) -> String {
    let reply = host.call("meetings/lifecycle/createMeeting", with(json!({"title": "Planning"}), changes));
    reply.value()["meetingId"].as_str().unwrap().to_owned()
}

/// The addresses of test users.
pub(crate) fn emails(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("{name}@example.com")).collect()
}

/// Returns the entry of one user in `listMeetingParticipants`, by the part of the address before `@`.
pub(crate) fn listed(caller: &TestCaller<'_>, meeting: &str, name: &str) -> Option<Value> {
    let reply = caller.call("meetings/queries/listMeetingParticipants", json!({"meetingId": meeting}));
    let list = reply.value().as_array().unwrap();
    list.iter().find(|entry| entry["user"]["displayName"] == name).cloned()
}

/// Configures a LiveKit server at `url`, with the key `key1` and the previous key `key0`.
pub(crate) fn media_server(options: &mut RuntimeOptions, url: &str) {
    let table = format!("[livekit]\nurl = {url:?}\napi_key = \"key1\"\nprevious_api_key = \"key0\"\n");
    options.settings = table.parse().unwrap();
}

/// Writes a secret of the installation to its file.
pub(crate) fn secret(options: &RuntimeOptions, name: &str, text: &str) {
    let folder = options.data.join("secrets");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Invariants of any database.
pub(crate) fn assert_consistent(app: &TestApp) {
    let (uses, interests) = app.read(|db| {
        let mut uses: HashMap<String, i64> = HashMap::new();
        for row in db.scan::<UserInterest>().take(100_000)? {
            *uses.entry(row.key.as_str().to_owned()).or_default() += 1;
        }
        Ok((uses, db.scan::<Interest>().take(100_000)?))
    });
    for interest in interests {
        let key = interest.key.as_str();
        assert_eq!(interest.usage_count, uses.get(key).copied().unwrap_or(0), "uses of {key}");
    }
    let (meetings, participants) =
        app.read(|db| Ok((db.scan::<Meeting>().take(100_000)?, db.scan::<Participant>().take(100_000)?)));
    for meeting in meetings {
        let people: Vec<_> = participants.iter().filter(|row| row.meeting_id == meeting.id()).collect();
        assert!(people.iter().any(|row| row.role == Role::Host), "{meeting:?} has no host");
        assert_eq!(
            meeting.started_at.is_some(),
            matches!(meeting.state, MeetingState::Active | MeetingState::Concluded)
        );
        if meeting.state != MeetingState::Active {
            assert_eq!(meeting.empty_since, None, "only an active meeting is empty");
        }
        if meeting.state.is_final() {
            assert!(people.iter().all(|row| row.presence != schema::Presence::Joined), "somebody is in {meeting:?}");
        }
    }
}
