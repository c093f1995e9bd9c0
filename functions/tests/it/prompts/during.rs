//! Prompts during a call: generated in a silence.

use std::time::Duration;

use convoke::testing::TestApp;
use schema::Prompt;
use serde_json::json;

use super::{IN_CALL, contents, join, say};
use crate::support::{id_of, meeting};

const LULL: Duration = Duration::from_secs(30);
const MOMENT: Duration = Duration::from_millis(1);
const QUESTION: &str = "Still open: “Who pays for the index?” Who can answer it?";

#[test]
fn half_a_minute_of_silence_prompts_for_open_questions() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    for caller in [&bob, &cleo] {
        id_of(caller);
    }
    let id = meeting(&ada, &["bob", "cleo"]);
    join(&ada, &id);
    join(&bob, &id);
    say(&ada, &id, 0, "The vector database is slow.");
    app.advance(LULL - MOMENT);
    // Speech restarts the silence, and one watch is pending, not two.
    say(&bob, &id, 30, "The vector database needs an index. Who pays for the index?");
    let watches = app.pending_jobs().iter().filter(|job| job.path == "prompts/watchLull").count();
    assert_eq!(watches, 1);
    app.advance(LULL - MOMENT);
    assert_eq!(app.count::<Prompt>(), 0);
    app.advance(MOMENT);
    for caller in [&ada, &bob] {
        let contents = contents(caller, IN_CALL, &id);
        assert_eq!(contents[0], QUESTION);
        assert!(contents.iter().any(|content| content.contains("vector database")), "{contents:?}");
    }
    // Absent participants get no prompts.
    assert!(contents(&cleo, IN_CALL, &id).is_empty());
    // One set of prompts per silence; the next one repeats nothing.
    let before = app.count::<Prompt>();
    app.advance(10 * LULL);
    say(&ada, &id, 40, "Hm.");
    app.advance(LULL);
    assert_eq!(app.count::<Prompt>(), before);
}

#[test]
fn interim_words_do_not_start_a_watch() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let interim = json!({
        "meetingId": id, "text": "Who pays", "confidence": 0.5, "startTime": 0, "endTime": 1, "isInterim": true,
    });
    ada.call("transcripts/ingestion/ingestTranscriptChunk", interim).value();
    assert!(app.pending_jobs().iter().all(|job| job.path != "prompts/watchLull"));
}

#[test]
fn lone_participant_or_ended_meeting_gets_no_prompts() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let alone = meeting(&ada, &["bob"]);
    join(&ada, &alone);
    say(&ada, &alone, 0, "Who pays for the index?");
    let over = meeting(&ada, &["bob"]);
    join(&ada, &over);
    join(&bob, &over);
    say(&ada, &over, 0, "Who pays for the index?");
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": over})).value();
    app.advance(2 * LULL);
    assert_eq!(app.count::<Prompt>(), 0);
}
