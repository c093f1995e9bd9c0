//! `getTranscriptStats`, `listTranscriptChunks`.

use convoke::testing::TestApp;
use serde_json::{Value, json};

use super::{INGEST, INGEST_ALL, chunk, figures, list, of};
use crate::support::{id_of, meeting, with};

#[test]
fn without_chunks_all_figures_are_zero_and_empty() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let nothing = json!({
        "totalChunks": 0, "totalWords": 0, "averageConfidence": 0.0, "duration": 0, "speakers": [], "languages": [],
        "bucketCount": 0,
    });
    assert_eq!(figures(&ada, &id), nothing);
    assert_eq!(list(&ada, json!({"meetingId": id})), json!({"chunks": [], "nextSequence": 1}));
}

#[test]
fn figures_are_over_all_final_chunks() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let bob_id = id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    bob.call(INGEST, of(&id, with(chunk(600, "well-known  facts\u{a0}here"), json!({"confidence": 1})))).value();
    ada.call(INGEST, of(&id, with(chunk(10, "Ja."), json!({"confidence": 0.5, "language": "de"})))).value();
    bob.call(INGEST, of(&id, with(chunk(12, "Yes, yes."), json!({"confidence": 0.5})))).value();
    assert_eq!(
        figures(&bob, &id),
        json!({
            "totalChunks": 3, "totalWords": 6, "averageConfidence": 0.666_667, "duration": 592_000,
            "speakers": [bob_id, id_of(&ada)], "languages": ["de"], "bucketCount": 2,
        })
    );
}

#[test]
fn figures_name_as_many_languages_as_the_quota_allows_and_every_chunk_is_stored() {
    let app = TestApp::with(|options| options.settings = "[quotas]\ntranscript_languages = 2\n".parse().unwrap());
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    for (at, language) in (0..).zip(["en", "de", "fr", "de"]) {
        ada.call(INGEST, of(&id, with(chunk(at, "Ja."), json!({ "language": language })))).value();
    }
    let figures = figures(&ada, &id);
    assert_eq!((&figures["totalChunks"], &figures["languages"]), (&json!(4), &json!(["en", "de"])));
    let listed = list(&ada, json!({"meetingId": id}));
    assert_eq!(listed["chunks"][2]["language"], "fr");
}

#[test]
fn three_letter_language_becomes_two_letters_and_missing_is_unknown() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    for (at, language) in (0..).zip([json!({"language": "deu"}), json!({"language": "fre-CA"}), json!({})]) {
        ada.call(INGEST, of(&id, with(chunk(at, "Ja."), language))).value();
    }
    assert_eq!(figures(&ada, &id)["languages"], json!(["de", "fr-CA"]));
    let listed = list(&ada, json!({"meetingId": id}));
    let languages: Vec<&Value> = listed["chunks"].as_array().unwrap().iter().map(|chunk| &chunk["language"]).collect();
    assert_eq!(languages, ["de", "fr-CA", "und"]);
}

#[test]
fn a_reader_follows_the_transcript_page_by_page() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let chunks: Vec<Value> = (0..5).map(|at| chunk(at, &format!("number {at}"))).collect();
    ada.call(INGEST_ALL, json!({"meetingId": id, "chunks": chunks})).value();
    let first = list(&ada, json!({"meetingId": id, "limit": 2}));
    assert_eq!(first["nextSequence"], 3);
    let shown = &first["chunks"][0];
    assert_eq!(
        shown,
        &json!({
            "_id": shown["_id"], "sequence": 1, "speakerId": id_of(&ada), "text": "number 0", "confidence": 0.9,
            "startTime": 0, "endTime": 2_000, "bucketMs": 0, "wordCount": 2, "language": "und",
            "createdAt": app.now().get(),
        })
    );
    let rest = list(&ada, json!({"meetingId": id, "fromSequence": 3}));
    assert_eq!((rest["chunks"].as_array().unwrap().len(), &rest["nextSequence"]), (3, &json!(6)));
    for from in [6, 100] {
        let none = list(&ada, json!({"meetingId": id, "fromSequence": from}));
        assert_eq!(none, json!({"chunks": [], "nextSequence": 6}));
    }
    for limit in [0, 501] {
        let refused = ada.call("transcripts/queries/listTranscriptChunks", json!({"meetingId": id, "limit": limit}));
        assert_eq!(refused.field(), Some("limit"));
    }
}
