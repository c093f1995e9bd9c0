//! Access and the order of checks, for every function.

use convoke::Code;
use convoke::testing::TestApp;
use serde_json::{Value, json};

use crate::support::{admin, id_of, meeting, onboarding, with};

/// Every function of this part with well-formed arguments.
fn calls(meeting: &str, user: &str) -> Vec<(&'static str, Value)> {
    let one = json!({ "meetingId": meeting });
    vec![
        ("users/mutations/saveOnboarding", onboarding()),
        ("users/mutations/updateUserProfile", json!({"userId": user, "bio": "x"})),
        ("users/mutations/updateUserInterests", json!({"userId": user, "interests": []})),
        ("users/mutations/updateLastSeen", json!({})),
        ("users/mutations/deactivateUser", json!({"userId": user})),
        ("users/mutations/reactivateUser", json!({"userId": user})),
        ("users/queries/getCurrentUser", json!({})),
        ("users/queries/getOnboardingState", json!({})),
        ("profiles/queries/getCurrentUserProfile", json!({})),
        ("profiles/queries/getPublicProfile", json!({"userId": user})),
        ("interests/queries/listCatalog", json!({})),
        ("interests/queries/getUserInterests", json!({})),
        ("interests/mutations/upsertCatalogEntry", json!({"key": "a", "label": "A", "category": "skill"})),
        ("interests/mutations/removeCatalogEntry", json!({"key": "a"})),
        ("meetings/lifecycle/createMeeting", json!({"title": "x"})),
        ("meetings/lifecycle/startMeeting", one.clone()),
        ("meetings/lifecycle/endMeeting", one.clone()),
        ("meetings/lifecycle/cancelMeeting", one.clone()),
        ("meetings/lifecycle/joinMeeting", one.clone()),
        ("meetings/lifecycle/leaveMeeting", one.clone()),
        ("meetings/lifecycle/updateMeeting", one.clone()),
        ("meetings/lifecycle/updateParticipantRole", with(one.clone(), json!({"userId": user, "newRole": "host"}))),
        ("meetings/lifecycle/addParticipant", with(one.clone(), json!({"userId": user}))),
        ("meetings/lifecycle/removeParticipant", with(one.clone(), json!({"userId": user}))),
        ("meetings/admin/assignHost", with(one.clone(), json!({"userId": user}))),
        ("meetings/queries/listMeetingParticipants", one.clone()),
        ("meetings/queries/getMeeting", one),
        ("meetings/queries/listUserMeetings", json!({})),
        ("system/audit/listAuditEntries", json!({})),
    ]
}

/// Functions that require the rights of an admin.
const ADMIN: [&str; 6] = [
    "users/mutations/deactivateUser",
    "users/mutations/reactivateUser",
    "interests/mutations/upsertCatalogEntry",
    "interests/mutations/removeCatalogEntry",
    "meetings/admin/assignHost",
    "system/audit/listAuditEntries",
];

#[test]
fn every_function_rejects_anonymous_callers() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let (meeting, user) = (meeting(&ada, &[]), id_of(&ada));
    for (path, args) in calls(&meeting, &user) {
        let reply = app.nobody().call(path, args);
        assert_eq!((reply.code(), reply.message()), ("UNAUTHENTICATED", "Authentication required"), "{path}");
    }
}

#[test]
fn a_deactivated_user_is_refused_by_every_function() {
    let app = TestApp::new();
    let root = admin(&app, "root", "org");
    let ada = admin(&app, "ada", "org");
    let (meeting, user) = (meeting(&ada, &[]), id_of(&ada));
    root.call("users/mutations/deactivateUser", json!({"userId": user})).value();
    for (path, args) in calls(&meeting, &user) {
        let reply = ada.call(path, args);
        assert_eq!((reply.code(), reply.message()), ("FORBIDDEN", "Account is deactivated"), "{path}");
    }
}

#[test]
fn deploy_key_must_act_as_a_user_for_user_functions() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let (meeting, user) = (meeting(&ada, &[]), id_of(&ada));
    let key = app.deploy_key(&["admin"]);
    let allowed = ["users/mutations/updateUserProfile", "users/mutations/updateUserInterests"];
    for (path, args) in calls(&meeting, &user) {
        let reply = key.call(path, args);
        if ADMIN.contains(&path) || allowed.contains(&path) {
            assert!(reply.is_success() || reply.code() != "FORBIDDEN", "{path}: {:?}", reply.error());
        } else {
            assert_eq!((reply.code(), reply.message()), ("FORBIDDEN", "Deploy key must act as a user"), "{path}");
        }
    }
}

#[test]
fn a_user_without_the_role_is_no_admin() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let (meeting, user) = (meeting(&ada, &[]), id_of(&ada));
    for (path, args) in calls(&meeting, &user).into_iter().filter(|(path, _)| ADMIN.contains(path)) {
        ada.call(path, args).assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
    }
}

#[test]
fn a_stranger_learns_nothing_of_a_meeting_not_even_that_it_is_there() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let eve = app.user("eve");
    let (meeting, user) = (meeting(&ada, &[]), id_of(&ada));
    let unknown = "meeting_00000000000000000000000001";
    for (path, args) in calls(&meeting, &user) {
        if !path.starts_with("meetings/lifecycle/") && !path.starts_with("meetings/queries/get") {
            continue;
        }
        if args.get("meetingId").is_none() {
            continue;
        }
        for id in [meeting.as_str(), unknown] {
            let reply = eve.call(path, with(args.clone(), json!({"meetingId": id})));
            let told = (reply.code(), reply.message());
            assert_eq!(told, ("FORBIDDEN", "Access denied: Not a meeting participant"), "{path}");
        }
    }
}

#[test]
fn argument_format_is_checked_before_the_caller() {
    let app = TestApp::new();
    let reply = app.nobody().call("meetings/lifecycle/leaveMeeting", json!({"meetingId": "user_x"}));
    assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some("meetingId")));
    let reply = app.nobody().call("users/mutations/updateLastSeen", json!({"surprise": 1}));
    assert_eq!((reply.code(), reply.message()), ("INVALID_ARGUMENT", "Unknown argument: surprise"));
    let reply = app
        .nobody()
        .call("meetings/lifecycle/addParticipant", json!({"meetingId": "meeting_00000000000000000000000001"}));
    assert_eq!(reply.code(), "INVALID_ARGUMENT");
}

#[test]
fn an_id_of_another_table_is_refused_with_its_field() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let user = id_of(&ada);
    let reply = ada.call("meetings/queries/getMeeting", json!({"meetingId": user}));
    assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some("meetingId")));
}

#[test]
fn deploy_key_acts_only_as_an_existing_user() {
    let app = TestApp::new();
    id_of(&app.user("ada"));
    let key = app.deploy_key(&["act-as"]);
    let seen = key.acting_as("ada").call("users/queries/getCurrentUser", json!({}));
    assert_eq!(seen.value()["email"], "ada@example.com", "everything else is taken from the row");
    let reply = key.acting_as("never-came").call("users/queries/getCurrentUser", json!({}));
    reply.assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
}

#[test]
fn calls_beyond_the_rate_are_refused() {
    let app = TestApp::with(|options| {
        options.settings = "[rates]\nwrite = 3\n".parse().unwrap();
    });
    let ada = app.user("ada");
    for _ in 0..3 {
        ada.call("users/mutations/updateLastSeen", json!({})).value();
    }
    let reply = ada.call("users/mutations/updateLastSeen", json!({}));
    assert_eq!(reply.code(), "RATE_LIMITED");
    assert!(reply.data()["retryAfterMs"].as_f64().unwrap() > 0.0);
    ada.call("users/queries/getCurrentUser", json!({})).value();
}
