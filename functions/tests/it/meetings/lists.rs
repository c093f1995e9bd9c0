//! `meetings/queries/*`.

use convoke::testing::TestApp;
use serde_json::{Value, json};

use crate::rights::Call;
use crate::support::{id_of, listed, meeting, scheduled, system};

inventory::submit!(Call::new("meetings/queries/getMeeting", |ids| json!({"meetingId": ids.meeting})));
inventory::submit!(Call::new("meetings/queries/getMeeting", |ids| json!({"meetingId": ids.planned})));

const LIST: &str = "meetings/queries/listMeetingParticipants";
const MINE: &str = "meetings/queries/listUserMeetings";

#[test]
fn participants_are_listed_with_their_people_and_connections() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let bob_id = id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    ada.call("users/mutations/updateUserProfile", json!({"userId": "ada", "displayName": "Countess"})).value();
    for (session, state) in [("s1", "connecting"), ("s2", "connected"), ("s3", "closed"), ("s4", "failed")] {
        let args = json!({"meetingId": id, "userId": bob_id, "sessionId": session, "state": state});
        system(&app).call("probes/putSession", args).value();
    }

    let list = bob.call(LIST, json!({"meetingId": id}));

    let list = list.value().as_array().unwrap();
    assert_eq!(list.len(), 2);
    let (host, guest) = (&list[0], &list[1]);
    assert_eq!(host["user"], json!({"_id": host["userId"], "displayName": "Countess", "avatarUrl": ""}));
    assert_eq!((&host["webrtcConnected"], &host["webrtcSessionCount"]), (&json!(false), &json!(0)));
    assert_eq!((&guest["webrtcConnected"], &guest["webrtcSessionCount"]), (&json!(true), &json!(2)));
    assert_eq!(
        (&guest["role"], &guest["presence"], &guest["meetingId"]),
        (&json!("participant"), &json!("invited"), &json!(id))
    );
    let mut names: Vec<&str> = guest.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "_creationTime",
            "_id",
            "createdAt",
            "joinedAt",
            "meetingId",
            "presence",
            "role",
            "user",
            "userId",
            "webrtcConnected",
            "webrtcSessionCount",
        ]
    );
    assert!(!bob.call(LIST, json!({"meetingId": id})).value().to_string().contains('@'), "nobody's address leaves");
}

#[test]
fn live_list_updates_on_join_and_ends_for_a_removed_participant() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let (_, bob_id) = (id_of(&ada), id_of(&bob));
    let id = meeting(&ada, &["bob"]);
    let other = meeting(&ada, &["bob"]);
    let presence =
        |list: &Value| list.as_array().unwrap().iter().map(|one| one["presence"].clone()).collect::<Vec<_>>();
    let mut of_ada = ada.watch(LIST, json!({"meetingId": id}));
    let mut of_bob = bob.watch(LIST, json!({"meetingId": id}));
    assert_eq!(presence(of_ada.next().value()).last(), Some(&json!("invited")));
    of_bob.next().value();

    bob.call("meetings/lifecycle/joinMeeting", json!({"meetingId": other})).value();
    assert!(of_ada.now().is_none() && of_bob.now().is_none(), "another meeting is nothing to them");
    bob.call("meetings/lifecycle/joinMeeting", json!({"meetingId": id})).value();
    assert_eq!(presence(of_ada.next().value()).last(), Some(&json!("joined")));
    of_bob.next().value();

    ada.call("meetings/lifecycle/removeParticipant", json!({"meetingId": id, "userId": bob_id})).value();
    assert_eq!(of_ada.next().value().as_array().unwrap().len(), 1);
    assert_eq!(of_bob.next().code(), "FORBIDDEN");
    ada.call("users/mutations/updateUserProfile", json!({"userId": "ada", "displayName": "Countess"})).value();
    of_ada.next().value();
    assert!(of_bob.now().is_none(), "whoever is out is told nothing");
}

#[test]
fn two_hundred_participants_cost_as_many_statements_as_one() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let cost = || ada.call("probes/costOfListingParticipants", json!({"meetingId": id})).value().as_u64().unwrap();
    let single = ada.call("probes/costOfAMeeting", json!({"meetingId": id})).value().as_u64().unwrap();
    let alone = cost();
    let subjects: Vec<String> = (0..200).map(|i| format!("guest-{i}")).collect();
    let args = json!({"meetingId": id, "subjects": subjects});
    system(&app).call("probes/putPeople", args).value();
    let list = ada.call(LIST, json!({"meetingId": id}));
    let list = list.value().as_array().unwrap();
    assert_eq!(list.len(), 201);
    let names: Vec<&str> = list.iter().map(|entry| entry["user"]["displayName"].as_str().unwrap()).collect();
    assert_eq!(
        (names[0], names[1], names[200]),
        ("ada", "guest-0", "guest-199"),
        "in the order in which they were added"
    );
    assert!(list[1..].iter().all(|entry| entry["webrtcConnected"] == true));
    assert_eq!(cost(), alone);
    assert!(alone <= 8, "{alone}");
    assert_eq!(ada.call("probes/costOfAMeeting", json!({"meetingId": id})).value().as_u64(), Some(single));
}

#[test]
fn meeting_includes_the_role_and_presence_of_the_caller() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    bob.call("meetings/lifecycle/joinMeeting", json!({"meetingId": id})).value();
    let seen = bob.call("meetings/queries/getMeeting", json!({"meetingId": id}));
    let seen = seen.value();
    assert_eq!(
        (&seen["userRole"], &seen["userPresence"], &seen["openSessions"]),
        (&json!("participant"), &json!("joined"), &json!(0))
    );
    assert_eq!((&seen["_id"], &seen["state"], &seen["title"]), (&json!(id), &json!("active"), &json!("Planning")));
    assert_eq!((seen.get("emptySince"), seen.get("description"), seen.get("endedAt")), (None, None, None));
}

#[test]
fn ones_meetings_come_newest_first_in_pages_and_by_state() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let mut ids = Vec::new();
    for round in 0..30 {
        app.advance(std::time::Duration::from_millis(1));
        ids.push(if round % 10 == 0 { scheduled(&app, &ada, &["bob"]) } else { meeting(&ada, &["bob"]) });
    }
    meeting(&ada, &[]);
    ids.reverse();
    let all = |args: Value| {
        let (mut seen, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let page = bob.call(MINE, crate::support::with(args.clone(), json!({"cursor": cursor})));
            let items = page.value()["items"].as_array().unwrap();
            seen.extend(items.iter().map(|item| item["_id"].as_str().unwrap().to_owned()));
            cursor = page.value().get("cursor").cloned().unwrap_or_default();
            if cursor.is_null() {
                return seen;
            }
        }
    };
    assert_eq!(all(json!({})), ids);
    assert_eq!(all(json!({"limit": 7})), ids);
    let waiting: Vec<String> = ids.iter().rev().step_by(10).rev().cloned().collect();
    assert_eq!(all(json!({"state": "scheduled", "limit": 2})), waiting);
    assert_eq!(bob.call(MINE, json!({"limit": 101})).field(), Some("limit"));
    let cost = |limit: u64| bob.call("probes/costOfListingMeetings", json!({"limit": limit})).value().as_u64().unwrap();
    assert_eq!(cost(1), cost(30));
}

#[test]
fn a_meeting_stays_listed_after_leaving_and_after_its_end() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    bob.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": id})).value();
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": id})).value();
    assert_eq!(listed(&bob, &id, "bob").unwrap()["presence"], "left");
    assert_eq!(bob.call(MINE, json!({"state": "concluded"})).value()["items"][0]["_id"], json!(id));
}
