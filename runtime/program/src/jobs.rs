//! `jobs`: lists, runs and cancels scheduled work.

use clap::Subcommand;
use hyper::Method;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::connect::ConnectArgs;
use super::failure::Failure;
use super::table;
use convoke_calls::scheduler::JobState;
use convoke_store::Engines;

/// Show scheduled jobs; run failed and pending ones now, cancel pending ones
///
/// A job that succeeds is deleted. A job whose attempts have all failed stays for 30 days. A job that waits for its
/// next attempt has the state pending.
///
///   convoke jobs list
///   convoke jobs retry job_01h455vb4pex5vsknk084sn02q
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Jobs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the jobs of a state, the crons, and the number of jobs per state
    List(List),
    /// Show one job with its arguments and its last error
    Show(One),
    /// Run a job now: a failed job with all its attempts, a pending job with its remaining attempts
    Retry(One),
    /// Cancel a pending job
    Cancel(One),
}

#[derive(clap::Args)]
struct List {
    /// pending, running or failed
    #[arg(long, value_name = "STATE", default_value = "failed")]
    state: JobState,
    /// Maximum number of jobs
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Print JSON, with the cursor of the next page
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct One {
    /// The job's id, as `convoke jobs list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

impl Jobs {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        match self.what {
            What::List(list) => list.run(engines),
            What::Show(one) => {
                let connection = one.connect.open(engines)?;
                let job: Value = connection.ask(Method::GET, &path(&one.id, ""), None)?;
                table::print_json(&job)
            }
            What::Retry(one) => one.change(engines, "retry", "is due now"),
            What::Cancel(one) => one.change(engines, "cancel", "was cancelled"),
        }
    }
}

/// Returns the path of an admin request for a job.
fn path(id: &str, what: &str) -> String {
    format!("jobs/{}{what}", table::encoded(id))
}

impl One {
    fn change(self, engines: &Engines, what: &str, done: &str) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let _: Value = connection.ask(Method::POST, &path(&self.id, &format!("/{what}")), None)?;
        note!("the job {} {done}", self.id);
        if connection.in_process().is_some() && what == "retry" {
            note!("no server runs on this data folder; the job runs when a server starts");
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Listed {
    items: Vec<Item>,
    cursor: Option<String>,
    counts: Map<String, Value>,
    crons: Vec<Cron>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    id: String,
    path: String,
    state: String,
    run_at: i64,
    attempts: u32,
    last_error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cron {
    path: String,
    expression: String,
    next_at: i64,
}

impl List {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let path = format!("jobs?state={}&limit={}", self.state.as_str(), self.limit);
        let listed: Value = connection.ask(Method::GET, &path, None)?;
        if self.json {
            return table::print_json(&listed);
        }
        let Listed { items, cursor, counts, crons } = serde_json::from_value(listed)?;
        if !items.is_empty() {
            let head = ["ID", "FUNCTION", "STATE", "RUN AT", "TRIES", "LAST ERROR"];
            let rows = items.into_iter().map(|job| {
                let error = table::or_dash(job.last_error);
                let error = error.lines().next().unwrap_or_default().to_owned();
                [job.id, job.path, job.state, table::time(job.run_at), job.attempts.to_string(), error]
            });
            table::print_rows(head, rows)?;
        }
        if !crons.is_empty() {
            let head = ["RUNS BY ITSELF", "WHEN", "NEXT"];
            let rows = crons.into_iter().map(|cron| [cron.path, cron.expression, table::time(cron.next_at)]);
            table::print_rows(head, rows)?;
        }
        let counts: Vec<_> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
        note!("jobs: {}{}", counts.join(", "), if cursor.is_some() { "; more with --limit" } else { "" });
        Ok(())
    }
}
