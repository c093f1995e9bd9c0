//! Transcripts of meetings.

mod ingestion;
mod reading;
mod refusals;

use convoke::testing::TestCaller;
use serde_json::{Value, json};

use crate::support::with;

pub(crate) const INGEST: &str = "transcripts/ingestion/ingestTranscriptChunk";
pub(crate) const INGEST_ALL: &str = "transcripts/ingestion/ingestTranscriptChunks";

/// A chunk of two seconds that begins so many seconds after the epoch.
pub(crate) fn chunk(second: i64, text: &str) -> Value {
    json!({"text": text, "confidence": 0.9, "startTime": second * 1_000, "endTime": (second + 2) * 1_000})
}

/// Arguments of `ingestTranscriptChunk`.
pub(crate) fn of(meeting: &str, chunk: Value) -> Value {
    with(chunk, json!({"meetingId": meeting}))
}

/// Returns the result of `getTranscriptStats`.
pub(crate) fn figures(caller: &TestCaller<'_>, meeting: &str) -> Value {
    caller.call("transcripts/ingestion/getTranscriptStats", json!({"meetingId": meeting})).value().clone()
}

/// Returns the result of `listTranscriptChunks`.
pub(crate) fn list(caller: &TestCaller<'_>, args: Value) -> Value {
    caller.call("transcripts/queries/listTranscriptChunks", args).value().clone()
}
