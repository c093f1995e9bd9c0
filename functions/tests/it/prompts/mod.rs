//! Prompts before calls and during silences.

mod before;
mod during;
mod feedback;
mod generating;

use convoke::testing::TestCaller;
use serde_json::{Value, json};

use crate::support::with;

pub(crate) const GENERATE: &str = "prompts/generation/generatePrompts";
pub(crate) const PRE_CALL: &str = "prompts/queries/getPreCallPrompts";
pub(crate) const IN_CALL: &str = "prompts/queries/getInCallPrompts";

/// Adds a chunk at a time of the speaker's clock.
pub(crate) fn say(caller: &TestCaller<'_>, meeting: &str, second: i64, text: &str) {
    let chunk =
        json!({"text": text, "confidence": 0.9, "startTime": second * 1_000, "endTime": second * 1_000 + 4_000});
    let args = with(chunk, json!({"meetingId": meeting}));
    caller.call("transcripts/ingestion/ingestTranscriptChunk", args).value();
}

/// Joins a meeting.
pub(crate) fn join(caller: &TestCaller<'_>, meeting: &str) {
    caller.call("meetings/lifecycle/joinMeeting", json!({"meetingId": meeting})).value();
}

/// Generates prompts of a kind.
pub(crate) fn generate(caller: &TestCaller<'_>, meeting: &str, kind: &str) -> Value {
    caller.call(GENERATE, json!({"meetingId": meeting, "kind": kind})).value().clone()
}

/// Returns the visible prompts.
pub(crate) fn shown(caller: &TestCaller<'_>, path: &str, meeting: &str) -> Vec<Value> {
    let prompts = caller.call(path, json!({"meetingId": meeting, "limit": 20}));
    prompts.value().as_array().unwrap().clone()
}

/// Returns their contents.
pub(crate) fn contents(caller: &TestCaller<'_>, path: &str, meeting: &str) -> Vec<String> {
    shown(caller, path, meeting).iter().map(|prompt| prompt["content"].as_str().unwrap().to_owned()).collect()
}
