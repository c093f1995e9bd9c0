//! Everything under `insights/`.

mod afterwards;
mod generating;
mod own;
mod provider;
mod service;

use convoke::testing::{Reply, TestApp, TestCaller};
use serde_json::{Value, json};

use crate::support::{id_of, meeting, with};

pub(crate) const GENERATE: &str = "insights/index/generateInsights";
pub(crate) const OWN: &str = "insights/queries/getMeetingInsights";

/// A meeting of ada with bob and carol, which ada and bob have joined.
pub(crate) fn gathering(app: &TestApp) -> String {
    let people = ["bob", "carol"];
    for name in people {
        id_of(&app.user(name));
    }
    let id = meeting(&app.user("ada"), &people);
    for name in ["ada", "bob"] {
        app.user(name).call("meetings/lifecycle/joinMeeting", json!({"meetingId": id})).value();
    }
    id
}

/// Adds a chunk at this number of seconds after the epoch.
pub(crate) fn say(speaker: &TestCaller<'_>, meeting: &str, second: i64, text: &str) {
    let times = json!({"startTime": second * 1_000, "endTime": (second + 2) * 1_000});
    let args = with(times, json!({"meetingId": meeting, "text": text, "confidence": 0.9}));
    speaker.call("transcripts/ingestion/ingestTranscriptChunk", args).value();
}

/// Inserts text at the beginning of the notes.
pub(crate) fn write(author: &TestCaller<'_>, meeting: &str, text: &str) {
    let notes = author.call("notes/queries/getMeetingNotes", json!({"meetingId": meeting}));
    let operation = json!({"type": "insert", "position": 0, "content": text});
    let args = json!({"meetingId": meeting, "clientSequence": notes.value()["sequence"], "operation": operation});
    author.call("notes/index/applyNoteOperation", args).value();
}

pub(crate) fn generate(caller: &TestCaller<'_>, meeting: &str) -> Reply {
    caller.call(GENERATE, json!({"meetingId": meeting}))
}

pub(crate) fn force(caller: &TestCaller<'_>, meeting: &str) -> Reply {
    caller.call(GENERATE, json!({"meetingId": meeting, "forceRegenerate": true}))
}

/// Returns the number of generated insights, and all ids.
pub(crate) fn counted(reply: &Reply) -> (i64, Vec<String>) {
    let value = reply.value();
    assert_eq!(value["success"], true);
    let ids = value["participantInsights"].as_array().unwrap();
    let ids = ids.iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    (value["insightsGenerated"].as_i64().unwrap(), ids)
}

/// Returns the caller's insights of a meeting.
pub(crate) fn own(caller: &TestCaller<'_>, meeting: &str) -> Value {
    caller.call(OWN, json!({"meetingId": meeting})).value().clone()
}

pub(crate) fn end(app: &TestApp, meeting: &str) {
    app.user("ada").call("meetings/lifecycle/endMeeting", json!({"meetingId": meeting})).value();
}
