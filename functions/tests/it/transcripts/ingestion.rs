//! `ingestTranscriptChunk`, `ingestTranscriptChunks`.

use std::collections::BTreeSet;
use std::sync::Arc;

use convoke::Code;
use convoke::testing::TestApp;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use schema::{AuditEntry, TranscriptChunk, TranscriptStats};
use serde_json::{Value, json};

use super::{INGEST, INGEST_ALL, chunk, figures, list, of};
use crate::rights::{Call, Ids};
use crate::support::{cases, id_of, meeting, with};

/// Speech of the participant's.
fn said(ids: &Ids) -> Value {
    with(chunk(1, "Good morning."), json!({"speakerId": ids.participant}))
}

inventory::submit!(Call::new(INGEST, |ids| of(&ids.meeting, said(ids))));
inventory::submit!(Call::new(INGEST_ALL, |ids| of(&ids.meeting, json!({"chunks": [said(ids)]}))));

#[test]
fn a_chunk_gets_the_next_sequence_and_the_bucket_of_its_beginning() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let first = ada.call(INGEST, of(&id, chunk(299, "Good morning.")));
    assert_eq!(first.value(), &json!({"success": true, "sequence": 1, "bucketMs": 0}));
    let second = ada.call(INGEST, of(&id, chunk(300, "And hello.")));
    assert_eq!(second.value(), &json!({"success": true, "sequence": 2, "bucketMs": 300_000}));
}

#[test]
fn fifty_at_once_leave_no_gap_and_no_sequence_twice() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &["bob", "cleo"]);
    let callers = [ada.clone(), app.user("bob"), app.user("cleo")];
    callers.iter().for_each(|caller| drop(id_of(caller)));
    let calls = (0..50).map(|at| {
        let caller = callers[at % 3].clone();
        let args = of(&id, chunk(i64::try_from(at).unwrap(), "one two three"));
        async move { caller.call_async(INGEST, args).await.value()["sequence"].as_i64().unwrap() }
    });
    let sequences = app.block_on(futures_util::future::join_all(calls));
    assert_eq!(sequences.into_iter().collect::<BTreeSet<_>>(), (1..=50).collect());
    let stored = app.read(|db| Ok(db.scan::<TranscriptChunk>().take(100)?));
    let stored: BTreeSet<i64> = stored.iter().map(|row| row.sequence).collect();
    assert_eq!(stored, (1..=50).collect());
    assert_eq!(figures(&ada, &id)["totalWords"], 150);
}

#[test]
fn a_chunk_that_its_speaker_named_before_stays_where_it_is() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    let named = of(&id, with(chunk(0, "Hello."), json!({"chunkId": "c-1"})));
    assert_eq!(ada.call(INGEST, named.clone()).value()["sequence"], 1);
    assert_eq!(bob.call(INGEST, named.clone()).value()["sequence"], 2);
    let again = ada.call(INGEST, with(named, json!({"text": "Something else.", "startTime": 1, "endTime": 2})));
    assert_eq!(again.value(), &json!({"success": true, "sequence": 1, "bucketMs": 0}));
    assert_eq!((app.count::<TranscriptChunk>(), figures(&ada, &id)["totalChunks"].as_i64()), (2, Some(2)));
}

#[test]
fn an_interim_chunk_is_acknowledged_and_not_stored() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let interim = of(&id, with(chunk(700, "Hel"), json!({"isInterim": true})));
    assert_eq!(
        ada.call(INGEST, interim.clone()).value(),
        &json!({"success": true, "sequence": 0, "bucketMs": 600_000})
    );
    ada.call(INGEST, of(&id, chunk(700, "Hello."))).value();
    assert_eq!(ada.call(INGEST, interim).value()["sequence"], 1);
    assert_eq!((app.count::<TranscriptChunk>(), app.count::<TranscriptStats>()), (1, 1));
}

#[test]
fn several_are_stored_in_their_order_or_not_at_all() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let bob_id = id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    let chunks = json!([
        with(chunk(0, "One."), json!({"chunkId": "a"})),
        with(chunk(2, "Tw"), json!({"isInterim": true})),
        with(chunk(2, "Two."), json!({"speakerId": "bob"})),
        with(chunk(4, "One again."), json!({"chunkId": "a"})),
        with(chunk(6, "Three."), json!({"speakerId": bob_id, "language": "DE-de"})),
    ]);
    let stored = ada.call(INGEST_ALL, json!({"meetingId": id, "chunks": chunks}));
    assert_eq!(stored.value(), &json!({"success": true, "sequences": [1, 1, 2, 1, 3]}));
    let shown = list(&bob, json!({"meetingId": id}));
    let shown: Vec<(&Value, &Value)> =
        shown["chunks"].as_array().unwrap().iter().map(|chunk| (&chunk["text"], &chunk["speakerId"])).collect();
    let ada_id = json!(id_of(&ada));
    let bob_id = json!(bob_id);
    assert_eq!(shown, [(&json!("One."), &ada_id), (&json!("Two."), &bob_id), (&json!("Three."), &bob_id)]);

    let bad = json!([chunk(8, "Four."), with(chunk(9, "Five."), json!({"speakerId": "nobody"}))]);
    ada.call(INGEST_ALL, json!({"meetingId": id, "chunks": bad}))
        .assert_refused(Code::NotFound, "Participant not found in meeting");
    assert_eq!(app.count::<TranscriptChunk>(), 3);
    assert_eq!(figures(&ada, &id)["totalChunks"], 3);
}

#[test]
fn a_retry_with_the_same_key_stores_nothing() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let args = of(&id, with(chunk(0, "Hello."), json!({"idempotencyKey": "k"})));
    let first = ada.call(INGEST, args.clone());
    ada.call(INGEST, of(&id, chunk(2, "World."))).value();
    assert_eq!(ada.call(INGEST, args.clone()).value(), first.value());
    assert_eq!(ada.call(INGEST, with(args.clone(), json!({"text": "Bye."}))).code(), "IDEMPOTENCY_KEY_REUSED");
    // A retry whose first answer was lost gets it also after the end.
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": id})).value();
    assert_eq!(ada.call(INGEST, args).value(), first.value());
    let all = json!({"meetingId": id, "chunks": [chunk(4, "x")], "idempotencyKey": "k"});
    assert_eq!(ada.call(INGEST_ALL, all).code(), "FAILED_PRECONDITION");
    assert_eq!(app.count::<TranscriptChunk>(), 2);
}

#[test]
fn deploy_key_ingests_chunks_of_participants() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let key = app.deploy_key(&["admin"]);
    let named = with(of(&id, chunk(0, "Hello.")), json!({"speakerId": id_of(&ada)}));
    let entries = app.count::<AuditEntry>();
    assert_eq!(key.call(INGEST, named.clone()).value()["sequence"], 1);
    assert_eq!(app.count::<AuditEntry>(), entries + 1);
    let unnamed = key.call(INGEST, of(&id, chunk(0, "Hello.")));
    assert_eq!((unnamed.code(), unnamed.field()), ("INVALID_ARGUMENT", Some("speakerId")));
    let unnamed = key.call(INGEST_ALL, json!({"meetingId": id, "chunks": [chunk(0, "Hello.")]}));
    assert_eq!(unnamed.field(), Some("chunks[0].speakerId"));
    let unknown = with(named, json!({"meetingId": "meeting_00000000000000000000000001"}));
    key.call(INGEST, unknown).assert_refused(Code::NotFound, "Meeting not found");
}

#[test]
fn a_batch_costs_as_many_calls_as_it_has_chunks() {
    let app = TestApp::with(|options| options.settings = "[rates]\ntranscripts = 10\n".parse().unwrap());
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let batch = |count| json!({"meetingId": id, "chunks": vec![chunk(0, "x"); count]});
    ada.call(INGEST_ALL, batch(6)).value();
    assert_eq!(ada.call(INGEST_ALL, batch(6)).code(), "RATE_LIMITED");
    assert_eq!(app.count::<TranscriptChunk>(), 6);
    app.clock().set(app.now() + std::time::Duration::from_secs(60));
    ada.call(INGEST_ALL, batch(10)).value();
    assert_eq!(ada.call(INGEST, of(&id, chunk(0, "x"))).code(), "RATE_LIMITED");
    app.run_due();
}

/// Of the property below.
const SPEAKERS: [&str; 3] = ["ada", "bob", "cleo"];

/// The figures as a walk over all chunks gives them.
fn recounted(app: &TestApp) -> Value {
    let mut rows = app.read(|db| Ok(db.scan::<TranscriptChunk>().take(10_000)?));
    rows.sort_by_key(|row| row.sequence);
    let mut speakers = Vec::new();
    let mut languages = Vec::new();
    for row in &rows {
        if !speakers.contains(&row.speaker_id.to_string()) {
            speakers.push(row.speaker_id.to_string());
        }
        if !languages.contains(&row.language.as_str().to_owned()) {
            languages.push(row.language.as_str().to_owned());
        }
    }
    let count = rows.len();
    let sum: f64 = rows.iter().map(|row| row.confidence.get()).sum();
    let mean = if count == 0 { 0.0 } else { (sum / count as f64 * 1e6).round() / 1e6 };
    let first = rows.iter().map(|row| row.start_ms.get()).min().unwrap_or(0);
    let last = rows.iter().map(|row| row.end_ms.get()).max().unwrap_or(0);
    json!({
        "totalChunks": count,
        "totalWords": rows.iter().map(|row| row.text.as_str().split_whitespace().count()).sum::<usize>(),
        "averageConfidence": mean,
        "duration": last - first,
        "speakers": speakers,
        "languages": languages,
        "bucketCount": rows.iter().map(|row| row.start_ms.get() / 300_000).collect::<BTreeSet<_>>().len(),
    })
}

#[test]
fn the_figures_are_those_of_a_recount() {
    let chunk =
        (0usize..3, 0i64..2_000, 1i64..90, 0u32..=1_000, prop::sample::select(vec!["en", "de", "pt-BR"]), 1usize..9);
    let batches = prop::collection::vec(prop::collection::vec(chunk, 1..8), 0..6);
    let mut runner = TestRunner::new(Config { cases: cases(12), failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&batches, |batches| {
        let app = Arc::new(TestApp::new());
        let ada = app.user("ada");
        for name in ["bob", "cleo"] {
            id_of(&app.user(name));
        }
        let id = meeting(&ada, &["bob", "cleo"]);
        for batch in batches {
            let chunks: Vec<Value> = batch
                .into_iter()
                .map(|(speaker, start, length, confidence, language, words)| {
                    json!({
                        "text": vec!["word"; words].join(" \u{3000}"),
                        "confidence": f64::from(confidence) / 1_000.0,
                        "startTime": start * 1_000, "endTime": (start + length) * 1_000,
                        "speakerId": SPEAKERS[speaker], "language": language,
                        "chunkId": format!("{start}"),
                    })
                })
                .collect();
            ada.call(INGEST_ALL, json!({"meetingId": id, "chunks": chunks})).value();
        }
        prop_assert_eq!(figures(&ada, &id), recounted(&app));
        Ok(())
    });
    outcome.unwrap();
}
