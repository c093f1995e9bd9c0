//! The functions that these tests call. Their path is `work/<name>`.

use convoke::prelude::*;
use convoke::scheduler::Job;

/// A counter.
#[table(name = "counters", prefix = "counter")]
#[index(by_name(name), unique)]
pub(super) struct Counter {
    pub name: String,
    pub count: i64,
}

/// A user, as the identity hook records it.
#[table(name = "people", prefix = "person")]
#[index(by_subject(subject), unique)]
pub(super) struct Person {
    pub subject: String,
    pub calls: i64,
}

#[args]
pub(super) struct Named {
    pub name: String,
}

/// Returns nothing.
#[query(tool)]
pub(super) fn nothing(_ctx: &QueryCtx) -> Result<Option<String>> {
    Ok(None)
}

/// Adds 1 to a counter and returns the new count.
#[mutation(tool)]
pub(super) fn increment(ctx: &mut MutationCtx, args: Named) -> Result<i64> {
    let counter = ctx.db().query(Counter::by_name).eq(&args.name).unique()?;
    info!("incrementing {}", args.name);
    match counter {
        Some(counter) => Ok(ctx.db_mut().patch(counter.id(), |row| row.count += 1)?.count),
        None => {
            ctx.db_mut().insert(Counter { name: args.name, count: 1 })?;
            Ok(1)
        }
    }
}

/// Returns the count of a counter.
#[query(tool)]
pub(super) fn read(ctx: &QueryCtx, args: Named) -> Result<i64> {
    Ok(ctx.db().query(Counter::by_name).eq(&args.name).unique()?.map_or(0, |row| row.count))
}

/// Adds 1 to a counter, then fails.
#[mutation(tool)]
pub(super) fn increment_and_refuse(ctx: &mut MutationCtx, args: Named) -> Result<i64> {
    ctx.run::<increment>(args)?;
    warn!("about to refuse");
    Err(Error::failed_precondition("Not now").with("left", 3))
}

/// Adds 1 to a counter, then panics.
#[mutation]
pub(super) fn increment_and_panic(ctx: &mut MutationCtx, args: Named) -> Result<()> {
    ctx.run::<increment>(args)?;
    panic!("a bug in {}", "the function");
}

#[args]
pub(super) struct Once {
    pub name: String,
    pub idempotency_key: Option<String>,
}

/// Adds 1 to a counter, once per key.
#[mutation]
pub(super) fn increment_once(ctx: &mut MutationCtx, args: Once) -> Result<i64> {
    let key = args.idempotency_key.clone();
    ctx.once(key.as_deref(), &args, |ctx| ctx.run::<increment>(Named { name: args.name.clone() }))
}

/// Panics.
#[query(tool)]
pub(super) fn panic_in_query(_ctx: &QueryCtx) -> Result<()> {
    panic!("a bug in the query");
}

/// Runs two transactions. The first commits and the second fails.
#[action(tool)]
pub(super) async fn half(ctx: &ActionCtx, args: Named) -> Result<()> {
    ctx.run::<increment>(args.clone()).await?;
    ctx.run::<increment_and_refuse>(args).await?;
    Ok(())
}

/// Cannot be called from outside.
#[mutation(internal)]
pub(super) fn hidden(_ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

/// Returns the caller. Each call counts in the rate of its caller.
#[query(tool)]
pub(super) fn who(ctx: &QueryCtx) -> Result<Option<String>> {
    ctx.charge_call()?;
    Ok(ctx.identity().map(|identity| identity.token_identifier()))
}

/// Returns the number of times that the identity hook ran for the caller.
#[query]
pub(super) fn seen(ctx: &QueryCtx) -> Result<i64> {
    let Some(identity) = ctx.identity() else { return Ok(0) };
    Ok(ctx.db().query(Person::by_subject).eq(&identity.subject).unique()?.map_or(0, |person| person.calls))
}

#[mutation(internal, identity_hook)]
pub(super) fn on_identity(ctx: &mut MutationCtx) -> Result<()> {
    let identity = ctx.identity().cloned().unwrap();
    match ctx.db().query(Person::by_subject).eq(&identity.subject).unique()? {
        Some(person) => {
            ctx.db_mut().patch(person.id(), |row| row.calls += 1)?;
        }
        None => {
            ctx.db_mut().insert(Person { subject: identity.subject, calls: 1 })?;
        }
    }
    Ok(())
}

#[args]
pub(super) struct Numbered {
    pub n: i64,
}

/// Panics on every attempt.
#[mutation(internal, tries = 2)]
pub(super) fn break_down(_ctx: &mut MutationCtx, args: Numbered) -> Result<()> {
    panic!("a bug in job {}", args.n);
}

/// Schedules [`break_down`].
#[mutation]
pub(super) fn plan_break_down(ctx: &mut MutationCtx, args: Numbered) -> Result<Id<Job>> {
    Ok(ctx.schedule::<break_down>(When::now(), args)?.id())
}

/// Fails on its only attempt.
#[mutation(internal, tries = 1)]
pub(super) fn fail(_ctx: &mut MutationCtx, args: Numbered) -> Result<()> {
    Err(Error::failed_precondition(format!("Job {} cannot run", args.n)))
}

/// Schedules [`fail`].
#[mutation]
pub(super) fn plan_fail(ctx: &mut MutationCtx, args: Numbered) -> Result<Id<Job>> {
    Ok(ctx.schedule::<fail>(When::now(), args)?.id())
}

#[args]
pub(super) struct Plan {
    pub n: i64,
    pub after_ms: i64,
}

/// Does nothing with its number.
#[mutation(internal)]
pub(super) fn ignore(_ctx: &mut MutationCtx, _args: Numbered) -> Result<()> {
    Ok(())
}

/// Schedules [`ignore`].
#[mutation]
pub(super) fn plan(ctx: &mut MutationCtx, args: Plan) -> Result<Id<Job>> {
    let after = std::time::Duration::from_millis(args.after_ms.unsigned_abs());
    Ok(ctx.schedule::<ignore>(after, Numbered { n: args.n })?.id())
}
