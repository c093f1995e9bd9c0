//! The lines of a stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::recent_calls::CallRecord;
use crate::trace::LogRecord;

/// A line. Its JSON is `{"type":"call",…}` with the members of [`CallRecord`], or
/// `{"type":"event","time":1732180000000,"level":"WARN","target":"convoke::job","message":"…","fields":{…}}`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum Line {
    /// A completed call.
    Call(Arc<CallRecord>),
    /// An event of the runtime.
    Event(Arc<Event>),
}

/// An event of the runtime.
#[derive(Debug, Serialize)]
pub(super) struct Event {
    /// Time, in milliseconds since the epoch.
    time: u64,
    level: &'static str,
    target: &'static str,
    message: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fields: BTreeMap<&'static str, String>,
}

impl Line {
    pub(super) fn event(record: &LogRecord) -> Self {
        Line::Event(Arc::new(Event {
            time: record.time_ns / 1_000_000,
            level: record.severity.as_str(),
            target: record.target,
            message: record.message.clone(),
            fields: record.fields.iter().cloned().collect(),
        }))
    }

    /// Returns its approximate size in memory.
    pub(super) fn bytes(&self) -> usize {
        const FIXED: usize = 256;
        FIXED
            + match self {
                Line::Call(call) => call.bytes(),
                Line::Event(event) => event.message.len() + event.fields.values().map(String::len).sum::<usize>(),
            }
    }
}

/// Returns lines as text, each with its line break.
pub(super) fn text(lines: &[Line]) -> Vec<u8> {
    let mut text = Vec::with_capacity(256 * lines.len());
    for line in lines {
        let before = text.len();
        match serde_json::to_writer(&mut text, line) {
            Ok(()) => text.push(b'\n'),
            // All members are strings and numbers, so this does not happen. Half a line would break its reader.
            Err(_) => text.truncate(before),
        }
    }
    text
}
