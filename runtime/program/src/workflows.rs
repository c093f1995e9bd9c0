//! `workflows`: lists, shows, cancels, retries and resumes runs of workflows.

use clap::Subcommand;
use hyper::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::connect::ConnectArgs;
use super::failure::Failure;
use super::table;
use convoke_calls::workflow::RunState;
use convoke_store::Engines;

/// Show runs of workflows with their steps; cancel, retry and resume them
///
/// An ended run is stored for 30 days. A blocked run continues when the program fits its journal again.
///
///   convoke workflows list --state blocked
///   convoke workflows show workflowrun_01h455vb4pex5vsknk084sn02q
///   convoke workflows resume workflowrun_01h455vb4pex5vsknk084sn02q --from 3
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Workflows {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the runs of a state, and the number of runs per state
    List(List),
    /// Show one run with its steps
    Show(Show),
    /// Undo the completed steps of a run in reverse order, and end it
    Cancel(One),
    /// Retry the failed steps of a failed run, or check a blocked run again
    Retry(One),
    /// Continue a run from a step; this step and all later ones run again
    Resume(Resume),
}

#[derive(clap::Args)]
struct List {
    /// active, blocked, undoing, completed, failed or cancelled
    #[arg(long, value_name = "STATE", default_value = "active")]
    state: RunState,
    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Print JSON, with the cursor of the next page
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct Show {
    /// The run's id, as `convoke workflows list` shows it
    id: String,
    /// Print JSON, with the arguments and values of the steps
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct One {
    /// The run's id, as `convoke workflows list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct Resume {
    #[command(flatten)]
    one: One,
    /// Position of the first step that runs again, as `convoke workflows show` shows it
    #[arg(long, value_name = "STEP")]
    from: u32,
}

impl Workflows {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        match self.what {
            What::List(list) => list.run(engines),
            What::Show(show) => show.run(engines),
            What::Cancel(one) => one.change(engines, "cancel", None, "is cancelled"),
            What::Retry(one) => one.change(engines, "retry", None, "is retried"),
            What::Resume(Resume { one, from }) => {
                let done = format!("continues from step {from}");
                one.change(engines, "resume", Some(json!({ "from": from })), &done)
            }
        }
    }
}

/// Returns the path of an admin request for a run.
fn path(id: &str, what: &str) -> String {
    format!("workflows/{}{what}", table::encoded(id))
}

impl One {
    fn change(self, engines: &Engines, what: &str, body: Option<Value>, done: &str) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let path = path(&self.id, &format!("/{what}"));
        let _: Value = connection.ask(Method::POST, &path, body.as_ref())?;
        note!("the run {} {done}", self.id);
        if connection.in_process().is_some() {
            note!("no server runs on this data folder; the run continues when a server starts");
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Listed {
    items: Vec<Item>,
    cursor: Option<String>,
    counts: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    id: String,
    path: String,
    created_at: i64,
    steps_done: u32,
    error: Option<Value>,
    blocked: Option<String>,
}

impl Item {
    /// Returns the reason why the run is blocked, or its error.
    fn problem(&self) -> String {
        let error = || self.error.as_ref().and_then(error_text);
        table::or_dash(self.blocked.clone().or_else(error))
    }
}

fn error_text(error: &Value) -> Option<String> {
    Some(format!("{}: {}", error["code"].as_str()?, error["message"].as_str()?))
}

impl List {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let path = format!("workflows?state={}&limit={}", self.state.as_str(), self.limit);
        let listed: Value = connection.ask(Method::GET, &path, None)?;
        if self.json {
            return table::print_json(&listed);
        }
        let Listed { items, cursor, counts } = serde_json::from_value(listed)?;
        if !items.is_empty() {
            let head = ["ID", "WORKFLOW", "STARTED", "STEPS", "PROBLEM"];
            let rows = items.into_iter().map(|run| {
                let problem = run.problem();
                [run.id, run.path, table::time(run.created_at), run.steps_done.to_string(), problem]
            });
            table::print_rows(head, rows)?;
        }
        let counts: Vec<_> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
        note!("runs: {}{}", counts.join(", "), if cursor.is_some() { "; more with --limit" } else { "" });
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    position: u32,
    kind: String,
    name: String,
    state: String,
    failures: u32,
    started_at: i64,
    ended_at: Option<i64>,
    error: Option<Value>,
    last_error: Option<String>,
    undone: Option<String>,
}

impl Show {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let mut run: Value = connection.ask(Method::GET, &path(&self.id, ""), None)?;
        if self.json {
            return table::print_json(&run);
        }
        let steps: Vec<Step> = serde_json::from_value(run["steps"].take())?;
        if let Some(members) = run.as_object_mut() {
            members.remove("steps");
        }
        table::print_json(&run)?;
        if !steps.is_empty() {
            let head = ["STEP", "KIND", "NAME", "STATE", "STARTED", "ENDED", "FAILURES", "LAST ERROR"];
            let rows = steps.into_iter().map(|step| {
                let error = step.error.as_ref().and_then(error_text).or(step.last_error);
                let state = step.undone.map_or(step.state.clone(), |undone| format!("{}, undo {undone}", step.state));
                [
                    step.position.to_string(),
                    step.kind,
                    step.name,
                    state,
                    table::time(step.started_at),
                    table::or_dash(step.ended_at.map(table::time)),
                    step.failures.to_string(),
                    table::or_dash(error),
                ]
            });
            table::print_rows(head, rows)?;
        }
        Ok(())
    }
}
