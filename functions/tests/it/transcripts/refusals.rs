//! Rejected chunks: callers, speakers, and states of the meeting.

use convoke::Code;
use convoke::testing::TestApp;
use schema::TranscriptChunk;
use serde_json::json;

use super::{INGEST, INGEST_ALL, chunk, of};
use crate::support::{id_of, meeting, scheduled, with};

#[test]
fn only_participants_ingest_and_read_transcripts() {
    let app = TestApp::new();
    let (ada, eve) = (app.user("ada"), app.user("eve"));
    let id = meeting(&ada, &[]);
    let missing = "meeting_00000000000000000000000001";
    for id in [id.as_str(), missing] {
        let args = json!({"meetingId": id});
        for (path, args) in [
            (INGEST, of(id, chunk(0, "x"))),
            (INGEST_ALL, json!({"meetingId": id, "chunks": [chunk(0, "x")]})),
            ("transcripts/ingestion/getTranscriptStats", args.clone()),
            ("transcripts/queries/listTranscriptChunks", args.clone()),
        ] {
            eve.call(path, args.clone()).assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
            app.nobody().call(path, args).assert_refused(Code::Unauthenticated, "Authentication required");
        }
    }
    app.deploy_key(&["admin"])
        .call("transcripts/ingestion/getTranscriptStats", json!({"meetingId": id}))
        .assert_refused(Code::Forbidden, "Deploy key must act as a user");
}

#[test]
fn another_speaker_is_named_by_a_host_and_is_a_participant() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let bob_id = id_of(&bob);
    id_of(&app.user("eve"));
    let id = meeting(&ada, &["bob"]);
    for who in ["ada", "nobody", "user_00000000000000000000000001"] {
        let refused = bob.call(INGEST, with(of(&id, chunk(0, "x")), json!({"speakerId": who})));
        refused.assert_refused(Code::Forbidden, "Requires host role");
        assert_eq!(refused.data()["currentRole"], "participant");
    }
    for who in ["bob", &bob_id] {
        bob.call(INGEST, with(of(&id, chunk(0, "x")), json!({"speakerId": who}))).value();
    }
    for who in ["eve", "nobody", "user_00000000000000000000000001"] {
        ada.call(INGEST, with(of(&id, chunk(0, "x")), json!({"speakerId": who})))
            .assert_refused(Code::NotFound, "Participant not found in meeting");
    }
    assert_eq!(app.count::<TranscriptChunk>(), 2);
}

#[test]
fn only_an_active_meeting_with_transcription_takes_chunks() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let inactive = |id: &str| {
        for interim in [false, true] {
            ada.call(INGEST, with(of(id, chunk(0, "x")), json!({"isInterim": interim})))
                .assert_refused(Code::FailedPrecondition, "Meeting is not currently active");
        }
    };
    let later = scheduled(&app, &ada, &[]);
    inactive(&later);
    let id = meeting(&ada, &[]);
    ada.call("meetings/lifecycle/updateMeeting", json!({"meetingId": id, "transcriptionEnabled": false})).value();
    ada.call(INGEST, of(&id, chunk(0, "x")))
        .assert_refused(Code::FailedPrecondition, "Transcription is disabled for this meeting");
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": id})).value();
    inactive(&id);
    ada.call("meetings/lifecycle/cancelMeeting", json!({"meetingId": later})).value();
    inactive(&later);
    assert_eq!(app.count::<TranscriptChunk>(), 0);
}

#[test]
fn invalid_chunk_is_rejected_with_its_field() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    for (change, field) in [
        (json!({"text": " \u{3000} "}), "text"),
        (json!({"text": "x".repeat(10_001)}), "text"),
        (json!({"confidence": 1.1}), "confidence"),
        (json!({"confidence": -0.1}), "confidence"),
        (json!({"startTime": -1}), "startTime"),
        (json!({"endTime": 0}), "endTime"),
        (json!({"startTime": 2_000}), "endTime"),
        (json!({"language": "english!"}), "language"),
        (json!({"chunkId": "a b"}), "chunkId"),
        (json!({"speakerId": ""}), "speakerId"),
    ] {
        let one = ada.call(INGEST, with(of(&id, chunk(0, "x")), change.clone()));
        assert_eq!((one.code(), one.field()), ("INVALID_ARGUMENT", Some(field)), "{change}");
        let chunks = json!([chunk(0, "x"), with(chunk(0, "x"), change.clone())]);
        let all = ada.call(INGEST_ALL, json!({"meetingId": id, "chunks": chunks}));
        let field = format!("chunks[1].{field}");
        assert_eq!((all.code(), all.field()), ("INVALID_ARGUMENT", Some(field.as_str())), "{change}");
    }
    for chunks in [json!([]), json!(vec![chunk(0, "x"); 101])] {
        assert_eq!(ada.call(INGEST_ALL, json!({"meetingId": id, "chunks": chunks})).field(), Some("chunks"));
    }
    ada.call(INGEST, of(&id, chunk(0, &"x".repeat(10_000)))).value();
    assert_eq!(app.count::<TranscriptChunk>(), 1);
}
