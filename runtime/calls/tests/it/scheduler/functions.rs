//! The functions that the tests schedule. Their path is `scheduler/functions/<name>`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use convoke::prelude::*;
use convoke::scheduler::{Job, JobState};

/// The effect of a job. It has no unique key, so that a repeated effect is visible.
#[table(name = "effects", prefix = "effect")]
#[index(by_n(n))]
pub(super) struct Effect {
    pub n: i64,
    pub at: Millis,
    /// Caller of the job.
    pub subject: Option<String>,
}

/// Number of runs of a function, successful or not.
#[derive(Default)]
pub(super) struct Entered(Mutex<HashMap<i64, u32>>);

impl Entered {
    fn enter(&self, n: i64) -> u32 {
        let mut entered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = entered.entry(n).or_default();
        *times += 1;
        *times
    }

    pub(super) fn times(&self, n: i64) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&n).copied().unwrap_or(0)
    }
}

#[args]
pub(super) struct Numbered {
    pub n: i64,
}

#[args]
pub(super) struct Plan {
    pub n: i64,
    pub after_ms: i64,
    pub key: Option<String>,
}

impl Plan {
    fn after(&self) -> Duration {
        Duration::from_millis(self.after_ms.unsigned_abs())
    }
}

/// Leaves an effect.
#[mutation(internal)]
pub(super) fn leave(ctx: &mut MutationCtx, args: Numbered) -> Result<()> {
    let at = ctx.now();
    let subject = ctx.identity().map(|identity| identity.subject.clone());
    ctx.memory::<Entered>().enter(args.n);
    info!("leaving {}", args.n);
    ctx.db_mut().insert(Effect { n: args.n, at, subject })?;
    Ok(())
}

/// Schedules [`leave`].
#[mutation]
pub(super) fn plan(ctx: &mut MutationCtx, args: Plan) -> Result<Id<Job>> {
    let leave_args = Numbered { n: args.n };
    match &args.key {
        None => Ok(ctx.schedule::<leave>(args.after(), leave_args)?.id()),
        Some(key) => Ok(ctx.schedule_once::<leave>(key, args.after(), leave_args)?.id()),
    }
}

/// Schedules [`leave`] for a time of day.
#[mutation]
pub(super) fn plan_for(ctx: &mut MutationCtx, args: Plan) -> Result<Id<Job>> {
    let time = ctx.now() + args.after();
    Ok(ctx.schedule::<leave>(time, Numbered { n: args.n })?.id())
}

/// Schedules [`leave`], and moves it if it is pending.
#[mutation]
pub(super) fn plan_quietly(ctx: &mut MutationCtx, args: Plan) -> Result<Id<Job>> {
    Ok(ctx
        .schedule_debounced::<leave>(args.key.as_deref().unwrap_or_default(), args.after(), Numbered { n: args.n })?
        .id())
}

/// Schedules [`leave`] as the caller.
#[mutation]
pub(super) fn plan_as_caller(ctx: &mut MutationCtx, args: Plan) -> Result<Id<Job>> {
    let identity = ctx.identity().cloned().ok_or_else(|| Error::unauthenticated("Authentication required"))?;
    Ok(ctx.schedule::<leave>(When::from(args.after()).acting_as(&identity), Numbered { n: args.n })?.id())
}

/// Schedules [`leave`], and then refuses.
#[mutation]
pub(super) fn plan_and_refuse(ctx: &mut MutationCtx, args: Plan) -> Result<()> {
    ctx.schedule::<leave>(args.after(), Numbered { n: args.n })?;
    Err(Error::failed_precondition("Not now"))
}

/// Schedules [`leave`] twice: once through a call that refuses.
#[mutation]
pub(super) fn plan_despite(ctx: &mut MutationCtx, args: Plan) -> Result<()> {
    ctx.schedule::<leave>(args.after(), Numbered { n: args.n })?;
    let inner = Plan { n: args.n + 1, ..args };
    assert!(ctx.run::<plan_and_refuse>(inner).is_err());
    Ok(())
}

#[args]
pub(super) struct OfJob {
    pub job: Id<Job>,
}

/// Takes a job back.
#[mutation]
pub(super) fn take_back(ctx: &mut MutationCtx, args: OfJob) -> Result<bool> {
    ctx.cancel(args.job)
}

#[args]
pub(super) struct OfKey {
    pub key: String,
}

/// Takes the job of a key back.
#[mutation]
pub(super) fn take_back_key(ctx: &mut MutationCtx, args: OfKey) -> Result<bool> {
    ctx.cancel_key::<leave>(&args.key)
}

#[args]
pub(super) struct Stumble {
    pub n: i64,
    /// Number of first attempts that fail.
    pub failures: i64,
}

/// Leaves an effect and fails, and at last leaves it and does not fail.
#[mutation(internal)]
pub(super) fn stumble(ctx: &mut MutationCtx, args: Stumble) -> Result<()> {
    let times = ctx.memory::<Entered>().enter(args.n);
    let at = ctx.now();
    ctx.db_mut().insert(Effect { n: args.n, at, subject: None })?;
    if i64::from(times) <= args.failures {
        return Err(Error::failed_precondition(format!("Stumbled for the {times}. time")));
    }
    Ok(())
}

#[mutation]
pub(super) fn plan_stumble(ctx: &mut MutationCtx, args: Stumble) -> Result<Id<Job>> {
    Ok(ctx.schedule::<stumble>(When::now(), args)?.id())
}

/// Panics whenever it runs.
#[mutation(internal, tries = 2)]
pub(super) fn break_down(ctx: &mut MutationCtx, args: Numbered) -> Result<()> {
    ctx.memory::<Entered>().enter(args.n);
    panic!("a bug in job {}", args.n);
}

#[mutation]
pub(super) fn plan_break_down(ctx: &mut MutationCtx, args: Numbered) -> Result<Id<Job>> {
    Ok(ctx.schedule::<break_down>(When::now(), args)?.id())
}

/// Leaves an effect and schedules itself under the key it runs under, until 0.
#[mutation(internal)]
pub(super) fn count_down(ctx: &mut MutationCtx, args: Numbered) -> Result<()> {
    ctx.run::<leave>(args.clone())?;
    if args.n > 0 {
        ctx.schedule_once::<count_down>("down", Duration::from_secs(10), Numbered { n: args.n - 1 })?;
    }
    Ok(())
}

#[mutation]
pub(super) fn plan_count_down(ctx: &mut MutationCtx, args: Numbered) -> Result<Id<Job>> {
    Ok(ctx.schedule_once::<count_down>("down", When::now(), args)?.id())
}

/// Leaves an effect by a mutation.
#[action(internal)]
pub(super) async fn reach_out(ctx: &ActionCtx, args: Numbered) -> Result<()> {
    ctx.run::<leave>(args).await
}

#[mutation]
pub(super) fn plan_reach_out(ctx: &mut MutationCtx, args: Plan) -> Result<Id<Job>> {
    Ok(ctx.schedule::<reach_out>(args.after(), Numbered { n: args.n })?.id())
}

/// Fails whenever it is started.
#[action(internal)]
pub(super) async fn reach_in_vain(ctx: &ActionCtx, args: Numbered) -> Result<()> {
    ctx.memory::<Entered>().enter(args.n);
    Err(Error::provider("Nobody is there"))
}

/// Fails the first two times.
#[action(internal, tries = 3)]
pub(super) async fn reach_persistently(ctx: &ActionCtx, args: Numbered) -> Result<()> {
    if ctx.memory::<Entered>().enter(args.n) < 3 {
        return Err(Error::provider("Nobody is there"));
    }
    ctx.run::<leave>(Numbered { n: args.n + 100 }).await
}

#[mutation]
pub(super) fn plan_in_vain(ctx: &mut MutationCtx, args: Numbered) -> Result<Id<Job>> {
    Ok(ctx.schedule::<reach_in_vain>(When::now(), args)?.id())
}

#[mutation]
pub(super) fn plan_persistently(ctx: &mut MutationCtx, args: Numbered) -> Result<Id<Job>> {
    Ok(ctx.schedule_once::<reach_persistently>("p", When::now(), args)?.id())
}

/// Schedules from an action, and takes one of two back.
#[action]
pub(super) async fn plan_from_action(ctx: &ActionCtx, args: Plan) -> Result<bool> {
    ctx.schedule::<leave>(args.after(), Numbered { n: args.n }).await?;
    let other = ctx.schedule::<leave>(args.after(), Numbered { n: args.n + 1 }).await?;
    ctx.cancel(other).await
}

/// Makes a row as a process left it that died while the action ran.
#[mutation]
pub(super) fn pretend_running(ctx: &mut MutationCtx, args: OfKey) -> Result<Id<Job>> {
    let now = ctx.now();
    let job = ctx.schedule::<reach_out>(now, Numbered { n: 1 })?.id();
    ctx.db_mut().patch(job, |job| {
        job.path = format!("scheduler/functions/{}", args.key);
        job.state = JobState::Running;
        job.attempts = 1;
        job.boot = Some(1);
        job.started_at = Some(now);
    })?;
    Ok(job)
}

/// Makes a row that another version of the program left.
#[mutation]
pub(super) fn pretend_planned(ctx: &mut MutationCtx, args: OfKey) -> Result<Id<Job>> {
    let id = ctx.schedule::<leave>(When::now(), Numbered { n: 1 })?.id();
    ctx.db_mut().patch(id, |job| match args.key.as_str() {
        "args" => job.args = r#"{"m":1}"#.to_owned(),
        path => job.path = path.to_owned(),
    })?;
    Ok(id)
}

/// Runs at half past four every day.
#[mutation(internal)]
#[cron("30 4 * * *")]
pub(super) fn daily(ctx: &mut MutationCtx) -> Result<()> {
    let n = -1;
    ctx.run::<leave>(Numbered { n })
}

/// Runs on leap days, and fails.
#[mutation(internal, tries = 2)]
#[cron("0 */8 29 2 *")]
pub(super) fn on_leap_days(ctx: &mut MutationCtx) -> Result<()> {
    ctx.memory::<Entered>().enter(-29);
    Err(Error::unavailable("It is a leap day"))
}

#[derive(Default)]
pub(super) struct Notes(pub Mutex<Vec<&'static str>>);

#[args]
pub(super) struct Note {
    pub refuse: bool,
}

/// Notes in memory what was committed.
#[mutation]
pub(super) fn note(ctx: &mut MutationCtx, args: Note) -> Result<()> {
    let notes = ctx.memory::<Notes>();
    let write = move |note| {
        let notes = notes.clone();
        move || notes.0.lock().unwrap().push(note)
    };
    ctx.after_commit(write("outer"));
    let inner = ctx.attempt(|ctx| {
        ctx.after_commit(write("inner"));
        Err::<(), _>(Error::conflict("undone"))
    });
    assert!(inner.is_err());
    ctx.after_commit(|| panic!("memory is out of order"));
    ctx.after_commit(write("last"));
    if args.refuse { Err(Error::failed_precondition("Not now")) } else { Ok(()) }
}
