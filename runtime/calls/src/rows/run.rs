//! The rows of workflows: runs, their journal, and signals that no step has taken yet.

use convoke_core::clock::Millis;
use convoke_core::id::Id;
use convoke_macros::{table, value};

/// The state of a run.
#[value(name = "RunState")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// It runs, or waits for a step.
    Active,
    /// Its code no longer fits its journal. It continues when the code fits.
    Blocked,
    /// It failed or was cancelled, and its steps are undone in reverse order.
    Undoing,
    /// It returned a value.
    Completed,
    /// It returned an error.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl RunState {
    /// The states of runs that have not ended.
    pub const UNENDED: [RunState; 3] = [RunState::Active, RunState::Blocked, RunState::Undoing];

    /// Returns true if the run has ended.
    pub fn is_end(self) -> bool {
        match self {
            RunState::Active | RunState::Blocked | RunState::Undoing => false,
            RunState::Completed | RunState::Failed | RunState::Cancelled => true,
        }
    }
}

/// One run of a workflow.
#[table(name = "_runs", prefix = "workflowrun")]
#[index(by_key(path, key), unique)]
#[index(by_state(state, ended_at))]
#[index(by_path(path))]
#[index(by_starter(issuer, subject))]
#[derive(PartialEq)]
pub struct Run {
    /// Path of the workflow.
    pub path: String,
    /// Version of the workflow at the start.
    pub version: u32,
    /// Key: one run per workflow and key is stored.
    pub key: Option<String>,
    /// The arguments' JSON.
    pub args: String,
    /// State.
    pub state: RunState,
    /// Issuer of the identity that started it.
    pub issuer: Option<String>,
    /// Subject of the identity that started it.
    pub subject: Option<String>,
    /// True if its steps run as the identity that started it.
    pub acts: bool,
    /// Number of completed steps.
    pub done: u32,
    /// Bytes of the journal.
    pub bytes: i64,
    /// The result's JSON.
    pub value: Option<String>,
    /// The error: code and message.
    pub error: Option<String>,
    /// True if it was cancelled.
    pub is_cancelled: bool,
    /// Reason why it is blocked.
    pub blocked: Option<String>,
    /// Process that found it blocked.
    pub blocked_by: Option<u32>,
    /// Time of its end.
    pub ended_at: Option<Millis>,
    /// The span that started it, as a `traceparent`, if its trace is recorded.
    pub trace: Option<String>,
}

/// The kind of a step.
#[value(name = "StepKind")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// A call of a function.
    Run,
    /// A pause.
    Sleep,
    /// A wait for a signal.
    Wait,
    /// A reading of the clock.
    Now,
    /// The start of another run.
    Start,
    /// A one-time URL.
    Callback,
}

/// The state of a step.
#[value(name = "StepState")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// It waits, runs, or is retried.
    Pending,
    /// It has a value.
    Done,
    /// It has an error.
    Failed,
    /// Another branch was faster, or the run ended.
    Abandoned,
}

/// The state of a compensation.
#[value(name = "UndoState")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum UndoState {
    /// It runs.
    Pending,
    /// It has run.
    Done,
    /// It failed.
    Failed,
}

/// An entry of a run's journal.
#[table(name = "_steps", prefix = "workflowstep")]
#[index(by_run(run, position), unique)]
pub struct Step {
    /// The run.
    pub run: Id<Run>,
    /// Position, from 0, in the order in which the code creates its steps.
    pub position: u32,
    /// Kind.
    pub kind: StepKind,
    /// Name: the path of the function or workflow, or the name of the signal.
    pub name: String,
    /// The arguments' JSON.
    pub args: Option<String>,
    /// State.
    pub state: StepState,
    /// The value's JSON. A wait without a value timed out.
    pub value: Option<String>,
    /// The error: code and message as JSON.
    pub error: Option<String>,
    /// Order of its completion within the run.
    pub done: Option<u32>,
    /// Failed attempts; of a one-time URL, its uses.
    pub attempts: u32,
    /// Error of the last failed attempt.
    pub last_error: Option<String>,
    /// Time at which a pause or a wait ends.
    pub until: Option<Millis>,
    /// Time of its completion.
    pub ended_at: Option<Millis>,
    /// Path of its compensation.
    pub undo: Option<String>,
    /// The JSON of the arguments of its compensation.
    pub undo_args: Option<String>,
    /// True if its compensation is an action.
    pub undoes_by_action: bool,
    /// State of its compensation.
    pub undone: Option<UndoState>,
}

impl Step {
    /// Returns its kind and name, which must stay the same at this position.
    pub fn signature(&self) -> String {
        signature(self.kind, &self.name)
    }
}

/// Returns the text of a kind and a name.
pub(crate) fn signature(kind: StepKind, name: &str) -> String {
    format!("{} {name}", kind.as_str()).trim_end().to_owned()
}

/// A signal that no step has taken yet.
#[table(name = "_signals", prefix = "workflowsignal")]
#[index(by_run(run, name))]
pub struct Signal {
    /// The run.
    pub run: Id<Run>,
    /// Name.
    pub name: String,
    /// The value's JSON.
    pub value: String,
}

/// The part of a run that a job does.
#[value(name = "RunPart")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RunPart {
    /// Advances the run.
    Advance,
    /// Ends a pause or a wait.
    Timer,
    /// Runs a step.
    Step,
    /// Undoes a step.
    Undo,
}

/// The run and the step that a job belongs to.
#[value(name = "JobOfRun")]
#[derive(Clone, Debug, PartialEq)]
pub struct OfRun {
    /// The run.
    pub run: Id<Run>,
    /// Position of the step; 0 for an advance.
    pub position: u32,
    /// Part.
    pub part: RunPart,
}

impl OfRun {
    /// Returns the key of the job: at most one job of a part is pending.
    pub(crate) fn key(&self) -> String {
        let Self { run, position, part } = self;
        match part {
            RunPart::Advance => run.to_string(),
            RunPart::Timer => format!("{run}/{position}/timer"),
            RunPart::Step => format!("{run}/{position}"),
            RunPart::Undo => format!("{run}/{position}/undo"),
        }
    }
}
