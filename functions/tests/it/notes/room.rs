//! A meeting with notes for tests, and short ways to call each function on them.

use convoke::testing::{Reply, TestApp, TestCaller};
use functions::notes::edits;
use functions::notes::operation::{Operation, Text};
use serde_json::{Value, json};

use crate::support::with;

/// A meeting hosted by Ada, with Ben.
pub(super) struct Room<'app> {
    pub ada: TestCaller<'app>,
    pub ben: TestCaller<'app>,
    pub meeting: String,
}

/// An app without rate limits, with a stopped clock.
pub(super) fn unlimited() -> TestApp {
    TestApp::with(|options| options.settings = "[rates]\nnotes = 0\nread = 0".parse().expect("settings are TOML"))
}

impl<'app> Room<'app> {
    pub(super) fn new(app: &'app TestApp) -> Self {
        Self::made(app, json!({}))
    }

    /// One created with other arguments.
    pub(super) fn made(app: &'app TestApp, changes: Value) -> Self {
        let (ada, ben) = (app.user("ada"), app.user("ben"));
        ben.call("users/queries/getCurrentUser", json!({})).value();
        let args = with(json!({"title": "Notes", "participantEmails": ["ben@example.com"]}), changes);
        let made = ada.call("meetings/lifecycle/createMeeting", args);
        let meeting = made.value()["meetingId"].as_str().expect("an id is a text").to_owned();
        Self { ada, ben, meeting }
    }

    /// Calls a function with the meeting's id and `args`.
    pub(super) fn call(&self, caller: &TestCaller<'_>, path: &str, args: Value) -> Reply {
        caller.call(path, with(json!({"meetingId": self.meeting}), args))
    }

    /// Applies an operation made on the log up to `seen`.
    pub(super) fn apply(&self, caller: &TestCaller<'_>, seen: i64, operation: Value) -> Reply {
        self.apply_with(caller, json!({"clientSequence": seen, "operation": operation}))
    }

    pub(super) fn apply_with(&self, caller: &TestCaller<'_>, args: Value) -> Reply {
        self.call(caller, "notes/index/applyNoteOperation", args)
    }

    /// Queues a client's offline operations.
    pub(super) fn queue(&self, caller: &TestCaller<'_>, client: &str, operations: Value, changes: Value) -> Reply {
        let args = with(json!({"clientId": client, "operations": operations}), changes);
        self.call(caller, "notes/offline/queueOfflineOperations", args)
    }

    /// Calls another function of a client's queue.
    pub(super) fn of_queue(&self, caller: &TestCaller<'_>, client: &str, function: &str, changes: Value) -> Value {
        let args = with(json!({"clientId": client}), changes);
        self.call(caller, &format!("notes/offline/{function}"), args).value().clone()
    }

    pub(super) fn notes(&self) -> Value {
        self.call(&self.ada, "notes/queries/getMeetingNotes", json!({})).value().clone()
    }

    pub(super) fn text(&self) -> String {
        self.notes()["content"].as_str().expect("content is a text").to_owned()
    }

    /// Returns the whole log, read in pages.
    pub(super) fn log(&self) -> Vec<Value> {
        let mut entries = Vec::new();
        let mut from = 1;
        loop {
            let args = json!({"fromSequence": from, "limit": 7});
            let page = self.call(&self.ada, "notes/queries/listNoteOperations", args).value().clone();
            let operations = page["operations"].as_array().expect("operations are an array");
            if operations.is_empty() {
                return entries;
            }
            entries.extend(operations.iter().cloned());
            from = page["nextSequence"].as_i64().expect("a sequence is a number");
        }
    }

    /// Returns the text of the log. Every entry must fit in order.
    pub(super) fn replayed(&self) -> String {
        let mut text = Text::default();
        for (place, entry) in self.log().iter().enumerate() {
            assert_eq!(entry["sequence"], place + 1, "sequences have no gap");
            text.apply(&logged(entry)).expect("an entry of the log fits when its turn comes");
        }
        String::from(&text)
    }
}

/// Returns the operation of a log entry.
pub(super) fn logged(entry: &Value) -> Operation {
    edits::logged(serde_json::from_value(entry["operation"].clone()).expect("an entry holds an edit"))
}

pub(super) fn insert(position: usize, content: &str) -> Value {
    json!({"type": "insert", "position": position, "content": content})
}

pub(super) fn delete(position: usize, length: usize) -> Value {
    json!({"type": "delete", "position": position, "length": length})
}

pub(super) fn retain(position: usize) -> Value {
    json!({"type": "retain", "position": position})
}

/// Returns an operation in the form of a call.
pub(super) fn sent(operation: &Operation) -> Value {
    serde_json::to_value(edits::edit(operation)).expect("an edit is JSON")
}

/// Returns an operation in the form of an offline client.
pub(super) fn offline(client: &str, id: &str, sequence: i64, operation: Value) -> Value {
    let rest = json!({
        "id": id, "clientId": client, "authorId": "whoever", "attempts": 0, "queuedAt": 1, "timestamp": 1,
        "sequence": sequence, "status": "pending",
    });
    with(rest, operation)
}
