//! Ids of other users in arguments: rejected, or without effect on them.

use convoke::Code;
use convoke::testing::TestCaller;
use schema::{Insight, MediaSession, NoteOperation, OfflineOperation, OfflineStatus, Prompt};
use serde_json::{Value, json};

use super::fixture::{Fixture, Who, offline};
use crate::support::with;

const UNKNOWN_USER: &str = "user_00000000000000000000000001";

/// Calls for the meeting of the fixture.
fn call(fixture: &Fixture, caller: &TestCaller<'_>, path: &str, args: Value) -> convoke::testing::Reply {
    caller.call(path, with(json!({"meetingId": fixture.ids.meeting}), args))
}

#[test]
fn a_session_id_of_another_user_is_in_use_or_not_found_and_the_session_stays_as_it_is() {
    let fixture = Fixture::new();
    let (host, former) = (fixture.caller(Who::Host), fixture.caller(Who::Former));
    let id = json!({"sessionId": fixture.ids.session});
    let sessions = || fixture.app.read(|db| Ok(db.scan::<MediaSession>().take(100)?));
    let before = sessions();
    for caller in [&host, &former] {
        let in_use = |path: &str, args: Value| {
            let reply = call(&fixture, caller, path, with(id.clone(), args));
            reply.assert_refused(Code::Conflict, "Session ID is already in use");
        };
        in_use("meetings/webrtc/signaling/createSession", json!({}));
        in_use("meetings/webrtc/rooms/generateParticipantAccessToken", json!({}));
        for state in ["connecting", "connected", "disconnected", "failed"] {
            let report = json!({"state": state, "metadata": {"packetLoss": 90}});
            in_use("meetings/webrtc/index/updateSessionState", report);
        }
        let reply = call(&fixture, caller, "meetings/webrtc/signaling/closeSession", id.clone());
        reply.assert_refused(Code::NotFound, "Media session not found");
        let signal = with(id.clone(), json!({"kind": "sdp", "payload": {}}));
        let reply = call(&fixture, caller, "meetings/webrtc/signaling/sendSignal", signal);
        reply.assert_refused(Code::NotFound, "Media session not found");
    }
    let closed = with(id, json!({"state": "closed"}));
    let reply = call(&fixture, &former, "meetings/webrtc/index/updateSessionState", closed.clone());
    reply.assert_refused(Code::Forbidden, "Requires host role");
    assert_eq!(reply.data()["currentRole"], "participant");
    assert_eq!(format!("{before:?}"), format!("{:?}", sessions()));

    let planned = with(closed, json!({"meetingId": fixture.ids.planned}));
    let reply = host.call("meetings/webrtc/index/updateSessionState", planned);
    reply.assert_refused(Code::NotFound, "Media session not found");
    assert_eq!(format!("{before:?}"), format!("{:?}", sessions()), "a session id holds in its meeting only");
}

#[test]
fn a_client_id_of_another_user_names_a_queue_of_the_callers_own() {
    let fixture = Fixture::new();
    let (owner, host) = (fixture.caller(Who::Participant), fixture.caller(Who::Host));
    let client = fixture.ids.client.as_str();
    let of = |caller: &TestCaller<'_>, function: &str, args: Value| {
        let args = with(json!({"clientId": client}), args);
        call(&fixture, caller, &format!("notes/offline/{function}"), args).value().clone()
    };
    let pending = |caller: &TestCaller<'_>| of(caller, "getOfflineQueueStatus", json!({}))["pending"].clone();
    assert_eq!((pending(&owner), pending(&host)), (json!(1), json!(0)));
    let synced = of(&host, "syncOfflineOperations", json!({}));
    assert_eq!((&synced["synced"], &synced["remainingInQueue"]), (&json!(0), &json!(0)));
    assert_eq!(of(&host, "clearSyncedOperations", json!({"olderThanMs": 0}))["cleared"], 0);
    assert_eq!(of(&host, "retryFailedOperations", json!({}))["retried"], 0);
    assert_eq!(pending(&owner), 1, "nothing of it was touched");

    // In the caller's own queue, the same id with other content would be a conflict.
    let other = with(offline(client, "offline-1", &fixture.ids.participant), json!({"content": "Elsewhere. "}));
    assert_eq!(of(&host, "queueOfflineOperations", json!({"operations": [other]}))["queued"], 1);
    assert_eq!((pending(&owner), pending(&host)), (json!(1), json!(1)));
    assert_eq!(of(&host, "syncOfflineOperations", json!({}))["synced"], 1);
    assert_eq!((pending(&owner), pending(&host)), (json!(1), json!(0)));
}

#[test]
fn author_is_the_caller_and_not_the_id_in_the_operation() {
    let fixture = Fixture::new();
    let host = fixture.caller(Who::Host);
    let operation = offline("host-laptop", "mine", &fixture.ids.participant);
    let queued = json!({"clientId": "host-laptop", "operations": [operation]});
    call(&fixture, &host, "notes/offline/queueOfflineOperations", queued).value();
    call(&fixture, &host, "notes/offline/syncOfflineOperations", json!({"clientId": "host-laptop"})).value();
    let entries = fixture.app.read(|db| Ok(db.scan::<NoteOperation>().take(10)?));
    assert_eq!(entries.last().unwrap().author_id.to_string(), fixture.ids.host);
    let rows = fixture.app.read(|db| Ok(db.scan::<OfflineOperation>().take(10)?));
    let mine = rows.iter().find(|row| row.operation_id.as_str() == "mine").unwrap();
    assert_eq!((mine.author_id.to_string(), mine.status), (fixture.ids.host.clone(), OfflineStatus::Synced));
}

#[test]
fn an_operation_id_is_known_of_its_author_only() {
    let fixture = Fixture::new();
    let (owner, host) = (fixture.caller(Who::Participant), fixture.caller(Who::Host));
    let edit = |caller: &TestCaller<'_>, content: &str| {
        let operation = json!({"type": "insert", "position": 0, "content": content});
        let args = json!({"clientSequence": 1, "operationId": fixture.ids.operation, "operation": operation.clone()});
        call(&fixture, caller, "notes/index/applyNoteOperation", args)
    };
    assert_eq!(edit(&owner, "Other ").code(), "CONFLICT");
    assert_eq!(edit(&host, "Other ").value()["newVersion"], 2, "it is applied, and is no repetition");
    let batch = json!({"operations": [{
        "operationId": fixture.ids.operation, "operation": {"type": "insert", "position": 0, "content": "Agenda"},
    }]});
    let former = fixture.caller(Who::Former);
    let reply = call(&fixture, &former, "notes/index/batchApplyNoteOperations", batch);
    assert_eq!(reply.value()["newVersion"], 3, "the result of somebody else is never returned");
}

#[test]
fn a_subscription_of_another_user_can_be_neither_taken_nor_ended_nor_seen() {
    let fixture = Fixture::new();
    let (owner, host) = (fixture.caller(Who::Participant), fixture.caller(Who::Host));
    let id = json!({"subscriptionId": fixture.ids.subscription});
    let lease = json!({
        "lastValidated": fixture.app.now().get(), "resourceId": fixture.ids.meeting, "resourceType": "notes",
    });
    let seen = |caller: &TestCaller<'_>| {
        let reply = caller.call("monitoring/performanceQueries/getSubscriptionMetrics", id.clone());
        reply.value()["subscriptions"].as_array().unwrap().len()
    };
    for caller in [&host, &fixture.caller(Who::Former)] {
        let reply = caller.call("realtime/subscriptions/validateSubscription", with(id.clone(), lease.clone()));
        let refused = json!({
            "valid": false, "permissions": [], "shouldReconnect": false,
            "reason": "Subscription belongs to another user",
        });
        assert_eq!(reply.value(), &refused);
        let reply = caller.call("realtime/subscriptions/terminateSubscription", id.clone());
        assert_eq!(reply.value(), &Value::Null, "as if there were none");
        assert_eq!(seen(caller), 0);
    }
    let seen_by = |who: Who| seen(&fixture.caller(who));
    assert_eq!((seen(&owner), seen_by(Who::Admin), seen_by(Who::ForeignAdmin), seen_by(Who::Key)), (1, 1, 0, 1));
}

#[test]
fn foreign_resource_is_treated_as_an_unknown_resource() {
    let fixture = Fixture::new();
    let ids = &fixture.ids;
    let unknown = "meeting_00000000000000000000000001";
    for who in [Who::Stranger, Who::Removed, Who::Admin, Who::ForeignAdmin] {
        for resource in [ids.meeting.as_str(), unknown, ids.host.as_str(), "anything"] {
            for kind in ["notes", "transcripts", "participants", "prompts", "insights", "webrtc"] {
                let reply = fixture.caller(who).call(
                    "realtime/subscriptions/validateSubscription",
                    json!({
                        "lastValidated": 0, "resourceId": resource, "resourceType": kind, "subscriptionId": "mine",
                    }),
                );
                let reply = reply.value();
                assert_eq!(
                    (&reply["valid"], &reply["reason"]),
                    (&json!(false), &json!("Access denied: Not a meeting participant")),
                    "{who:?} {resource} {kind}"
                );
            }
        }
    }
    let entries = |who: Who| {
        let args = json!({"resourceType": "meeting", "resourceId": ids.meeting});
        let reply = fixture.caller(who).call("system/audit/listAuditEntries", args);
        reply.value()["items"].as_array().unwrap().len()
    };
    assert!(entries(Who::Admin) > 0 && entries(Who::Admin) == entries(Who::Key));
    assert_eq!(entries(Who::ForeignAdmin), 0);
}

#[test]
fn user_id_without_access_is_treated_as_an_unknown_id() {
    let fixture = Fixture::new();
    let no_right = ("FORBIDDEN", "Access denied: Insufficient permissions");
    let calls = [
        ("users/mutations/updateUserProfile", json!({"bio": "x"})),
        ("users/mutations/updateUserInterests", json!({"interests": []})),
        ("profiles/queries/getPublicProfile", json!({})),
        ("users/mutations/deactivateUser", json!({})),
    ];
    for (path, args) in &calls {
        for user in [fixture.ids.participant.as_str(), "participant", UNKNOWN_USER, "never-came"] {
            let reply = fixture.caller(Who::Stranger).call(path, with(args.clone(), json!({"userId": user})));
            assert_eq!((reply.code(), reply.message()), no_right, "{path} {user}");
        }
    }
    for (path, args) in calls.iter().filter(|(path, _)| path.starts_with("users/")) {
        for who in [Who::Admin, Who::ForeignAdmin, Who::Key] {
            let reply = fixture.caller(who).call(path, with(args.clone(), json!({"userId": UNKNOWN_USER})));
            assert_eq!((reply.code(), reply.message()), ("NOT_FOUND", "User not found"), "{path} {who:?}");
        }
    }
}

#[test]
fn user_outside_the_meeting_is_not_a_participant() {
    let fixture = Fixture::new();
    let host = fixture.caller(Who::Host);
    let outside = |path: &str, args: Value| {
        for user in [fixture.ids.stranger.as_str(), "removed", UNKNOWN_USER] {
            let reply = call(&fixture, &host, path, with(args.clone(), json!({"userId": user})));
            reply.assert_refused(Code::NotFound, "Participant not found in meeting");
        }
    };
    outside("meetings/lifecycle/updateParticipantRole", json!({"newRole": "host"}));
    outside("meetings/lifecycle/removeParticipant", json!({}));
    for user in [fixture.ids.stranger.as_str(), "removed", UNKNOWN_USER] {
        let session = json!({"sessionId": fixture.ids.host_session, "kind": "sdp", "payload": {}});
        let signal = with(session, json!({"toUserId": user}));
        let reply = call(&fixture, &host, "meetings/webrtc/signaling/sendSignal", signal);
        reply.assert_refused(Code::NotFound, "Participant not found in meeting");
        let said = json!({
            "text": "Never said.", "confidence": 1, "startTime": 1, "endTime": 2, "speakerId": user,
        });
        let reply = call(&fixture, &host, "transcripts/ingestion/ingestTranscriptChunk", said);
        reply.assert_refused(Code::NotFound, "Participant not found in meeting");
    }
    let key = fixture.caller(Who::Key);
    let args = json!({"userId": fixture.ids.stranger});
    let reply = call(&fixture, &key, "meetings/admin/assignHost", args.clone());
    reply.assert_refused(Code::NotFound, "Participant not found in meeting");
    let reply = call(&fixture, &fixture.caller(Who::Admin), "meetings/admin/assignHost", args);
    reply.assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
}

#[test]
fn a_prompt_of_another_user_is_as_unknown_as_none() {
    let fixture = Fixture::new();
    for prompt in [fixture.ids.prompt.as_str(), "prompt_00000000000000000000000001"] {
        for who in [Who::Host, Who::Former, Who::Admin, Who::Stranger] {
            let args = json!({"promptId": prompt, "feedback": "dismissed"});
            let reply = fixture.caller(who).call("prompts/mutations/recordPromptFeedback", args);
            reply.assert_refused(Code::NotFound, "Prompt not found");
        }
    }
    let prompts = fixture.app.read(|db| Ok(db.scan::<Prompt>().take(10)?));
    assert_eq!(prompts[0].feedback, None);
    let reply = call(&fixture, &fixture.caller(Who::Host), "prompts/queries/getInCallPrompts", json!({}));
    assert_eq!(reply.value(), &json!([]), "one reads one's own");
}

#[test]
fn an_insight_of_another_user_is_as_unknown_as_none() {
    let fixture = Fixture::new();
    for insight in [fixture.ids.insight.as_str(), "insight_00000000000000000000000001"] {
        for who in [Who::Host, Who::Former, Who::Admin, Who::Stranger] {
            let reply = fixture.caller(who).call("insights/mutations/deleteInsight", json!({"insightId": insight}));
            reply.assert_refused(Code::NotFound, "Insight not found");
        }
    }
    assert_eq!(fixture.app.count::<Insight>(), 1);
    let reply = call(&fixture, &fixture.caller(Who::Host), "insights/queries/getMeetingInsights", json!({}));
    assert_eq!(reply.value(), &json!(null), "one reads one's own");
}

#[test]
fn a_match_of_two_others_is_as_unknown_as_none() {
    let fixture = Fixture::new();
    for matched in [fixture.ids.matched.as_str(), "match_00000000000000000000000001"] {
        for who in [Who::Former, Who::Admin, Who::Stranger] {
            let refused = |path: &str, args: Value| {
                let reply = fixture.caller(who).call(path, with(args, json!({"matchId": matched})));
                reply.assert_refused(Code::NotFound, "Match not found");
            };
            refused("matching/queries/getMatch", json!({}));
            refused("matching/analytics/submitMatchFeedback", json!({"outcome": "declined"}));
            refused("matching/lifecycle/createMatchMeeting", json!({}));
        }
    }
    let args = json!({"matchId": fixture.ids.matched});
    let seen = fixture.caller(Who::Host).call("matching/queries/getMatch", args);
    let seen = seen.value();
    assert_eq!((&seen["status"], &seen["outcome"]), (&json!("proposed"), &json!("accepted")));
    assert_eq!(seen["partner"]["userId"], fixture.ids.participant.as_str());
}

#[test]
fn signals_to_another_user_are_neither_listed_nor_acknowledged() {
    let fixture = Fixture::new();
    let listed = |who: Who| {
        let reply = call(&fixture, &fixture.caller(who), "meetings/webrtc/signaling/listSignals", json!({}));
        reply.value().as_array().unwrap().len()
    };
    let acknowledged = |who: Who| {
        let args = json!({"signalIds": [fixture.ids.signal, "signal_00000000000000000000000001"]});
        let reply = fixture.caller(who).call("meetings/webrtc/signaling/acknowledgeSignals", args);
        reply.value()["acknowledged"].clone()
    };
    for who in [Who::Host, Who::Former] {
        assert_eq!(listed(who), 0, "{who:?}");
    }
    for who in [Who::Host, Who::Former, Who::Stranger, Who::Removed, Who::Admin] {
        assert_eq!(acknowledged(who), 0, "{who:?}");
    }
    assert_eq!(listed(Who::Participant), 1);
    assert_eq!((acknowledged(Who::Participant), acknowledged(Who::Participant)), (json!(1), json!(0)));
}
