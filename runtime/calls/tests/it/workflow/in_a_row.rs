//! Steps that follow each other without a pause, run by the loop of a server: one commit may have several of them.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use convoke::Caller;
use convoke::embed::{Runtime, RuntimeOptions};
use convoke::prelude::*;
use convoke::workflows::RunState;
use parking_lot::Mutex;

/// More steps than one task runs.
const STEPS: i64 = 40;
/// The step that fails at first.
const REFUSED: i64 = 20;
const REFUSALS: usize = 2;
/// The step that panics at first.
const PANICKING: i64 = 30;
/// More runs than the loop runs jobs concurrently.
const ENDLESS: i64 = 80;

#[table(name = "rowEffects", prefix = "roweffect")]
pub(super) struct RowEffect {
    pub n: i64,
    pub step: i64,
}

/// Present while the endless runs go on.
#[table(name = "rowTraffic", prefix = "rowtraffic")]
pub(super) struct RowTraffic {
    pub n: i64,
}

#[args]
pub(super) struct InRow {
    pub n: i64,
    pub step: i64,
}

/// Attempts of the steps that fail at first.
#[derive(Default)]
pub(super) struct Attempts(Mutex<Vec<i64>>);

#[mutation(internal)]
pub(super) fn add(ctx: &mut MutationCtx, args: InRow) -> Result<i64> {
    let InRow { n, step } = args;
    ctx.db_mut().insert(RowEffect { n, step })?;
    let failed = {
        let attempts = ctx.memory::<Attempts>();
        let mut attempts = attempts.0.lock();
        attempts.push(step);
        attempts.iter().filter(|attempt| **attempt == step).count()
    };
    match step {
        REFUSED if failed <= REFUSALS => Err(Error::provider("The service is down")),
        PANICKING if failed == 1 => panic!("a bug of the first attempt"),
        _ => Ok(step),
    }
}

#[workflow]
pub(super) async fn row(ctx: &WorkflowCtx, args: InRow) -> Result<i64> {
    let quick = || Retry::exponential(5).from(Duration::from_millis(5));
    let mut sum = 0;
    for step in 0..STEPS {
        sum += match ctx.run::<add>(InRow { n: args.n, step }).retry(quick()).await {
            Ok(step) => step,
            // The step that panicked has failed: it is not retried.
            Err(error) if error.code().as_str() == "INTERNAL" => -1,
            Err(error) => return Err(error),
        };
    }
    Ok(sum)
}

#[mutation(internal)]
pub(super) fn start_row(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<row>(InRow { n: 0, step: 0 })?.id())
}

#[mutation(internal)]
pub(super) fn goes_on(ctx: &mut MutationCtx) -> Result<bool> {
    Ok(ctx.db().scan::<RowTraffic>().count()? > 0)
}

/// Takes a step, and starts itself again.
#[workflow]
pub(super) async fn endless(ctx: &WorkflowCtx) -> Result<()> {
    if ctx.run::<goes_on>(NoArgs {}).await? {
        ctx.start::<endless>(NoArgs {}).await?;
    }
    Ok(())
}

#[mutation(internal)]
pub(super) fn start_endless(ctx: &mut MutationCtx) -> Result<()> {
    ctx.db_mut().insert(RowTraffic { n: ENDLESS })?;
    (0..ENDLESS).try_for_each(|_| ctx.start::<endless>(NoArgs {}).map(drop))
}

/// Ends the endless runs.
#[mutation(internal)]
pub(super) fn end_endless(ctx: &mut MutationCtx) -> Result<()> {
    for traffic in ctx.db().scan::<RowTraffic>().take(10)? {
        ctx.db_mut().delete(traffic.id())?;
    }
    Ok(())
}

#[mutation(internal)]
pub(super) fn schedule_the_end(ctx: &mut MutationCtx) -> Result<()> {
    ctx.schedule::<end_endless>(When::now(), NoArgs {})?;
    Ok(())
}

/// Number of times that the code of `long` has begun.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

#[mutation(internal)]
pub(super) fn keep(ctx: &mut MutationCtx, args: InRow) -> Result<i64> {
    let InRow { n, step } = args;
    ctx.db_mut().insert(RowEffect { n, step })?;
    Ok(step)
}

#[workflow]
pub(super) async fn long(ctx: &WorkflowCtx, args: InRow) -> Result<i64> {
    BEGUN.fetch_add(1, Relaxed);
    let mut sum = 0;
    for step in 0..STEPS {
        sum += ctx.run::<keep>(InRow { n: args.n, step }).await?;
    }
    Ok(sum)
}

#[mutation(internal)]
pub(super) fn start_long(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<long>(InRow { n: 0, step: 0 })?.id())
}

#[args]
pub(super) struct OfOwn {
    pub run: Id<Run>,
    pub step: i64,
}

/// Has an effect, sends it to its own run, and cancels this run at one step.
#[mutation(internal)]
pub(super) fn signal_own(ctx: &mut MutationCtx, args: OfOwn) -> Result<()> {
    let OfOwn { run, step } = args;
    ctx.db_mut().insert(RowEffect { n: 0, step })?;
    ctx.signal(run, "step", step)?;
    if step == REFUSED {
        ctx.cancel_run(run)?;
    }
    Ok(())
}

#[workflow]
pub(super) async fn own(ctx: &WorkflowCtx) -> Result<()> {
    for step in 0..STEPS {
        ctx.run::<signal_own>(OfOwn { run: ctx.id(), step }).await?;
        let sent = ctx.wait::<i64>("step").await?;
        ctx.run::<keep>(InRow { n: 1, step: sent }).await?;
    }
    Ok(())
}

#[mutation(internal)]
pub(super) fn start_own(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<own>(NoArgs {})?.id())
}

fn runtime(folder: &std::path::Path) -> Runtime {
    Runtime::start(RuntimeOptions::in_folder(folder, convoke::embed::default_engine())).unwrap()
}

async fn until_no_run_is_active(runtime: &Runtime) {
    while runtime.runs().count(RunState::Active).await.unwrap() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_in_a_row_have_each_effect_once_and_in_order_also_around_failures() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime(folder.path());
    let run = runtime.run::<start_row>(Caller::System, NoArgs {}).await.unwrap();
    let background = runtime.start_background();
    until_no_run_is_active(&runtime).await;
    let (run, steps) = runtime.runs().show(run).await.unwrap();
    assert_eq!(run.state, RunState::Completed, "{:?}", run.error);
    let all: i64 = (0..STEPS).sum();
    assert_eq!(run.value.as_deref(), Some(&*(all - PANICKING - 1).to_string()));
    assert_eq!(steps.len(), usize::try_from(STEPS).unwrap());
    assert!(steps.iter().map(|step| step.done).eq((0..).map(Some).take(steps.len())), "steps complete in order");
    let effects = runtime.read(|db| Ok(db.scan::<RowEffect>().take(usize::MAX)?)).unwrap();
    let expected: Vec<i64> = (0..STEPS).filter(|step| *step != PANICKING).collect();
    assert_eq!(effects.iter().map(|effect| effect.step).collect::<Vec<_>>(), expected);
    background.stop().await;
    runtime.store().close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_of_steps_in_a_row_begins_once() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime(folder.path());
    let run = runtime.run::<start_long>(Caller::System, NoArgs {}).await.unwrap();
    let background = runtime.start_background();
    until_no_run_is_active(&runtime).await;
    let (run, _) = runtime.runs().show(run).await.unwrap();
    assert_eq!(run.value.as_deref(), Some(&*(0..STEPS).sum::<i64>().to_string()));
    assert_eq!(BEGUN.load(Relaxed), 1, "no step replays the journal");
    background.stop().await;
    runtime.store().close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_in_memory_sees_its_signals_and_its_cancellation() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime(folder.path());
    let run = runtime.run::<start_own>(Caller::System, NoArgs {}).await.unwrap();
    let background = runtime.start_background();
    while !runtime.runs().show(run).await.unwrap().0.state.is_end() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (run, steps) = runtime.runs().show(run).await.unwrap();
    assert_eq!(run.state, RunState::Cancelled);
    assert_eq!(steps.len(), usize::try_from(3 * REFUSED + 1).unwrap(), "no step follows the cancellation");
    let effects = runtime.read(|db| Ok(db.scan::<RowEffect>().take(usize::MAX)?)).unwrap();
    let expected = (0..REFUSED).flat_map(|step| [(0, step), (1, step)]).chain([(0, REFUSED)]);
    assert!(effects.iter().map(|effect| (effect.n, effect.step)).eq(expected), "{}", effects.len());
    background.stop().await;
    runtime.store().close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_runs_leave_slots_to_other_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime(folder.path());
    runtime.run::<start_endless>(Caller::System, NoArgs {}).await.unwrap();
    let background = runtime.start_background();
    // All slots are in use.
    while runtime.runs().count(RunState::Completed).await.unwrap() < 2 * ENDLESS.unsigned_abs() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The test does not end if this job gets no slot.
    runtime.run::<schedule_the_end>(Caller::System, NoArgs {}).await.unwrap();
    until_no_run_is_active(&runtime).await;
    background.stop().await;
    runtime.store().close();
}
