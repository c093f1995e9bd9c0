//! The replay of a run's journal while its function is polled: recorded results, new steps, and the first mismatch.

use std::collections::BTreeMap;

use convoke_core::clock::Millis;
use convoke_core::id::Id;

use crate::rows::retry::Retry;
use crate::rows::run::{Run, Step, StepKind, StepState, signature};
use crate::services::Services;
use convoke_store::Doc;

/// A step of the journal, as its future sees it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub kind: StepKind,
    pub name: String,
    pub state: StepState,
    pub value: Option<String>,
    pub error: Option<String>,
    pub done: Option<u32>,
    /// True if the code has reached it.
    pub is_reached: bool,
}

/// A step that the journal lacks.
#[derive(Clone, Debug)]
pub(crate) struct NewStep {
    pub position: u32,
    pub kind: StepKind,
    pub name: String,
    pub work: Work,
}

/// The work of a new step.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Calls a function.
    Call(Call),
    /// Waits for a time.
    Sleep(Millis),
    /// Waits for a signal, at most until a time.
    Wait(Option<Millis>),
    /// Records the time.
    Now(Millis),
    /// Starts another run.
    Start { args: String, version: u32, key: Option<String> },
    /// Creates a one-time URL.
    Callback,
}

/// A call of a function.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub args: String,
    pub is_action: bool,
    pub retry: Option<Retry>,
    pub queue: Option<String>,
    pub key: Option<String>,
    pub undo: Option<Undo>,
}

/// A compensation.
#[derive(Clone, Debug)]
pub(crate) struct Undo {
    pub path: String,
    pub args: String,
    pub is_action: bool,
}

/// The state of one replay.
pub(crate) struct Replay {
    pub services: Services,
    pub run: Id<Run>,
    pub version: u32,
    pub now: Millis,
    /// The steps that the code has not received yet.
    entries: BTreeMap<u32, Entry>,
    /// The order of completion of the steps that the code has received.
    received: BTreeMap<u32, Option<u32>>,
    /// Number of entries that the code has not reached.
    unreached: usize,
    /// Number of pending entries.
    pending: usize,
    next: u32,
    pub new: Vec<NewStep>,
    /// Steps that lost against another branch.
    pub abandoned: Vec<u32>,
    /// The first difference between the code and the journal.
    pub mismatch: Option<String>,
}

impl Replay {
    pub(crate) fn new(services: Services, run: &Doc<Run>, now: Millis, entries: BTreeMap<u32, Entry>) -> Self {
        let (run, version) = (run.id(), run.version);
        let (new, abandoned) = (Vec::new(), Vec::new());
        let unreached = entries.len();
        let pending = entries.values().filter(|entry| entry.state == StepState::Pending).count();
        Self {
            services,
            run,
            version,
            now,
            entries,
            received: BTreeMap::new(),
            unreached,
            pending,
            next: 0,
            new,
            abandoned,
            mismatch: None,
        }
    }

    /// Returns the position of a new step of the code.
    pub(crate) fn next_position(&mut self) -> u32 {
        let position = self.next;
        self.next = self.next.saturating_add(1);
        position
    }

    /// Returns the recorded step at a position. Without one, records `work` as new.
    pub(crate) fn reach(
        &mut self,
        position: u32,
        kind: StepKind,
        name: &str,
        work: impl FnOnce(Millis) -> Work,
    ) -> Option<&Entry> {
        if self.mismatch.is_some() {
            return None;
        }
        if self.entries.contains_key(&position) {
            let entry = self.entries.get_mut(&position)?;
            if !entry.is_reached {
                entry.is_reached = true;
                self.unreached -= 1;
            }
            if entry.kind != kind || entry.name != name {
                let (was, is) = (signature(entry.kind, &entry.name), signature(kind, name));
                self.mismatch = Some(format!("step {position} was `{was}` and is `{is}` in the code"));
                return None;
            }
        } else {
            let work = work(self.now);
            self.new.push(NewStep { position, kind, name: name.to_owned(), work });
            let pending = Entry {
                kind,
                name: name.to_owned(),
                state: StepState::Pending,
                value: None,
                error: None,
                done: None,
                is_reached: true,
            };
            self.entries.insert(position, pending);
            self.pending += 1;
        }
        self.entries.get(&position)
    }

    /// Records that the journal has the result of a pending step.
    pub(crate) fn complete(&mut self, step: &Step) {
        if let Some(entry) = self.entries.get_mut(&step.position) {
            (entry.state, entry.done) = (step.state, step.done);
            (entry.value, entry.error) = (step.value.clone(), step.error.clone());
            self.pending -= 1;
        }
    }

    /// Forgets a step whose result the code has received.
    pub(crate) fn receive(&mut self, position: u32) {
        if let Some(entry) = self.entries.remove(&position) {
            self.received.insert(position, entry.done);
        }
    }

    /// Returns true if the code has received the result of a step.
    pub(crate) fn is_received(&self, position: u32) -> bool {
        self.received.contains_key(&position)
    }

    /// Continues at a pending step that has ended now.
    pub(crate) fn resume(&mut self, step: &Step, now: Millis) {
        self.now = now;
        self.complete(step);
    }

    /// Returns the order of a step's completion.
    pub(crate) fn done(&self, position: u32) -> Option<u32> {
        match self.received.get(&position) {
            Some(done) => *done,
            None => self.entries.get(&position)?.done,
        }
    }

    /// Gives up a step that lost against another branch.
    pub(crate) fn abandon(&mut self, position: u32) {
        if let Some(entry) = self.entries.get_mut(&position)
            && entry.state == StepState::Pending
        {
            entry.state = StepState::Abandoned;
            self.pending -= 1;
            self.abandoned.push(position);
        }
    }

    /// Returns the reason why the code does not fit the journal.
    pub(crate) fn misfit(&self) -> Option<String> {
        let lost = || {
            if self.unreached == 0 {
                return None;
            }
            let (position, entry) = self.entries.iter().find(|(_, entry)| !entry.is_reached)?;
            Some(format!("step {position} `{}` is not in the code any more", signature(entry.kind, &entry.name)))
        };
        self.mismatch.clone().or_else(lost)
    }

    /// Returns true if a step is pending.
    pub(crate) fn waits(&self) -> bool {
        self.pending > 0
    }

    /// Returns true if only the last step is pending, and it is at this position.
    pub(crate) fn waits_only_for(&self, position: u32) -> bool {
        let is_last = self.received.last_key_value().is_none_or(|(received, _)| *received < position);
        let last = self.entries.last_key_value().filter(|_| is_last && self.pending == 1);
        last.is_some_and(|(last, entry)| *last == position && entry.state == StepState::Pending)
    }
}
