//! The identity hook: users from claims, and accepted invitations.

use convoke::testing::{TestApp, TestCaller};
use convoke::{Code, Identity};
use schema::{AuditEntry, Invitation, Participant, User};
use serde_json::{Value, json};

use crate::support::{claims, create, emails, id_of, listed, meeting, scheduled, system};

fn me(caller: &TestCaller<'_>) -> Value {
    caller.call("users/queries/getCurrentUser", json!({})).value().clone()
}

#[test]
fn first_call_creates_the_user_even_if_it_fails() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let reply = ada.call("meetings/queries/getMeeting", json!({"meetingId": "meeting_00000000000000000000000001"}));
    assert_eq!(reply.code(), "FORBIDDEN");
    assert_eq!(app.count::<User>(), 1);
    let bob = app.user("bob");
    assert_eq!(bob.call("users/mutations/updateLastSeen", json!({"surprise": 1})).code(), "INVALID_ARGUMENT");
    assert_eq!(app.count::<User>(), 2);
}

#[test]
fn concurrent_first_calls_make_one_user() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let ids = app.block_on(async {
        let calls = (0..20).map(|_| ada.call_async("users/queries/getCurrentUser", json!({})));
        futures_util::future::join_all(calls).await
    });
    assert!(ids.iter().all(|reply| reply.value()["_id"] == ids[0].value()["_id"]));
    assert_eq!(app.count::<User>(), 1);
}

#[test]
fn user_is_created_from_the_claims() {
    let app = TestApp::new();
    let first = Identity {
        name: Some("Ada".to_owned()),
        picture: Some("https://pictures.example/ada.png".to_owned()),
        email: Some(" Ada@Example.COM ".to_owned()),
        org_id: Some("north".to_owned()),
        roles: vec!["admin".to_owned()],
        issued_at: Some(10),
        ..claims("ada")
    };
    let seen = me(&app.identity(first.clone()));
    assert_eq!((&seen["displayName"], &seen["email"]), (&json!("Ada"), &json!("ada@example.com")));
    assert_eq!((&seen["orgId"], &seen["roles"]), (&json!("north"), &json!(["admin"])));
    assert_eq!(seen["avatarUrl"], "https://pictures.example/ada.png");
    assert_eq!((&seen["emailVerified"], &seen["isActive"]), (&json!(true), &json!(true)));
    assert_eq!((&seen["onboardingComplete"], seen.get("lastSeenAt")), (&json!(false), None));

    // Newer claims change it; missing ones stay, except rights.
    let bare = Identity { issued_at: Some(20), email: None, email_verified: None, ..claims("ada") };
    let seen = me(&app.identity(bare));
    assert_eq!(
        (&seen["displayName"], &seen["email"], &seen["emailVerified"]),
        (&json!("Ada"), &json!("ada@example.com"), &json!(true))
    );
    assert_eq!((seen.get("orgId"), &seen["roles"]), (None, &json!([])));

    // An older token changes nothing, and rights are the row's.
    let seen = me(&app.identity(first));
    assert_eq!((seen.get("orgId"), &seen["roles"]), (None, &json!([])));
}

#[test]
fn an_address_stays_verified_without_the_claim_and_not_against_it() {
    let app = TestApp::new();
    let verified = |claimed, at| {
        let identity = Identity { email_verified: claimed, issued_at: Some(at), ..claims("ada") };
        me(&app.identity(identity))["emailVerified"].clone()
    };
    assert_eq!(verified(Some(true), 10), json!(true));
    assert_eq!(verified(None, 20), json!(true));
    assert_eq!(verified(Some(false), 30), json!(false), "it says otherwise, which is not the same as saying nothing");
    assert_eq!(verified(None, 40), json!(false));
}

#[test]
fn rights_are_those_of_the_newest_token() {
    let app = TestApp::new();
    let org = || Some("north".to_owned());
    let admin = |at| Identity { org_id: org(), roles: vec!["admin".to_owned()], issued_at: Some(at), ..claims("root") };
    id_of(&app.identity(Identity { org_id: org(), ..claims("ada") }));
    let deactivate = |caller: &TestCaller<'_>| caller.call("users/mutations/reactivateUser", json!({"userId": "ada"}));
    deactivate(&app.identity(admin(10))).value();
    id_of(&app.identity(Identity { org_id: org(), issued_at: Some(20), ..claims("root") }));
    assert_eq!(deactivate(&app.identity(admin(10))).code(), "FORBIDDEN", "the old token still says admin");
    deactivate(&app.identity(admin(30))).value();
}

#[test]
fn an_invitation_becomes_a_place_with_the_first_verified_login() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let (now, later) = (meeting(&ada, &["bob"]), scheduled(&app, &ada, &["bob"]));
    assert_eq!((app.count::<Invitation>(), app.count::<Participant>()), (2, 2));

    let bob = app.user("bob");
    for id in [&now, &later] {
        let entry = listed(&bob, id, "bob").unwrap();
        assert_eq!((&entry["role"], &entry["presence"]), (&json!("participant"), &json!("invited")));
        assert_eq!(entry["joinedAt"], entry["createdAt"]);
    }
    assert_eq!(app.count::<Invitation>(), 0);
}

#[test]
fn an_invitation_waits_until_the_address_is_verified() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &["bob"]);
    let unverified = app.identity(Identity { email_verified: Some(false), issued_at: Some(1), ..claims("bob") });
    id_of(&unverified);
    assert_eq!(unverified.call("meetings/queries/getMeeting", json!({"meetingId": id})).code(), "FORBIDDEN");
    assert_eq!(app.count::<Invitation>(), 1);

    let verified = app.identity(Identity { issued_at: Some(2), ..claims("bob") });
    verified.call("meetings/queries/getMeeting", json!({"meetingId": id})).value();
    assert_eq!(app.count::<Invitation>(), 0);
}

#[test]
fn an_invitation_to_a_new_address_is_taken_up_when_the_address_comes() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &["robert"]);
    let bob = app.user("bob");
    assert_eq!(bob.call("meetings/queries/getMeeting", json!({"meetingId": id})).code(), "FORBIDDEN");
    let email = Some("Robert@example.com".to_owned());
    let renamed = app.identity(Identity { email, issued_at: Some(i64::from(i32::MAX)), ..claims("bob") });
    renamed.call("meetings/queries/getMeeting", json!({"meetingId": id})).value();
}

#[test]
fn all_active_users_with_a_verified_address_take_part_at_once() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let work = app.identity(Identity { email: Some("bob@example.com".to_owned()), ..claims("bob-at-work") });
    let home = app.identity(Identity { issuer: "https://other.test".to_owned(), ..claims("bob") });
    let fake = app.identity(Identity {
        email: Some("bob@example.com".to_owned()),
        email_verified: Some(false),
        ..claims("mallory")
    });
    for caller in [&work, &home, &fake] {
        id_of(caller);
    }
    let id = create(&ada, json!({"participantEmails": ["BOB@example.com ", "bob@example.com", "ada@example.com"]}));
    let get = |caller: &TestCaller<'_>| caller.call("meetings/queries/getMeeting", json!({"meetingId": id}));
    get(&work).value();
    get(&home).value();
    assert_eq!(get(&fake).code(), "FORBIDDEN");
    assert_eq!(
        (app.count::<Participant>(), app.count::<Invitation>()),
        (3, 0),
        "her own address and duplicates are dropped"
    );
}

#[test]
fn the_end_of_a_meeting_takes_its_invitations() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let (now, later) = (meeting(&ada, &["bob"]), scheduled(&app, &ada, &["cleo"]));
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": now})).value();
    ada.call("meetings/lifecycle/cancelMeeting", json!({"meetingId": later})).value();
    assert_eq!(app.count::<Invitation>(), 0);
    for name in ["bob", "cleo"] {
        assert_eq!(app.user(name).call("meetings/queries/getMeeting", json!({"meetingId": now})).code(), "FORBIDDEN");
    }
}

#[test]
fn user_has_at_most_twenty_open_invitations_to_one_address() {
    let app = TestApp::new();
    let (ada, eve) = (app.user("ada"), app.user("eve"));
    let invite = |host: &TestCaller<'_>| {
        host.call("meetings/lifecycle/createMeeting", json!({"title": "x", "participantEmails": emails(&["bob"])}))
    };
    for _ in 0..20 {
        invite(&eve).value();
    }
    invite(&eve)
        .assert_refused(Code::FailedPrecondition, "Too many open invitations of one address (max 20 by one user)");
    invite(&ada).value();
    let bob = app.user("bob");
    let list = bob.call("meetings/queries/listUserMeetings", json!({"limit": 100}));
    assert_eq!(list.value()["items"].as_array().unwrap().len(), 21);
    assert_eq!(app.count::<Invitation>(), 0);
    invite(&eve).value();
}

#[test]
fn inviter_cannot_block_an_address_for_other_inviters() {
    let quotas = "[quotas]\nopen_invitations_per_address = 6\nopen_invitations_per_inviter_and_address = 4\n";
    let app = TestApp::configured(quotas);
    let callers: Vec<_> = ["ada", "cleo", "eve"].iter().map(|name| app.user(name)).collect();
    let [ada, cleo, eve] = &callers[..] else { unreachable!("there are three") };
    let kept = meeting(ada, &["bob"]);
    let eves: Vec<String> = (0..4).map(|_| meeting(eve, &["bob"])).collect();
    let cleos: Vec<String> = (0..3).map(|_| meeting(cleo, &["bob"])).collect();
    let open: Vec<String> =
        app.read(|db| Ok(db.scan::<Invitation>().take(10)?)).iter().map(|row| row.meeting_id.to_string()).collect();
    let expected = [&kept, &eves[2], &eves[3], &cleos[0], &cleos[1], &cleos[2]];
    assert_eq!(open.iter().collect::<Vec<_>>(), expected, "the oldest of whoever had most fell");
    let entries = app.read(|db| Ok(db.scan::<AuditEntry>().take(100)?));
    let displaced: Vec<&str> = entries
        .iter()
        .filter(|entry| entry.action == "invitation.displaced")
        .map(|entry| entry.resource_id.as_str())
        .collect();
    assert_eq!(displaced, [&eves[0], &eves[1]]);
    let bob = app.user("bob");
    let list = bob.call("meetings/queries/listUserMeetings", json!({"limit": 100}));
    assert_eq!(list.value()["items"].as_array().unwrap().len(), 6);
}

#[test]
fn a_user_invites_at_most_two_thousand_addresses_a_day() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let batch = |from: usize, count: usize| {
        let addresses: Vec<String> = (from..from + count).map(|i| format!("guest{i}@example.org")).collect();
        ada.call("meetings/lifecycle/createMeeting", json!({"title": "x", "participantEmails": addresses}))
    };
    for i in 0..4 {
        batch(i * 500, 500).value();
    }
    assert_eq!(batch(2_000, 1).code(), "FAILED_PRECONDITION");
    assert_eq!(app.count::<Invitation>(), 2_000);
    batch(0, 0).value();
    app.clock().advance(std::time::Duration::from_secs(24 * 3_600));
    batch(2_000, 1).value();
}

#[test]
fn a_look_alike_address_does_not_take_an_invitation() {
    let app = TestApp::new();
    let ada = app.user("ada");
    meeting(&ada, &["luke"]);
    let kelvin = Identity { email: Some("lu\u{212a}e@example.com".to_owned()), ..claims("kelvin") };
    assert_eq!(me(&app.identity(kelvin))["email"], "lu\u{212a}e@example.com");
    assert_eq!(app.count::<Invitation>(), 1, "it is for another address");
    id_of(&app.user("luke"));
    assert_eq!(app.count::<Invitation>(), 0);
}

#[test]
fn addresses_of_a_former_release_get_their_form_and_collisions_are_reported() {
    let users = "users/migrations/normalizeEmails";
    let invitations = "meetings/migrations/normalizeInvitations";
    for order in [[users, invitations], [invitations, users]] {
        let app = TestApp::new();
        let [ada, bob, cleo] = ["ada", "bob", "cleo"].map(|name| app.user(name));
        let (first, second) = (meeting(&ada, &[]), meeting(&ada, &[]));
        let put = |email: &str, user: Option<String>, meeting: Option<&str>| {
            let args = json!({"email": email, "userId": user, "meetingId": meeting});
            system(&app).call("probes/putFormerAddress", args).value();
        };
        let cafe = "cafe\u{301}@example.com";
        put(cafe, Some(id_of(&bob)), Some(&first));
        put("ada@xn--bcher-kva.example", None, Some(&first));
        put("ada@b\u{fc}cher.example", None, Some(&first));
        put("ada@xn--bcher-kva.example", None, Some(&second));
        put("zo\u{eb}@example.com", Some(id_of(&cleo)), None);
        put("zoe\u{308}@example.com", Some(id_of(&ada)), None);

        let key = app.deploy_key(&["admin"]);
        let reported: Vec<String> = order
            .iter()
            .flat_map(|path| {
                let part = key.call(path, json!({}));
                assert_eq!(part.value()["finished"], true, "{path}");
                part.log_lines().to_vec()
            })
            .filter(|line| line.contains("have the same address"))
            .collect();
        assert_eq!(reported.len(), 2, "{reported:?}");
        assert!(reported.iter().any(|line| line.contains(&id_of(&ada))), "{reported:?}");

        let of = |name: &str| {
            let users = app.read(|db| Ok(db.scan::<User>().take(10)?));
            let user = users.into_iter().find(|user| user.subject == name).unwrap();
            user.email.as_ref().unwrap().as_str().to_owned()
        };
        assert_eq!(of("bob"), "caf\u{e9}@example.com");
        assert_eq!((of("cleo"), of("ada")), ("zo\u{eb}@example.com".to_owned(), "zoe\u{308}@example.com".to_owned()));
        let open = app.read(|db| Ok(db.scan::<Invitation>().take(10)?));
        let mut open: Vec<&str> = open.iter().map(|row| row.email.as_str()).collect();
        open.sort_unstable();
        assert_eq!(open, ["ada@b\u{fc}cher.example", "ada@b\u{fc}cher.example", "ada@xn--bcher-kva.example"]);
        assert!(listed(&bob, &first, "caf\u{e9}").is_some(), "the invitation became a place");
    }
}
