//! A process that is killed at each border of a step: in a transaction, after its commit, in an advance, after the effect
//! of an action, in a pause, and in a compensation. Each effect is there once and in order, and the attempts of an action
//! have one key.
//!
//! The process is this test binary itself: it runs the ignored test below, which sends SIGKILL to itself, once per run of
//! the workflow. `CONVOKE_TEST_BORDER_KILLS` sets the number of kills per border.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use convoke::Caller;
use convoke::embed::{Runtime, RuntimeOptions};
use convoke::prelude::*;
use convoke::workflows::{RunState, StepKind, StepState};
use parking_lot::Mutex;
use rustix::process::{Signal, getpid, kill_process};

const FOLDER: &str = "CONVOKE_TEST_BORDER_FOLDER";
const BORDER: &str = "CONVOKE_TEST_BORDER";
const KILLS: &str = "CONVOKE_TEST_BORDER_KILLS";
const KILLS_DEFAULT: usize = 2;
/// Runs beyond those that were killed: they are at other steps when a process is killed.
const RUNS_AHEAD: usize = 8;
/// Steps that follow each other without a pause, so that one commit may have several of them.
const STEPS: i64 = 3;
/// The step at whose borders the process is killed.
const MIDDLE: i64 = 1;
/// The step after the signal, and its compensation.
const LAST: i64 = 10;
const UNDONE: i64 = -1;

/// The borders, by the names that the process receives.
const BORDERS: [&str; 9] = [
    "before the commit of a step",
    "after the commit of a step",
    "in an advance",
    "after the effect of an action",
    "in a pause",
    "before the commit of a signal",
    "after the commit of a signal",
    "before the commit of a compensation",
    "after the commit of a compensation",
];

/// The border of this process, and the runs for which it was killed.
struct Killer {
    border: String,
    log: PathBuf,
    killed: Mutex<BTreeSet<i64>>,
    kills: usize,
}

static KILLER: OnceLock<Killer> = OnceLock::new();

impl Killer {
    fn of_process(folder: &Path) -> Self {
        let log = folder.join("killed");
        let killed = Mutex::new(lines(&log).iter().map(|line| line.parse().unwrap()).collect());
        Self { border: std::env::var(BORDER).unwrap(), log, killed, kills: kills() }
    }
}

/// Kills the process at its border, once per run.
fn at(border: &str, n: i64) {
    let Some(killer) = KILLER.get().filter(|killer| killer.border == border) else { return };
    // The lock is held until the end of the process, so that it is killed for one run.
    let mut killed = killer.killed.lock();
    if killed.len() < killer.kills && killed.insert(n) {
        append(&killer.log, &n.to_string());
        kill_process(getpid(), Signal::KILL).unwrap();
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn append(path: &Path, line: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn kills() -> usize {
    std::env::var(KILLS).ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS_DEFAULT)
}

/// The effect of a step. It has no unique key, so that a repeated effect is visible.
#[table(name = "borderEffects", prefix = "bordereffect")]
pub(super) struct BorderEffect {
    pub n: i64,
    pub step: i64,
}

/// A run that has received its signal.
#[table(name = "borderSignals", prefix = "bordersignal")]
#[index(by_n(n), unique)]
pub(super) struct BorderSignal {
    pub n: i64,
}

#[args]
pub(super) struct AtBorder {
    pub n: i64,
    pub step: i64,
}

#[mutation(internal)]
pub(super) fn leave(ctx: &mut MutationCtx, args: AtBorder) -> Result<()> {
    let AtBorder { n, step } = args;
    ctx.db_mut().insert(BorderEffect { n, step })?;
    let (before, after) = match step {
        MIDDLE => ("before the commit of a step", "after the commit of a step"),
        UNDONE => ("before the commit of a compensation", "after the commit of a compensation"),
        _ => return Ok(()),
    };
    at(before, n);
    ctx.after_commit(move || at(after, n));
    Ok(())
}

/// Has an effect that no transaction takes back.
#[action(internal)]
pub(super) async fn act(ctx: &ActionCtx, args: AtBorder) -> Result<()> {
    let effects = PathBuf::from(std::env::var_os(FOLDER).unwrap()).join("acted");
    append(&effects, &format!("{} {}", args.n, ctx.attempt()));
    at("after the effect of an action", args.n);
    Ok(())
}

#[args]
pub(super) struct OfWaiting {
    pub run: Id<Run>,
    pub n: i64,
}

#[mutation(internal)]
pub(super) fn send(ctx: &mut MutationCtx, args: OfWaiting) -> Result<()> {
    let OfWaiting { run, n } = args;
    ctx.db_mut().insert(BorderSignal { n })?;
    ctx.signal(run, "go", LAST)?;
    at("before the commit of a signal", n);
    ctx.after_commit(move || at("after the commit of a signal", n));
    Ok(())
}

#[args]
pub(super) struct Runs {
    pub from: i64,
    pub to: i64,
}

/// Starts runs.
#[mutation(internal)]
pub(super) fn begin(ctx: &mut MutationCtx, args: Runs) -> Result<()> {
    for n in args.from..args.to {
        ctx.start::<bordered>(AtBorder { n, step: 0 })?.key(n);
    }
    Ok(())
}

#[workflow]
pub(super) async fn bordered(ctx: &WorkflowCtx, args: AtBorder) -> Result<()> {
    let n = args.n;
    for step in 0..STEPS {
        ctx.run::<leave>(AtBorder { n, step }).await?;
    }
    at("in an advance", n);
    ctx.run::<act>(AtBorder { n, step: STEPS }).await?;
    ctx.sleep(Duration::from_millis(300)).await?;
    let step = ctx.wait::<i64>("go").await?;
    ctx.run::<leave>(AtBorder { n, step }).undo::<leave>(AtBorder { n, step: UNDONE }).await?;
    Err(Error::failed_precondition("The last step is undone"))
}

fn runtime(folder: &Path) -> Runtime {
    Runtime::start(RuntimeOptions::in_folder(folder, convoke::embed::default_engine())).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it is the process that the test below kills"]
async fn process_that_is_killed_at_a_border() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let killer = KILLER.get_or_init(|| Killer::of_process(&folder));
    let runtime = runtime(&folder);
    let killed = || killer.killed.lock().len();
    let mut begun = i64::try_from(runtime.read(|db| Ok(db.scan::<Run>().count()?)).unwrap()).unwrap();
    let ahead = i64::try_from(killed() + RUNS_AHEAD).unwrap();
    runtime.run::<begin>(Caller::System, Runs { from: begun, to: ahead }).await.unwrap();
    begun = begun.max(ahead);
    let background = runtime.start_background();
    loop {
        let active = runtime.runs().list(RunState::Active, None, 100).await.unwrap().items;
        let undoing = runtime.runs().count(RunState::Undoing).await.unwrap();
        match active.is_empty() && undoing == 0 {
            true if killed() == killer.kills => break,
            // One commit may have the border of several runs, so that more runs are necessary.
            true => {
                runtime.run::<begin>(Caller::System, Runs { from: begun, to: begun + 1 }).await.unwrap();
                begun += 1;
            }
            false => {}
        }
        for run in active {
            let n: i64 = run.key.as_deref().unwrap().parse().unwrap();
            let (_, steps) = runtime.runs().show(run.id()).await.unwrap();
            match steps.iter().find(|step| step.state == StepState::Pending).map(|step| step.kind) {
                Some(StepKind::Sleep) => at("in a pause", n),
                Some(StepKind::Wait) => {
                    let is_sent =
                        runtime.read(|db| Ok(!db.query(BorderSignal::by_n).eq(n).keys(1)?.is_empty())).unwrap();
                    if !is_sent {
                        runtime.run::<send>(Caller::System, OfWaiting { run: run.id(), n }).await.unwrap();
                    }
                }
                _ => {}
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    background.stop().await;
    runtime.store().close();
}

/// Kills processes at a border, until all runs have ended. Returns the number of actions that were repeated.
fn kill_at(border: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let log = File::create(folder.path().join("log")).unwrap();
    let mut killed = 0;
    loop {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "workflow::borders::process_that_is_killed_at_a_border", "--nocapture"])
            .env(FOLDER, folder.path())
            .env(BORDER, border)
            .stdout(Stdio::null())
            .stderr(log.try_clone().unwrap())
            .status()
            .unwrap();
        match status.signal() {
            Some(signal) => assert_eq!(signal, Signal::KILL.as_raw(), "{border}"),
            None if status.success() => break,
            None => panic!("{border}: {}", std::fs::read_to_string(folder.path().join("log")).unwrap()),
        }
        killed += 1;
    }
    assert_eq!(killed, kills(), "{border}");
    let runtime = runtime(folder.path());
    let effects = runtime.read(|db| Ok(db.scan::<BorderEffect>().take(usize::MAX)?)).unwrap();
    let mut of_run: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for effect in &effects {
        of_run.entry(effect.n).or_default().push(effect.step);
    }
    let runs = runtime.read(|db| Ok(db.query(Run::by_state).eq(RunState::Failed).take(usize::MAX)?.len())).unwrap();
    runtime.store().close();
    let expected: Vec<i64> = (0..STEPS).chain([LAST, UNDONE]).collect();
    assert_eq!(of_run, (0..).take(runs).map(|n| (n, expected.clone())).collect(), "{border}");
    assert!(runs >= kills(), "{border}");
    let acted = lines(&folder.path().join("acted"));
    let keys: BTreeSet<&String> = acted.iter().collect();
    let runs: BTreeSet<&str> = acted.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!((keys.len(), runs.len()), (of_run.len(), of_run.len()), "{border}: one key per action: {acted:?}");
    acted.len() - keys.len()
}

#[test]
fn runs_that_are_killed_at_any_border_have_each_effect_once_and_in_order() {
    for border in BORDERS {
        let repeated = kill_at(border);
        println!("{} kills {border}: {repeated} actions repeated", kills());
    }
}
