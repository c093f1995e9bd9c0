//! `meetings/lifecycle/updateParticipantRole`, `meetings/admin/assignHost`.

use convoke::Code;
use convoke::testing::TestApp;
use schema::{AuditEntry, Participant, Role};
use serde_json::{Value, json};

use crate::support::{admin, assert_consistent, id_of, listed, meeting, member};

const ROLE: &str = "meetings/lifecycle/updateParticipantRole";
const ASSIGN: &str = "meetings/admin/assignHost";

#[test]
fn a_host_makes_hosts_and_participants() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let bob_id = id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    let set = |role: &str| ada.call(ROLE, json!({"meetingId": id, "userId": bob_id, "newRole": role}));
    assert_eq!(set("host").value(), &Value::Null);
    assert_eq!(listed(&bob, &id, "bob").unwrap()["role"], "host");
    set("host").value();
    set("participant").value();
    assert_eq!(listed(&bob, &id, "bob").unwrap()["role"], "participant");
    let changes = app.read(|db| Ok(db.query(AuditEntry::by_resource).eq("meeting").eq(id.as_str()).take(10)?));
    let changes: Vec<Value> = changes
        .iter()
        .filter(|row| row.action == "participant.role")
        .map(|row| serde_json::to_value(&row.metadata).unwrap())
        .collect();
    assert_eq!(
        changes,
        [
            json!({"userId": bob_id, "from": "participant", "to": "host"}),
            json!({"userId": bob_id, "from": "host", "to": "participant"}),
        ],
        "the same role again is no change"
    );
}

#[test]
fn only_hosts_change_roles_and_it_holds_at_once() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    let reply = bob.call(ROLE, json!({"meetingId": id, "userId": "bob", "newRole": "host"}));
    reply.assert_refused(Code::Forbidden, "Requires host role");
    assert_eq!((&reply.data()["requiredRole"], &reply.data()["currentRole"]), (&json!("host"), &json!("participant")));
    ada.call(ROLE, json!({"meetingId": id, "userId": "bob", "newRole": "host"})).value();
    bob.call(ROLE, json!({"meetingId": id, "userId": "ada", "newRole": "participant"})).value();
    assert_eq!(ada.call(ROLE, json!({"meetingId": id, "userId": "ada", "newRole": "host"})).code(), "FORBIDDEN");
}

#[test]
fn the_only_host_is_not_demoted() {
    let app = TestApp::new();
    let ada = app.user("ada");
    id_of(&app.user("bob"));
    let id = meeting(&ada, &["bob"]);
    let demote = json!({"meetingId": id, "userId": "ada", "newRole": "participant"});
    ada.call(ROLE, demote.clone()).assert_refused(Code::FailedPrecondition, "Cannot demote the only host");
    ada.call(ROLE, json!({"meetingId": id, "userId": "bob", "newRole": "host"})).value();
    ada.call(ROLE, demote).value();
    assert_consistent(&app);
}

#[test]
fn role_change_of_a_user_outside_the_meeting_is_rejected() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let eve = id_of(&app.user("eve"));
    let id = meeting(&ada, &[]);
    for who in [eve.as_str(), "eve", "nobody", "user_00000000000000000000000001"] {
        let reply = ada.call(ROLE, json!({"meetingId": id, "userId": who, "newRole": "host"}));
        reply.assert_refused(Code::NotFound, "Participant not found in meeting");
    }
    let reply = ada.call(ROLE, json!({"meetingId": id, "userId": "ada", "newRole": "owner"}));
    assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some("newRole")));
}

#[test]
fn one_of_two_hosts_that_demote_each_other_succeeds() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    ada.call(ROLE, json!({"meetingId": id, "userId": "bob", "newRole": "host"})).value();
    for round in 0..300 {
        let (one, other) = app.block_on(async {
            let demote = |who: &str| json!({"meetingId": id, "userId": who, "newRole": "participant"});
            tokio::join!(ada.call_async(ROLE, demote("bob")), bob.call_async(ROLE, demote("ada")))
        });
        let (winner, loser, lost) = if one.is_success() { (&ada, "bob", other) } else { (&bob, "ada", one) };
        // The second call comes from a user who is no longer a host.
        lost.assert_refused(Code::Forbidden, "Requires host role");
        let hosts =
            app.read(|db| Ok(db.scan::<Participant>().take(10)?)).iter().filter(|row| row.role == Role::Host).count();
        assert_eq!(hosts, 1, "round {round}");
        winner.call(ROLE, json!({"meetingId": id, "userId": loser, "newRole": "host"})).value();
    }
}

#[test]
fn one_of_two_hosts_that_step_down_concurrently_succeeds() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    ada.call(ROLE, json!({"meetingId": id, "userId": "bob", "newRole": "host"})).value();
    for round in 0..300 {
        let (one, other) = app.block_on(async {
            let down = |who: &str| json!({"meetingId": id, "userId": who, "newRole": "participant"});
            tokio::join!(ada.call_async(ROLE, down("ada")), bob.call_async(ROLE, down("bob")))
        });
        assert_eq!(usize::from(one.is_success()) + usize::from(other.is_success()), 1, "round {round}");
        let (stays, down, refused) = if one.is_success() { (&bob, "ada", other) } else { (&ada, "bob", one) };
        refused.assert_refused(Code::FailedPrecondition, "Cannot demote the only host");
        stays.call(ROLE, json!({"meetingId": id, "userId": down, "newRole": "host"})).value();
    }
    assert_consistent(&app);
}

#[test]
fn an_admin_gives_a_meeting_without_reachable_host_another_one() {
    let app = TestApp::new();
    let root = admin(&app, "root", "north");
    let (ada, bob) = (member(&app, "ada", "north"), member(&app, "bob", "north"));
    let stranger = app.user("eve");
    id_of(&bob);
    id_of(&stranger);
    let id = meeting(&ada, &["bob", "eve"]);
    root.call("users/mutations/deactivateUser", json!({"userId": "ada"})).value();

    root.call(ASSIGN, json!({"meetingId": id, "userId": "bob"})).value();

    assert_eq!(listed(&bob, &id, "bob").unwrap()["role"], "host");
    root.call(ASSIGN, json!({"meetingId": id, "userId": "root"}))
        .assert_refused(Code::NotFound, "Participant not found in meeting");
    root.call(ASSIGN, json!({"meetingId": id, "userId": "eve"}))
        .assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
    let unknown = "meeting_00000000000000000000000001";
    for (caller, id) in [(&root, unknown), (&admin(&app, "other", "south"), id.as_str())] {
        caller
            .call(ASSIGN, json!({"meetingId": id, "userId": "bob"}))
            .assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
    }
    let key = app.deploy_key(&["admin"]);
    let eve = id_of(&stranger);
    key.call(ASSIGN, json!({"meetingId": id, "userId": eve})).value();
    key.call(ASSIGN, json!({"meetingId": unknown, "userId": eve})).assert_refused(Code::NotFound, "Meeting not found");
}
