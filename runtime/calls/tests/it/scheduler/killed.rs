//! A process that is killed while jobs run, again and again: every mutation has its effect once, no action is started
//! twice.
//!
//! The process is this test binary itself: it runs the ignored test below, which is a small server of jobs.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use convoke::Caller;
use convoke::embed::{Runtime, RuntimeOptions};
use convoke::prelude::*;
use convoke::scheduler::JobState;
use convoke_core::clock::{Clock as _, SystemClock};

use super::functions::{Effect, Numbered, leave};

const FOLDER: &str = "CONVOKE_TEST_KILLED_FOLDER";
/// Output of the process after the first job.
const RUNNING: &str = "jobs are running";
const MUTATIONS: i64 = 4_000;
const ACTIONS: i64 = 400;
const KILLS: u64 = 6;

/// An external effect of an action: it cannot be undone, and therefore must not be repeated.
#[table(name = "killedStarts", prefix = "killedstart")]
pub(super) struct Started {
    pub n: i64,
}

#[mutation(internal)]
pub(super) fn write_start(ctx: &mut MutationCtx, args: Numbered) -> Result<()> {
    ctx.db_mut().insert(Started { n: args.n })?;
    Ok(())
}

#[action(internal)]
pub(super) async fn act(ctx: &ActionCtx, args: Numbered) -> Result<()> {
    ctx.run::<write_start>(args).await?;
    ctx.sleep(Duration::from_millis(20)).await;
    Ok(())
}

#[args]
pub(super) struct Seed {
    pub from: i64,
}

/// Plans a hundred jobs of the two kinds.
#[mutation(internal)]
pub(super) fn seed(ctx: &mut MutationCtx, args: Seed) -> Result<()> {
    for n in args.from..args.from + 100 {
        let after = Duration::from_millis(n.unsigned_abs() % 700);
        ctx.schedule::<leave>(after, Numbered { n })?;
        if n < ACTIONS {
            ctx.schedule::<act>(after, Numbered { n })?;
        }
    }
    Ok(())
}

fn runtime(folder: &Path) -> Runtime {
    Runtime::start(RuntimeOptions::in_folder(folder, convoke::embed::default_engine())).unwrap()
}

fn executor() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
#[ignore = "it is the process that the test below kills"]
fn process_to_be_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    executor().block_on(async {
        let runtime = runtime(Path::new(&folder));
        let all = pending(&runtime).await;
        let background = runtime.start_background();
        while all > 0 && pending(&runtime).await == all {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        eprintln!("{RUNNING}");
        while pending(&runtime).await + runtime.jobs().count(JobState::Running).await.unwrap() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        background.stop().await;
        runtime.store().close();
    });
}

/// Returns the number of jobs that have not run.
async fn left(folder: &Path) -> u64 {
    let runtime = runtime(folder);
    let left = pending(&runtime).await;
    runtime.store().close();
    left
}

async fn pending(runtime: &Runtime) -> u64 {
    runtime.jobs().count(JobState::Pending).await.unwrap()
}

fn start(folder: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "scheduler::killed::process_to_be_killed", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        match line.unwrap() {
            line if line == RUNNING => return child,
            line => said.push(line),
        }
    }
    panic!("it ended before the first job: {said:#?}");
}

#[test]
fn killed_scheduler_runs_each_mutation_once_and_no_action_twice() {
    let folder = tempfile::tempdir().unwrap();
    let executor = executor();
    executor.block_on(async {
        let runtime = runtime(folder.path());
        for from in (0..MUTATIONS).step_by(100) {
            runtime.run::<seed>(Caller::System, Seed { from }).await.unwrap();
        }
        runtime.store().close();
    });
    let clock = SystemClock::new();
    for kill in 0..KILLS {
        let mut child = start(folder.path());
        // Not the same moment each time.
        let chance = u64::from(clock.monotonic().subsec_micros()) % 97;
        std::thread::sleep(Duration::from_millis(1 + 29 * kill + chance / 3));
        child.kill().unwrap();
        child.wait().unwrap();
        if kill == 0 {
            let left = executor.block_on(left(folder.path()));
            let all = u64::try_from(MUTATIONS + ACTIONS).unwrap();
            assert!(left > 0 && left < all, "the first one was killed before or after the work: {left} of {all}");
        }
    }
    assert!(start(folder.path()).wait().unwrap().success());
    let (effects, starts, interrupted) = executor.block_on(async {
        let runtime = runtime(folder.path());
        let interrupted = runtime.jobs().list(JobState::Failed, None, 10_000).await.unwrap().items;
        let found = runtime.run::<counted>(Caller::System, NoArgs {}).await.unwrap();
        runtime.store().close();
        (found.effects, found.starts, interrupted)
    });
    assert_eq!(effects, (0..MUTATIONS).collect::<Vec<_>>(), "an effect is missing or came twice");
    let mut accounted: HashSet<i64> = starts.iter().copied().collect();
    assert_eq!(accounted.len(), starts.len(), "an action was started twice: {starts:?}");
    // Every action was started, or says that it was interrupted before it could be seen to have been.
    for job in &interrupted {
        assert_eq!(job.last_error.as_deref(), Some("INTERNAL: interrupted by a restart"));
        let args: serde_json::Value = serde_json::from_str(&job.args).unwrap();
        accounted.insert(args["n"].as_i64().unwrap());
    }
    assert_eq!(accounted.len(), usize::try_from(ACTIONS).unwrap());
}

/// The effects and the starts that there are, in order.
#[value]
pub(super) struct Counted {
    pub effects: Vec<i64>,
    pub starts: Vec<i64>,
}

#[query(internal)]
pub(super) fn counted(ctx: &QueryCtx) -> Result<Counted> {
    let mut effects: Vec<i64> = ctx.db().scan::<Effect>().take(100_000)?.iter().map(|row| row.n).collect();
    let mut starts: Vec<i64> = ctx.db().scan::<Started>().take(100_000)?.iter().map(|row| row.n).collect();
    effects.retain(|n| *n >= 0);
    effects.sort_unstable();
    starts.sort_unstable();
    Ok(Counted { effects, starts })
}
