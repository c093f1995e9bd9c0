//! `users/mutations/updateUserProfile`, `profiles/queries/*`, `users/mutations/updateLastSeen`.

use convoke::Code;
use convoke::testing::TestApp;
use schema::{AuditEntry, Profile, User};
use serde_json::{Value, json};

use crate::support::{admin, claims, id_of, meeting, member, onboarding};

const UPDATE: &str = "users/mutations/updateUserProfile";
const OWN: &str = "profiles/queries/getCurrentUserProfile";
const PUBLIC: &str = "profiles/queries/getPublicProfile";

#[test]
fn a_profile_is_made_and_then_changed_field_by_field() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = id_of(&ada);
    assert_eq!(ada.call(OWN, json!({})).value(), &Value::Null);

    let made = ada.call(
        UPDATE,
        json!({"userId": id, "displayName": " Ada ", "bio": "B", "languages": ["English", "german", "ENGLISH"]}),
    );
    let changed = ada.call(UPDATE, json!({"userId": "ada", "goals": "G", "experience": "5 years"}));

    assert_eq!(made.value(), changed.value(), "one profile, by id and by subject");
    let profile = ada.call(OWN, json!({}));
    let profile = profile.value();
    assert_eq!(profile["_id"], *made.value());
    assert_eq!(
        (&profile["displayName"], &profile["bio"], &profile["goals"]),
        (&json!("Ada"), &json!("B"), &json!("G"))
    );
    assert_eq!(profile["languages"], json!(["English", "german"]));
    ada.call(UPDATE, json!({"userId": id, "bio": "", "displayName": null})).value();
    let profile = ada.call(OWN, json!({}));
    assert_eq!(profile.value().get("bio"), None, "an empty bio clears it");
    assert_eq!(profile.value()["displayName"], "Ada");
    assert_eq!(app.count::<Profile>(), 1);
    assert_eq!(app.count::<AuditEntry>(), 0, "one's own profile is one's own affair");
}

#[test]
fn a_profile_refuses_an_empty_name_and_a_long_bio_and_applies_nothing() {
    let app = TestApp::new();
    let ada = app.user("ada");
    ada.call(UPDATE, json!({"userId": "ada", "displayName": "Ada", "goals": "old"})).value();
    for name in ["", "  ", "\u{a0}\u{3000}"] {
        let reply = ada.call(UPDATE, json!({"userId": "ada", "displayName": name, "goals": "new"}));
        reply.assert_refused(Code::InvalidArgument, "Display name cannot be empty");
        assert_eq!(reply.field(), Some("displayName"));
    }
    let reply = ada.call(UPDATE, json!({"userId": "ada", "bio": "x".repeat(1001), "goals": "new"}));
    reply.assert_refused(Code::InvalidArgument, "Bio cannot exceed 1000 characters");
    ada.call(UPDATE, json!({"userId": "ada", "bio": "😀".repeat(1000)})).value();
    for (change, field) in [
        (json!({"displayName": "x".repeat(101)}), "displayName"),
        (json!({"goals": "x".repeat(2001)}), "goals"),
        (json!({"experience": "x".repeat(1001)}), "experience"),
        (json!({"languages": vec!["x"; 21]}), "languages"),
        (json!({"languages": ["English", " "]}), "languages[1]"),
        (json!({"languages": ["x".repeat(51)]}), "languages[0]"),
        (json!({"userId": ""}), "userId"),
        (json!({"age": 3}), "age"),
    ] {
        let reply = ada.call(UPDATE, crate::support::with(json!({"userId": "ada"}), change));
        assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some(field)));
    }
    assert_eq!(ada.call(OWN, json!({})).value()["goals"], "old");
}

#[test]
fn a_new_profile_takes_its_name_from_the_claims_or_asks_for_one() {
    let app = TestApp::new();
    let bea = app.user("bea");
    bea.call(UPDATE, json!({"userId": "bea", "bio": "x"})).value();
    assert_eq!(bea.call(OWN, json!({})).value()["displayName"], "bea");
    let nameless = app.identity(convoke::Identity { email: None, ..claims("n") });
    let reply = nameless.call(UPDATE, json!({"userId": "n", "bio": "x"}));
    reply.assert_refused(Code::InvalidArgument, "Display name is required for new profiles");
    assert_eq!(reply.field(), Some("displayName"));
    nameless.call(UPDATE, json!({"userId": "n", "displayName": "N"})).value();
}

#[test]
fn only_owner_organization_admin_and_deploy_key_change_a_profile() {
    let app = TestApp::new();
    let ada = member(&app, "ada", "north");
    let id = id_of(&ada);
    let colleague = member(&app, "col", "north");
    let own_admin = admin(&app, "root", "north");
    let other_admin = admin(&app, "other", "south");
    let stranger = app.user("eve");
    for caller in [&colleague, &other_admin, &stranger] {
        for who in [id.as_str(), "ada"] {
            let reply = caller.call(UPDATE, json!({"userId": who, "bio": "x"}));
            reply.assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
        }
    }
    // An unknown user is the same for callers without rights, and reported to those with rights.
    stranger
        .call(UPDATE, json!({"userId": "nobody", "bio": "x"}))
        .assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
    own_admin.call(UPDATE, json!({"userId": "nobody", "bio": "x"})).assert_refused(Code::NotFound, "User not found");
    let key = app.deploy_key(&["admin"]);
    key.call(UPDATE, json!({"userId": "user_00000000000000000000000001", "bio": "x"}))
        .assert_refused(Code::NotFound, "User not found");

    own_admin.call(UPDATE, json!({"userId": id, "bio": "by the admin"})).value();
    key.call(UPDATE, json!({"userId": id, "goals": "by the key"})).value();

    let profile = ada.call(OWN, json!({}));
    assert_eq!((&profile.value()["bio"], &profile.value()["goals"]), (&json!("by the admin"), &json!("by the key")));
    let entries = app.read(|db| Ok(db.scan::<AuditEntry>().take(10)?));
    let told: Vec<_> =
        entries.iter().map(|entry| (entry.actor.as_str(), entry.action.as_str(), entry.org_id.as_deref())).collect();
    let root = id_of(&own_admin);
    assert_eq!(
        told,
        [(root.as_str(), "profile.updated", Some("north")), ("deploy-key:test", "profile.updated", Some("north")),]
    );
}

#[test]
fn two_admins_without_an_organization_have_no_rights_over_each_other() {
    let app = TestApp::new();
    let roles = vec!["admin".to_owned()];
    let one = app.identity(convoke::Identity { roles: roles.clone(), ..claims("one") });
    let other = app.identity(convoke::Identity { roles, ..claims("other") });
    id_of(&other);
    let reply = one.call(UPDATE, json!({"userId": "other", "bio": "x"}));
    reply.assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
}

#[test]
fn a_subject_that_looks_like_an_id_names_its_user() {
    let app = TestApp::new();
    let odd = app.identity(claims("user_2b9cNotAnIdOfOurs"));
    odd.call(UPDATE, json!({"userId": "user_2b9cNotAnIdOfOurs", "displayName": "Odd"})).value();
    let twin = app.identity(claims("user_00000000000000000000000001"));
    twin.call(UPDATE, json!({"userId": "user_00000000000000000000000001", "displayName": "Twin"})).value();
    assert_eq!(app.count::<Profile>(), 2);
}

#[test]
fn subject_of_another_issuer_identifies_no_user() {
    let app = TestApp::new();
    let ada = app.user("ada");
    id_of(&ada);
    let other = app.identity(convoke::Identity { issuer: "https://other.test".to_owned(), ..claims("eve") });
    other
        .call(UPDATE, json!({"userId": "ada", "bio": "x"}))
        .assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
}

#[test]
fn a_public_profile_is_for_oneself_colleagues_and_people_one_has_met() {
    let app = TestApp::new();
    let ada = member(&app, "ada", "north");
    ada.call("users/mutations/saveOnboarding", onboarding()).value();
    let id = id_of(&ada);
    let colleague = member(&app, "col", "north");
    let bob = app.user("bob");
    id_of(&bob);
    let eve = app.user("eve");

    assert_eq!(ada.call(PUBLIC, json!({"userId": id})).value()["displayName"], "ada");
    let seen = colleague.call(PUBLIC, json!({"userId": id}));
    let seen = seen.value();
    assert_eq!(seen["interests"], json!(["machine-learning", "chess"]));
    assert_eq!((&seen["avatarUrl"], &seen["jobTitle"]), (&json!(""), &json!("Engineer")));
    for hidden in ["email", "age", "gender"] {
        assert_eq!(seen.get(hidden), None, "{hidden} is nobody else's affair");
    }
    let refused = |caller: &convoke::testing::TestCaller<'_>, who: &str| {
        caller
            .call(PUBLIC, json!({"userId": who}))
            .assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
    };
    refused(&eve, &id);
    refused(&eve, "user_00000000000000000000000001");

    let meeting = meeting(&ada, &["bob"]);
    refused(&bob, &id);
    bob.call("meetings/lifecycle/joinMeeting", json!({"meetingId": meeting})).value();
    refused(&bob, &id);
    ada.call("meetings/lifecycle/joinMeeting", json!({"meetingId": meeting})).value();
    ada.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": meeting})).value();
    bob.call(PUBLIC, json!({"userId": id})).value();
}

#[test]
fn last_seen_is_now_and_never_goes_back() {
    let app = TestApp::new();
    let ada = app.user("ada");
    assert_eq!(ada.call("users/mutations/updateLastSeen", json!({})).value(), &Value::Null);
    let seen = || ada.call("users/queries/getCurrentUser", json!({})).value()["lastSeenAt"].as_i64();
    let start = app.now().get();
    assert_eq!(seen(), Some(start));
    app.advance(std::time::Duration::from_secs(90));
    ada.call("users/mutations/updateLastSeen", json!({})).value();
    assert_eq!(seen(), Some(start + 90_000));
    app.clock().set(convoke::Millis(start));
    ada.call("users/mutations/updateLastSeen", json!({})).value();
    assert_eq!(seen(), Some(start + 90_000));
    app.nobody()
        .call("users/mutations/updateLastSeen", json!({}))
        .assert_refused(Code::Unauthenticated, "Authentication required");
    assert_eq!(app.count::<User>(), 1);
}
