//! A process that is killed while runs advance, again and again: each mutation step has its effect once, each action
//! step starts at least once with one key, and the steps of a run keep their order.
//!
//! The process is this test binary itself: it runs the ignored test below, which is a small server of workflows.
//! `CONVOKE_TEST_KILLS` sets the number of kills.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use convoke::Caller;
use convoke::embed::{Runtime, RuntimeOptions};
use convoke::prelude::*;
use convoke::workflows::RunState;

const FOLDER: &str = "CONVOKE_TEST_KILLED_RUNS_FOLDER";
/// File of the outside service: a line for each start of an action.
const STARTS: &str = "starts";
const RUNS: i64 = 150;
const STEPS: i64 = 6;
const KILLS: u64 = 8;

/// The effect of a step. It has no unique key, so that a repeated effect is visible.
#[table(name = "killedEffects", prefix = "killedeffect")]
#[index(by_run(n))]
pub(super) struct KilledEffect {
    pub n: i64,
    pub step: i64,
}

#[args]
pub(super) struct Numbered {
    pub n: i64,
    pub step: i64,
}

#[mutation(internal)]
pub(super) fn write(ctx: &mut MutationCtx, args: Numbered) -> Result<i64> {
    ctx.db_mut().insert(KilledEffect { n: args.n, step: args.step })?;
    Ok(args.step)
}

/// Appends a line to the file of the outside service, as an effect that no transaction takes back.
#[action(internal)]
pub(super) async fn reach_out(ctx: &ActionCtx, args: Numbered) -> Result<()> {
    let path = Path::new(&std::env::var_os(FOLDER).unwrap_or_default()).join(STARTS);
    let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(Error::internal)?;
    let mut line = String::new();
    let _ = writeln!(line, "{} {} {}", args.n, args.step, ctx.attempt());
    file.write_all(line.as_bytes()).map_err(Error::internal)?;
    ctx.sleep(Duration::from_millis(2)).await;
    Ok(())
}

#[workflow]
pub(super) async fn long(ctx: &WorkflowCtx, args: Numbered) -> Result<i64> {
    let mut sum = 0;
    for step in 0..STEPS {
        sum += ctx.run::<write>(Numbered { n: args.n, step }).await?;
        ctx.run::<reach_out>(Numbered { n: args.n, step }).await?;
        ctx.sleep(Duration::from_millis(5)).await?;
    }
    Ok(sum)
}

#[mutation(internal)]
pub(super) fn seed(ctx: &mut MutationCtx) -> Result<()> {
    for n in 0..RUNS {
        ctx.start::<long>(Numbered { n, step: 0 })?;
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
fn process_with_runs_to_be_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    executor().block_on(async {
        let runtime = runtime(Path::new(&folder));
        let background = runtime.start_background();
        while runtime.runs().count(RunState::Active).await.unwrap() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        background.stop().await;
        runtime.store().close();
    });
}

#[test]
fn killed_runs_have_each_effect_once_and_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let executor = executor();
    executor.block_on(async {
        let runtime = runtime(folder.path());
        runtime.run::<seed>(Caller::System, NoArgs {}).await.unwrap();
        runtime.store().close();
    });
    let kills = std::env::var("CONVOKE_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    for kill in 0..=kills {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "workflow::killed::process_with_runs_to_be_killed"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if kill < kills {
            // A prime, so that the kills fall on different borders of the steps.
            std::thread::sleep(Duration::from_millis(200 + kill * 37 % 300));
            process.kill().unwrap();
        }
        let status = process.wait().unwrap();
        assert!(kill < kills || status.success(), "the last process ends when all runs have ended");
    }
    executor.block_on(async {
        let runtime = runtime(folder.path());
        assert_eq!(runtime.runs().count(RunState::Completed).await.unwrap(), RUNS.unsigned_abs());
        let effects = runtime.read(|db| Ok(db.scan::<KilledEffect>().take(usize::MAX)?)).unwrap();
        let mut of_run: HashMap<i64, Vec<i64>> = HashMap::new();
        for effect in &effects {
            of_run.entry(effect.n).or_default().push(effect.step);
        }
        let once: Vec<i64> = (0..STEPS).collect();
        assert!(of_run.values().all(|steps| *steps == once), "an effect is missing, repeated or out of order");
        runtime.store().close();
    });
    let starts = std::fs::read_to_string(folder.path().join(STARTS)).unwrap();
    let mut keys: HashMap<(&str, &str), Vec<&str>> = HashMap::new();
    for line in starts.lines() {
        let mut parts = line.split(' ');
        let (n, step, key) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        keys.entry((n, step)).or_default().push(key);
    }
    assert_eq!(keys.len(), usize::try_from(RUNS * STEPS).unwrap(), "each action step started");
    assert!(keys.values().all(|of_step| of_step.iter().all(|key| key == &of_step[0])), "one key for all attempts");
}
