//! `addParticipant`, `removeParticipant`.

use convoke::Code;
use convoke::testing::{Reply, TestApp, TestCaller};
use schema::{AuditEntry, Invitation, MediaSession, OfflineOperation, OfflineStatus, Participant, SessionState};
use serde_json::{Value, json};

use crate::rights::Call;
use crate::support::{assert_consistent, id_of, listed, meeting, scheduled, system, with};

inventory::submit!(Call::new("meetings/lifecycle/addParticipant", |ids| {
    json!({"meetingId": ids.meeting, "userId": ids.stranger})
}));
inventory::submit!(Call::new("meetings/lifecycle/addParticipant", |ids| {
    json!({"meetingId": ids.meeting, "email": "somebody@example.com"})
}));

fn add(caller: &TestCaller<'_>, id: &str, who: Value) -> Reply {
    caller.call("meetings/lifecycle/addParticipant", with(json!({"meetingId": id}), who))
}

fn remove(caller: &TestCaller<'_>, id: &str, who: Value) -> Reply {
    caller.call("meetings/lifecycle/removeParticipant", with(json!({"meetingId": id}), who))
}

#[test]
fn a_host_adds_users_and_invites_addresses() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    let bob_id = id_of(&bob);
    id_of(&cleo);
    let id = meeting(&ada, &[]);
    let added = add(&ada, &id, json!({"userId": bob_id, "role": "host"}));
    let entry = listed(&bob, &id, "bob").unwrap();
    assert_eq!(added.value(), &json!({"participantId": entry["_id"], "invited": false}));
    assert_eq!((&entry["role"], &entry["presence"]), (&json!("host"), &json!("invited")));
    let added = add(&bob, &id, json!({"email": "Cleo@example.com"}));
    assert_eq!(added.value()["participantId"], listed(&cleo, &id, "cleo").unwrap()["_id"]);
    let invited = add(&bob, &id, json!({"email": "dora@example.com"}));
    assert_eq!(invited.value(), &json!({"invited": true}));
    add(&bob, &id, json!({"email": "dora@example.com"})).value();
    assert_eq!((app.count::<Invitation>(), app.count::<Participant>()), (1, 3));
    for who in [json!({"userId": "bob"}), json!({"email": "bob@example.com"})] {
        add(&ada, &id, who).assert_refused(Code::Conflict, "User is already a participant in this meeting");
    }
}

#[test]
fn invalid_participant_is_rejected() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    add(&ada, &id, json!({"userId": "nobody"})).assert_refused(Code::NotFound, "User not found");
    add(&ada, &id, json!({"userId": "user_00000000000000000000000001"}))
        .assert_refused(Code::NotFound, "User not found");
    add(&bob, &id, json!({"userId": "nobody"})).assert_refused(Code::Forbidden, "Requires host role");
    for who in [
        json!({}),
        json!({"userId": "x", "email": "x@example.com"}),
        json!({"email": "x"}),
        json!({"email": "x@example.com", "role": "host"}),
    ] {
        assert_eq!(add(&ada, &id, who).code(), "INVALID_ARGUMENT");
    }
    assert_eq!(app.count::<Invitation>(), 0);
    let off = scheduled(&app, &ada, &[]);
    ada.call("meetings/lifecycle/cancelMeeting", json!({"meetingId": off})).value();
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": id})).value();
    for id in [&id, &off] {
        add(&ada, id, json!({"email": "x@example.com"}))
            .assert_refused(Code::FailedPrecondition, "Meeting is already concluded or cancelled");
    }
}

#[test]
fn a_meeting_holds_as_many_people_and_invitations_as_its_quota() {
    let app = TestApp::with(|options| options.settings = "[quotas]\npeople_per_meeting = 3\n".parse().unwrap());
    let ada = app.user("ada");
    id_of(&app.user("bob"));
    let id = meeting(&ada, &["bob", "cleo"]);
    assert_eq!(add(&ada, &id, json!({"email": "dora@example.com"})).code(), "FAILED_PRECONDITION");
    assert_eq!(add(&ada, &id, json!({"userId": id_of(&app.user("emil"))})).code(), "FAILED_PRECONDITION");
    add(&ada, &id, json!({"email": "cleo@example.com"})).value();
    id_of(&app.user("cleo"));
    assert_eq!((app.count::<Invitation>(), app.count::<Participant>()), (0, 3));
}

#[test]
fn every_added_participant_has_one_audit_entry() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    id_of(&bob);
    let id = meeting(&ada, &["bob", "cleo"]);
    let added = || {
        let entries = app.read(|db| Ok(db.query(AuditEntry::by_resource).eq("meeting").eq(id.as_str()).take(9)?));
        let added = entries.into_iter().filter(|entry| entry.action == "participant.added");
        let shown = |entry: convoke::Doc<AuditEntry>| {
            let entry = serde_json::to_value(&*entry).unwrap();
            (entry["actor"].clone(), entry["metadata"].clone())
        };
        added.map(shown).collect::<Vec<_>>()
    };
    let entry = |by: &TestCaller<'_>, who: &str| {
        let seat = listed(&ada, &id, who).unwrap()["_id"].clone();
        (json!(id_of(by)), json!({"participantId": seat, "role": "participant"}))
    };
    assert_eq!(added(), [entry(&ada, "bob")]);
    // The first call accepts the invitation.
    id_of(&cleo);
    assert_eq!(added(), [entry(&ada, "bob"), entry(&cleo, "cleo")]);
    id_of(&cleo);
    assert_eq!(added().len(), 2);
}

#[test]
fn removed_participant_loses_access_and_open_items_immediately() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let bob_id = id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    bob.call("meetings/lifecycle/joinMeeting", json!({"meetingId": id})).value();
    let session = json!({"meetingId": id, "userId": bob_id, "sessionId": "s", "state": "connected"});
    system(&app).call("probes/putSession", session).value();
    for (operation, status) in [("o1", "pending"), ("o2", "synced")] {
        let args = json!({"meetingId": id, "userId": bob_id, "operationId": operation, "status": status});
        system(&app).call("probes/putOfflineOperation", args).value();
    }

    assert_eq!(remove(&ada, &id, json!({"userId": "bob"})).value(), &Value::Null);

    bob.call("meetings/queries/getMeeting", json!({"meetingId": id}))
        .assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
    let sessions = app.read(|db| Ok(db.scan::<MediaSession>().take(9)?));
    assert_eq!(sessions[0].state, SessionState::Closed);
    let operations = app.read(|db| Ok(db.scan::<OfflineOperation>().take(9)?));
    assert_eq!((operations[0].status, operations[0].error.as_deref()), (OfflineStatus::Failed, Some("Access denied")));
    assert_eq!(operations[1].status, OfflineStatus::Synced);
    remove(&ada, &id, json!({"userId": "bob"})).assert_refused(Code::NotFound, "Participant not found in meeting");
    let actions: Vec<String> =
        app.read(|db| Ok(db.scan::<AuditEntry>().take(9)?)).iter().map(|row| row.action.clone()).collect();
    assert_eq!(actions, ["meeting.created", "participant.added", "participant.removed"]);
    add(&ada, &id, json!({"userId": "bob"})).value();
    assert_consistent(&app);
}

#[test]
fn an_invitation_is_taken_back_by_its_address() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob", "cleo"]);
    remove(&ada, &id, json!({"email": "CLEO@example.com"})).value();
    assert_eq!(app.count::<Invitation>(), 0);
    remove(&ada, &id, json!({"email": "bob@example.com"})).value();
    assert_eq!(app.count::<Participant>(), 1);
    remove(&ada, &id, json!({"email": "bob@example.com"}))
        .assert_refused(Code::NotFound, "Participant not found in meeting");
    assert_eq!(remove(&ada, &id, json!({})).code(), "INVALID_ARGUMENT");
}

#[test]
fn the_only_host_is_not_removed_not_even_by_two_at_once() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &[]);
    remove(&ada, &id, json!({"userId": "ada"})).assert_refused(Code::FailedPrecondition, "Cannot remove the only host");
    for _ in 0..100 {
        let (host, other) = if add(&ada, &id, json!({"userId": "bob", "role": "host"})).is_success() {
            ((&ada, "ada"), (&bob, "bob"))
        } else {
            add(&bob, &id, json!({"userId": "ada", "role": "host"})).value();
            ((&bob, "bob"), (&ada, "ada"))
        };
        let (one, two) = app.block_on(async {
            let path = "meetings/lifecycle/removeParticipant";
            tokio::join!(
                host.0.call_async(path, json!({"meetingId": id, "userId": host.1})),
                other.0.call_async(path, json!({"meetingId": id, "userId": other.1}))
            )
        });
        assert!(one.is_success() != two.is_success(), "each removes himself; one has to stay");
        assert_eq!(app.count::<Participant>(), 1);
        assert_consistent(&app);
    }
}
