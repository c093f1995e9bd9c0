//! The 22 functions of the specification, over HTTP with signed tokens.
//!
//! Each test is a row of the acceptance list. A supporting function is called only if the row names it.

use std::time::Duration;

use convoke::testing::{HttpReply, TestApp, TestServer};
use schema::User;
use serde_json::{Value, json};

use crate::support::onboarding;

/// A user with a token.
struct Client<'a> {
    server: &'a TestServer<'a>,
    token: String,
}

impl<'a> Client<'a> {
    fn new(server: &'a TestServer<'a>, subject: &str) -> Self {
        Self { server, token: server.token(subject) }
    }

    fn try_call(&self, path: &str, args: &Value) -> HttpReply {
        self.server.call(Some(&self.token), path, args)
    }

    #[track_caller]
    fn call(&self, path: &str, args: Value) -> Value {
        self.try_call(path, &args).value().clone()
    }

    #[track_caller]
    fn refused(&self, path: &str, args: Value) -> String {
        let reply = self.try_call(path, &args);
        assert_eq!((reply.status, &reply.body["status"]), (200, &json!("error")), "{}", reply.body);
        reply.body["errorMessage"].as_str().unwrap().to_owned()
    }

    fn onboarded(self) -> Self {
        self.call("users/mutations/saveOnboarding", onboarding());
        self
    }

    /// Creates an active meeting with these invited users.
    #[track_caller]
    fn meeting(&self, others: &[&str]) -> String {
        let emails: Vec<String> = others.iter().map(|name| format!("{name}@example.com")).collect();
        let made = self.call(CREATE, json!({ "title": "Planning", "participantEmails": emails }));
        made["meetingId"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn participants(&self, meeting: &str) -> Vec<Value> {
        self.call(LIST, json!({ "meetingId": meeting })).as_array().unwrap().clone()
    }
}

const CREATE: &str = "meetings/lifecycle/createMeeting";
const LEAVE: &str = "meetings/lifecycle/leaveMeeting";
const ROLE: &str = "meetings/lifecycle/updateParticipantRole";
const LIST: &str = "meetings/queries/listMeetingParticipants";
const TOKEN: &str = "meetings/webrtc/rooms/generateParticipantAccessToken";
const STATE: &str = "meetings/webrtc/index/updateSessionState";
const SESSIONS: &str = "meetings/webrtc/signaling/getActiveSessions";
const EDIT: &str = "notes/index/applyNoteOperation";
const PRESENCE: &str = "realtime/batchedOperations/batchUpdatePresence";
const VALIDATE: &str = "realtime/subscriptions/validateSubscription";

#[test]
fn a_user_record_is_made_by_the_first_authenticated_call() {
    let app = TestApp::new();
    let server = app.serve();
    assert_eq!(Client::new(&server, "ada").call("users/mutations/updateLastSeen", json!({})), json!(null));
    assert_eq!(app.count::<User>(), 1);
}

#[test]
fn ones_own_user_id_comes_from_onboarding_and_the_tokens_subject_serves_as_well() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = Client::new(&server, "ada");
    let saved = ada.call("users/mutations/saveOnboarding", onboarding());
    for user in [saved["userId"].clone(), json!("ada")] {
        let args = json!({ "userId": user, "displayName": "Ada" });
        assert_eq!(ada.call("users/mutations/updateUserProfile", args), saved["profileId"]);
    }
}

#[test]
fn interest_keys_come_from_the_catalog_and_those_sent_at_onboarding_join_it() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = Client::new(&server, "ada");
    let mut args = onboarding();
    args["interests"] = json!([{ "id": "1", "name": "Bell ringing", "category": "personal" }]);
    ada.call("users/mutations/saveOnboarding", args);
    let keys = json!({ "userId": "ada", "interests": ["rust", "machine-learning", "custom:bell-ringing"] });
    assert_eq!(ada.call("users/mutations/updateUserInterests", keys), json!(null));
    let unknown = json!({ "userId": "ada", "interests": ["rust", "no-such-thing"] });
    assert_eq!(ada.refused("users/mutations/updateUserInterests", unknown), "Invalid interests: no-such-thing");
}

#[test]
fn invited_people_are_participants_at_once_or_when_they_first_come() {
    let app = TestApp::new();
    let server = app.serve();
    let (ada, bob) = (Client::new(&server, "ada"), Client::new(&server, "bob"));
    bob.call("users/mutations/updateLastSeen", json!({}));
    let meeting = ada.meeting(&["bob", "cyd"]);
    assert_eq!(bob.participants(&meeting).len(), 2);
    let cyd = Client::new(&server, "cyd");
    assert_eq!(cyd.participants(&meeting).len(), 3);
}

#[test]
fn a_meeting_is_active_at_once_or_by_its_hosts_first_joining_act() {
    let app = TestApp::new();
    let server = app.serve();
    let (ada, bob) = (Client::new(&server, "ada"), Client::new(&server, "bob"));
    bob.call("users/mutations/updateLastSeen", json!({}));
    let now = ada.meeting(&["bob"]);
    assert_eq!(bob.call(TOKEN, json!({ "meetingId": now }))["success"], true);

    let at = app.now().get() + 3_600_000;
    let later = json!({ "title": "Later", "scheduledAt": at, "participantEmails": ["bob@example.com"] });
    let meeting = ada.call(CREATE, later)["meetingId"].clone();
    let ask = json!({ "meetingId": meeting });
    assert_eq!(bob.refused(TOKEN, ask.clone()), "Cannot generate token for inactive meeting");
    ada.call(PRESENCE, json!({ "meetingId": meeting, "presence": "joined" }));
    assert_eq!(bob.call(TOKEN, ask)["success"], true);
}

#[test]
fn presence_is_joined_by_an_update_or_by_a_session_that_connects() {
    let app = TestApp::new();
    let server = app.serve();
    let (ada, bob) = (Client::new(&server, "ada"), Client::new(&server, "bob"));
    bob.call("users/mutations/updateLastSeen", json!({}));
    let meeting = ada.meeting(&["bob"]);
    // The second of the addition is over, so that later changes are counted as updates.
    app.advance(Duration::from_secs(2));
    let queued = ada.call(PRESENCE, json!({ "meetingId": meeting, "presence": "joined", "metadata": { "on": "web" } }));
    assert_eq!(queued, json!({ "queued": true, "batchSize": 1 }));
    bob.call(STATE, json!({ "meetingId": meeting, "sessionId": "b1", "state": "connected" }));
    for entry in ada.participants(&meeting) {
        assert_eq!(entry["presence"], "joined");
    }
}

#[test]
fn a_room_and_media_sessions_come_from_access_tokens_and_from_states() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = Client::new(&server, "ada");
    let meeting = ada.meeting(&[]);
    let grant = ada.call(TOKEN, json!({ "meetingId": meeting, "sessionId": "s1" }));
    assert_eq!((&grant["participantId"], &grant["success"]), (&json!("s1"), &json!(true)));
    assert!(!grant["roomId"].as_str().unwrap().is_empty() && grant["token"].as_str().unwrap().split('.').count() == 3);
    ada.call(STATE, json!({ "meetingId": meeting, "sessionId": "s2", "state": "connecting" }));
    let sessions = ada.call(SESSIONS, json!({ "meetingId": meeting }));
    let ids: Vec<&Value> = sessions.as_array().unwrap().iter().map(|session| &session["sessionId"]).collect();
    assert_eq!(ids, [&json!("s1"), &json!("s2")]);
}

#[test]
fn a_connection_quality_is_rated_from_numbers_in_the_metadata() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = Client::new(&server, "ada");
    let meeting = ada.meeting(&[]);
    let metadata = json!({ "packetLoss": 0.1, "latency": 40, "jitter": 3 });
    ada.call(STATE, json!({ "meetingId": meeting, "sessionId": "s", "state": "connected", "metadata": metadata }));
    let sessions = ada.call(SESSIONS, json!({ "meetingId": meeting }));
    assert_eq!(sessions[0]["connectionQuality"], "excellent");
    assert_eq!(sessions[0]["lastMetricsAt"], json!(app.now().get()));
}

#[test]
fn the_text_of_notes_follows_from_operations() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = Client::new(&server, "ada");
    let meeting = ada.meeting(&[]);
    let insert = |position, content: &str| json!({ "type": "insert", "position": position, "content": content });
    let first = json!({ "meetingId": meeting, "clientSequence": 0, "operation": insert(0, "Hello") });
    let done = ada.call(EDIT, first);
    assert_eq!((&done["success"], &done["newVersion"], &done["serverSequence"]), (&json!(true), &json!(1), &json!(1)));
    // The second client saw nothing yet: its operation is transformed past the existing one.
    let second = json!({
        "meetingId": meeting, "clientSequence": 0, "expectedVersion": 0, "operation": insert(0, " world"),
    });
    let done = ada.call(EDIT, second);
    assert_eq!(done["transformedOperation"]["position"], 5);
    assert_eq!(done["conflicts"].as_array().unwrap().len(), 1);
    let notes = ada.call("notes/queries/getMeetingNotes", json!({ "meetingId": meeting }));
    assert_eq!((&notes["content"], &notes["version"]), (&json!("Hello world"), &json!(2)));
}

#[test]
fn offline_operations_are_synced_by_the_drain_or_kept_as_synced_and_then_cleared() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = Client::new(&server, "ada");
    let meeting = ada.meeting(&[]);
    let operation = |id: &str, sequence: i64, status: &str| {
        json!({
            "id": id, "clientId": "c", "authorId": "ada", "attempts": 0, "position": 0, "queuedAt": 1,
            "sequence": sequence, "timestamp": 1, "status": status, "type": "insert", "content": id,
        })
    };
    let operations = [operation("a", 1, "pending"), operation("b", 2, "synced")];
    let args = json!({ "clientId": "c", "meetingId": meeting, "operations": operations });
    let queued = ada.call("notes/offline/queueOfflineOperations", args);
    assert_eq!((&queued["queued"], &queued["success"]), (&json!(2), &json!(true)));
    app.advance(Duration::from_secs(2));
    let notes = ada.call("notes/queries/getMeetingNotes", json!({ "meetingId": meeting }));
    assert_eq!(notes["content"], "a");
    let clear = json!({ "clientId": "c", "meetingId": meeting, "olderThanMs": 0 });
    assert_eq!(ada.call("notes/offline/clearSyncedOperations", clear), json!({ "cleared": 2 }));
}

#[test]
fn entering_the_queue_wakes_the_matcher_and_matches_stand_in_the_history_as_accepted() {
    let app = TestApp::new();
    let server = app.serve();
    let people = [Client::new(&server, "ada").onboarded(), Client::new(&server, "bob").onboarded()];
    let from = app.now().get();
    for person in &people {
        let constraints = json!({ "interests": ["chess"], "roles": [] });
        let args = json!({ "availableFrom": from, "availableTo": from + 7_200_000, "constraints": constraints });
        assert!(person.call("matching/index/enterMatchingQueue", args).is_string());
    }
    app.advance(Duration::from_secs(20));
    let histories: Vec<Value> =
        people.iter().map(|person| person.call("matching/analytics/getMatchHistory", json!({}))).collect();
    for history in &histories {
        assert_eq!(history.as_array().unwrap().len(), 1);
        assert_eq!(history[0]["outcome"], "accepted");
        assert_eq!(history[0]["features"].as_object().unwrap().len(), 8);
    }
    assert_eq!(histories[0][0]["matchId"], histories[1][0]["matchId"]);
}

#[test]
fn a_subscription_is_opened_and_renewed_by_validation_and_has_figures() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = Client::new(&server, "ada");
    let meeting = ada.meeting(&[]);
    let ask = json!({
        "lastValidated": app.now().get(), "resourceId": meeting, "resourceType": "meetingNotes", "subscriptionId": "n1",
    });
    let valid = ada.call(VALIDATE, ask.clone());
    assert_eq!((&valid["valid"], &valid["shouldReconnect"]), (&json!(true), &json!(false)));
    assert_eq!(valid["permissions"], json!(["read", "write", "manage", "export"]));
    ada.call(VALIDATE, ask);
    let metrics = ada.call("monitoring/performanceQueries/getSubscriptionMetrics", json!({ "subscriptionId": "n1" }));
    assert_eq!(metrics["subscriptions"][0]["updateCount"], 2);
    assert_eq!(metrics["globalStats"]["totalActiveSubscriptions"], 1);
}

#[test]
fn performance_trends_show_every_call_of_every_function() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = Client::new(&server, "ada");
    for _ in 0..3 {
        ada.call("users/mutations/updateLastSeen", json!({}));
    }
    ada.refused(LEAVE, json!({ "meetingId": "meeting_01h455vb4pex5vsknk084sn02q" }));
    let trends = |name: &str| {
        let args = json!({ "functionName": name, "bucketSizeMs": 60_000, "timeWindowMs": 600_000 });
        ada.call("monitoring/performanceQueries/getPerformanceTrends", args)
    };
    let sum = |trends: &Value, field: &str| -> f64 {
        trends["timeSeries"].as_array().unwrap().iter().map(|bucket| bucket[field].as_f64().unwrap()).sum()
    };
    assert_eq!(sum(&trends("users/mutations:updateLastSeen"), "callCount"), 3.0);
    assert_eq!(sum(&trends("leaveMeeting"), "errorCount"), 1.0);
    assert_eq!(trends("leaveMeeting")["trends"]["errorTrend"], "stable");
}

#[test]
fn insights_come_over_notes_alone() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = Client::new(&server, "ada").onboarded();
    let meeting = ada.meeting(&[]);
    ada.call(PRESENCE, json!({ "meetingId": meeting, "presence": "joined" }));
    let text = "We agreed to ship the engine in March.\n- [ ] Ada will write the release notes by Friday.\n";
    let operation = json!({ "type": "insert", "position": 0, "content": text });
    ada.call(EDIT, json!({ "meetingId": meeting, "clientSequence": 0, "operation": operation }));
    let made = ada.call("insights/index/generateInsights", json!({ "meetingId": meeting }));
    assert_eq!((&made["success"], &made["insightsGenerated"]), (&json!(true), &json!(1)));
    let again = ada.call("insights/index/generateInsights", json!({ "meetingId": meeting, "forceRegenerate": false }));
    assert_eq!((&again["insightsGenerated"], &again["participantInsights"]), (&json!(0), &made["participantInsights"]));
}

#[test]
fn a_meeting_that_everybody_left_ends_by_itself() {
    let app = TestApp::new();
    let server = app.serve();
    let ada = Client::new(&server, "ada");
    let meeting = ada.meeting(&[]);
    ada.call(PRESENCE, json!({ "meetingId": meeting, "presence": "joined" }));
    assert_eq!(ada.call(LEAVE, json!({ "meetingId": meeting })), json!({ "success": true }));
    app.advance(Duration::from_secs(17 * 60));
    let refused = ada.refused(TOKEN, json!({ "meetingId": meeting }));
    assert_eq!(refused, "Cannot generate token for inactive meeting");
    assert_eq!(ada.participants(&meeting).len(), 1);
}

#[test]
fn a_role_shows_at_once_in_lists_tokens_and_subscriptions() {
    let app = TestApp::new();
    let server = app.serve();
    let (ada, bob) = (Client::new(&server, "ada"), Client::new(&server, "bob"));
    bob.call("users/mutations/updateLastSeen", json!({}));
    let meeting = ada.meeting(&["bob"]);
    let ask = json!({
        "lastValidated": app.now().get(), "resourceId": meeting, "resourceType": "notes", "subscriptionId": "n",
    });
    for (role, kick, permissions) in
        [("host", true, json!(["read", "write", "manage", "export"])), ("participant", false, json!(["read", "write"]))]
    {
        ada.call(ROLE, json!({ "meetingId": meeting, "userId": "bob", "newRole": role }));
        assert_eq!(ada.participants(&meeting)[1]["role"], role);
        assert_eq!(bob.call(TOKEN, json!({ "meetingId": meeting }))["permissions"]["canKick"], kick);
        assert_eq!(bob.call(VALIDATE, ask.clone())["permissions"], permissions);
    }
    assert_eq!(
        ada.refused(ROLE, json!({ "meetingId": meeting, "userId": "ada", "newRole": "participant" })),
        "Cannot demote the only host"
    );
}
