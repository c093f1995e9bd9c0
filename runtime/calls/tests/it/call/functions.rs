//! The functions that the tests call. Their path is `call/functions/<name>`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use convoke::prelude::*;
use convoke::{action, args, mutation, query, table, value};

/// A counter.
#[table(name = "counters", prefix = "counter")]
#[index(by_name(name), unique)]
pub(super) struct Counter {
    pub name: String,
    pub count: i64,
}

/// Something long.
#[table(name = "texts", prefix = "text")]
pub(super) struct Text {
    pub name: String,
    pub text: String,
}

/// A user as the identity hook made it.
#[table(name = "people", prefix = "person")]
#[index(by_subject(subject), unique)]
pub(super) struct Person {
    pub subject: String,
    pub email: Option<String>,
    pub seen: i64,
}

#[args]
pub(super) struct Named {
    pub name: String,
}

#[value]
pub(super) enum Color {
    DarkRed,
    Green,
}

#[value(integer, min = 13, max = 120)]
pub struct Age(i64);

#[value]
pub(super) struct Part {
    pub color: Color,
    pub size: Option<i64>,
}

#[args]
pub(super) struct Everything {
    pub age: Age,
    pub parts: Vec<Part>,
    pub at: Option<Millis>,
    pub counter: Option<Id<Counter>>,
}

/// Says what it was given.
#[query]
pub(super) fn echo(_ctx: &QueryCtx, args: Everything) -> Result<Vec<Part>> {
    Ok(args.parts)
}

/// Nothing.
#[query]
pub(super) fn nothing(_ctx: &QueryCtx) -> Result<Option<String>> {
    Ok(None)
}

/// Adds one, and says what it is now.
#[mutation]
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

#[args]
pub(super) struct Filled {
    pub name: String,
    pub length: i64,
}

/// Stores a text of so many characters.
#[mutation]
pub(super) fn fill(ctx: &mut MutationCtx, args: Filled) -> Result<()> {
    let length = usize::try_from(args.length).unwrap_or_default();
    ctx.db_mut().insert(Text { name: args.name, text: "x".repeat(length) })?;
    Ok(())
}

/// Reads a counter.
#[query]
pub(super) fn read(ctx: &QueryCtx, args: Named) -> Result<i64> {
    Ok(ctx.db().query(Counter::by_name).eq(&args.name).unique()?.map_or(0, |row| row.count))
}

/// Adds one and then refuses.
#[mutation]
pub(super) fn increment_and_refuse(ctx: &mut MutationCtx, args: Named) -> Result<i64> {
    ctx.run::<increment>(args)?;
    warn!("about to refuse");
    Err(Error::failed_precondition("Not now").with("left", 3))
}

/// Adds one, calls a mutation that adds one and refuses, and goes on.
#[mutation]
pub(super) fn increment_despite(ctx: &mut MutationCtx, args: Named) -> Result<i64> {
    ctx.run::<increment>(args.clone())?;
    let refused = ctx.run::<increment_and_refuse>(args.clone());
    assert_eq!(refused.unwrap_err().code(), Code::FailedPrecondition);
    ctx.run::<read>(args)
}

/// Writes and panics.
#[mutation]
pub(super) fn increment_and_panic(ctx: &mut MutationCtx, args: Named) -> Result<()> {
    ctx.run::<increment>(args)?;
    panic!("a bug in {}", "the function");
}

/// Panics.
#[query]
pub(super) fn panic_in_query(_ctx: &QueryCtx) -> Result<()> {
    info!("before");
    panic!("a bug in the query");
}

/// Panics.
#[action]
pub(super) async fn panic_in_action(_ctx: &ActionCtx) -> Result<()> {
    tokio::task::yield_now().await;
    panic!("a bug in the action");
}

/// Stores the same name twice.
#[mutation]
pub(super) fn violate(ctx: &mut MutationCtx, args: Named) -> Result<()> {
    ctx.db_mut().insert(Counter { name: args.name.clone(), count: 0 })?;
    ctx.db_mut().insert(Counter { name: args.name, count: 0 })?;
    Ok(())
}

/// Logs at every level.
#[query]
pub(super) fn log_levels(_ctx: &QueryCtx) -> Result<()> {
    tracing::trace!("too fine");
    debug!("one");
    info!(count = 2, who = "ada", "two");
    warn!("three");
    error!("four");
    Ok(())
}

#[args]
pub(super) struct Many {
    pub count: i64,
    pub bytes: i64,
}

/// Logs many long lines and fails.
#[query]
pub(super) fn log_much(_ctx: &QueryCtx, args: Many) -> Result<()> {
    for i in 0..args.count {
        info!("{i}{}", "é".repeat(usize::try_from(args.bytes).unwrap() / 2));
    }
    Err(Error::unavailable("enough"))
}

/// Logs its name from a task, threads, and a mutation, with others in between.
#[action]
pub(super) async fn log_everywhere(ctx: &ActionCtx, args: Named) -> Result<()> {
    let name = args.name.clone();
    for round in 0..3 {
        info!("{name} {round} here");
        tokio::time::sleep(Duration::from_millis(1)).await;
        let own = name.clone();
        ctx.spawn(async move { info!("{own} {round} task") }).await.map_err(Error::internal)?;
        let own = name.clone();
        ctx.spawn_blocking(move || info!("{own} {round} thread")).await.map_err(Error::internal)?;
        let own = name.clone();
        ctx.work_on_thread(move || info!("{own} {round} work")).await?;
        ctx.run::<increment>(args.clone()).await?;
    }
    Err(Error::unavailable("done"))
}

/// Works on a thread of its own, and returns the thread's name.
#[action]
pub(super) async fn work_apart(ctx: &ActionCtx) -> Result<String> {
    ctx.work_on_thread(|| std::thread::current().name().unwrap_or_default().to_owned()).await
}

/// Panics on a thread of its own.
#[action]
pub(super) async fn panic_apart(ctx: &ActionCtx) -> Result<()> {
    ctx.work_on_thread(|| panic!("a bug in work of its own")).await
}

/// Two transactions of one action: the first stays when the second fails.
#[action]
pub(super) async fn half(ctx: &ActionCtx, args: Named) -> Result<()> {
    ctx.run::<increment>(args.clone()).await?;
    ctx.run::<increment_and_refuse>(args).await?;
    Ok(())
}

/// Adds one once a key.
#[args]
pub(super) struct Once {
    pub name: String,
    pub idempotency_key: Option<String>,
}

/// Adds one, once a key.
#[mutation]
pub(super) fn increment_once(ctx: &mut MutationCtx, args: Once) -> Result<i64> {
    let key = args.idempotency_key.clone();
    ctx.once(key.as_deref(), &args, |ctx| {
        if args.name == "refused" {
            return Err(Error::failed_precondition("Not now"));
        }
        ctx.run::<increment>(Named { name: args.name.clone() })
    })
}

/// Not for callers from outside.
#[mutation(internal)]
pub(super) fn hidden(_ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

/// Number of runs.
#[derive(Default)]
pub(super) struct Runs(pub AtomicUsize);

/// For admins.
#[query(admin)]
pub(super) fn for_admins(ctx: &QueryCtx) -> Result<String> {
    ctx.memory::<Runs>().0.fetch_add(1, Ordering::SeqCst);
    Ok("yes".to_owned())
}

/// Changes something for admins.
#[mutation(admin)]
pub(super) fn change_for_admins(ctx: &mut MutationCtx) -> Result<String> {
    ctx.memory::<Runs>().0.fetch_add(1, Ordering::SeqCst);
    Ok("yes".to_owned())
}

/// Does something for admins.
#[action(admin)]
pub(super) async fn act_for_admins(ctx: &ActionCtx) -> Result<String> {
    ctx.memory::<Runs>().0.fetch_add(1, Ordering::SeqCst);
    Ok("yes".to_owned())
}

/// More than a response may be.
#[mutation]
pub(super) fn too_large(ctx: &mut MutationCtx, args: Named) -> Result<String> {
    ctx.run::<increment>(args)?;
    Ok("x".repeat(2_000))
}

/// Runs until its limit.
#[query]
pub(super) fn endless(ctx: &QueryCtx, args: Named) -> Result<i64> {
    loop {
        ctx.run::<read>(args.clone())?;
    }
}

/// Writes until its limit, and swallows the error.
#[mutation]
pub(super) fn endless_mutation(ctx: &mut MutationCtx, args: Named) -> Result<i64> {
    let mut count = 0;
    while ctx.run::<increment>(args.clone()).is_ok() {
        count += 1;
    }
    Ok(count)
}

/// Waits longer than an action may.
#[action]
pub(super) async fn endless_action(ctx: &ActionCtx) -> Result<()> {
    ctx.sleep(Duration::from_secs(60)).await;
    Ok(())
}

/// Returns the caller.
#[query]
pub(super) fn who(ctx: &QueryCtx) -> Result<Option<String>> {
    Ok(ctx.identity().map(|identity| identity.token_identifier()))
}

/// Returns the number of runs of the hook for the caller.
#[query]
pub(super) fn seen(ctx: &QueryCtx) -> Result<i64> {
    let Some(identity) = ctx.identity() else { return Ok(0) };
    Ok(ctx.db().query(Person::by_subject).eq(&identity.subject).unique()?.map_or(0, |person| person.seen))
}

/// The identity hook of these tests.
#[mutation(internal, identity_hook)]
pub(super) fn on_identity(ctx: &mut MutationCtx) -> Result<()> {
    let identity = ctx.identity().cloned().unwrap();
    let person = ctx.db().query(Person::by_subject).eq(&identity.subject).unique()?;
    let email = identity.email.clone();
    info!("met {}", identity.subject);
    match person {
        Some(person) => {
            ctx.db_mut().patch(person.id(), |row| {
                row.email = email;
                row.seen += 1;
            })?;
        }
        None => {
            ctx.db_mut().insert(Person { subject: identity.subject, email, seen: 1 })?;
        }
    }
    Ok(())
}

/// Counts the caller's call against a small class.
#[query(rate = "small")]
pub(super) fn charged(ctx: &QueryCtx) -> Result<()> {
    ctx.charge_call()?;
    ctx.charge_call()
}

convoke::rate_class!("small", 3, per 60 s);

/// Point at which an action waits for its test.
#[derive(Default)]
pub(super) struct Pause {
    pub reached: tokio::sync::Notify,
    pub go_on: tokio::sync::Notify,
}

/// The time that a query sees.
#[query(internal)]
pub(super) fn time_of_query(ctx: &QueryCtx) -> Result<Millis> {
    Ok(ctx.now())
}

/// The times that the queries before and after a pause see.
#[action]
pub(super) async fn times_around_a_pause(ctx: &ActionCtx) -> Result<Vec<Millis>> {
    let before = ctx.run::<time_of_query>(NoArgs {}).await?;
    let pause = ctx.memory::<Pause>();
    pause.reached.notify_one();
    pause.go_on.notified().await;
    Ok(vec![before, ctx.run::<time_of_query>(NoArgs {}).await?, ctx.now()])
}

#[args]
pub(super) struct Cost {
    pub cost: i64,
}

/// Charges something against a small class.
#[query(rate = "small")]
pub(super) fn charged_for(ctx: &QueryCtx, args: Cost) -> Result<()> {
    ctx.charge(u32::try_from(args.cost).unwrap_or(0))
}

/// Charges something, and the first time writes more than fits, so that its transaction is lost and it is run again.
#[mutation(rate = "small")]
pub(super) fn charged_again(ctx: &mut MutationCtx, args: Cost) -> Result<i64> {
    ctx.charge_call()?;
    ctx.charge(u32::try_from(args.cost).unwrap_or(0))?;
    let runs = ctx.memory::<Runs>().0.fetch_add(1, Ordering::SeqCst);
    if runs == 0 {
        let refused = ctx.db_mut().insert(Text { name: String::new(), text: "x".repeat(40_000_000) });
        assert!(refused.is_err(), "it fits");
    }
    Ok(i64::try_from(runs).unwrap_or(0) + 1)
}

/// Point at which a mutation blocks the writer until its test releases it.
#[derive(Default)]
pub(super) struct Hold {
    pub reached: tokio::sync::Notify,
    pub leave: std::sync::Mutex<bool>,
    pub may_leave: std::sync::Condvar,
}

/// Keeps the writer busy.
#[mutation]
pub(super) fn hold_the_writer(ctx: &mut MutationCtx) -> Result<()> {
    let hold = ctx.memory::<Hold>();
    hold.reached.notify_one();
    let leave = hold.leave.lock().map_err(|_| Error::internal("the test is over"))?;
    drop(hold.may_leave.wait_while(leave, |leave| !*leave));
    Ok(())
}

/// Counts, and answers with a text of so many bytes as the counter's name says.
#[mutation]
pub(super) fn increment_at_length(ctx: &mut MutationCtx, args: Named) -> Result<String> {
    let bytes = args.name.parse().map_err(|_| Error::invalid_argument("name", "name: must be a number"))?;
    ctx.db_mut().insert(Counter { name: args.name, count: 1 })?;
    Ok("x".repeat(bytes))
}

/// A text of so many bytes as the name says.
#[query]
pub(super) fn read_at_length(_ctx: &QueryCtx, args: Named) -> Result<String> {
    Ok("x".repeat(args.name.parse().map_err(|_| Error::invalid_argument("name", "name: must be a number"))?))
}

/// Calls that their test keeps where they are, by name.
#[derive(Default)]
pub(super) struct Kept {
    names: std::sync::Mutex<KeptNames>,
    changed: std::sync::Condvar,
}

#[derive(Default)]
struct KeptNames {
    begun: Vec<String>,
    released: Vec<String>,
}

impl Kept {
    /// A call begins, and waits until its name is released.
    fn keep(&self, name: String) {
        let mut names = self.names.lock().unwrap();
        names.begun.push(name.clone());
        drop(self.changed.wait_while(names, |names| !names.released.contains(&name)));
    }

    /// Lets the calls of this name go, those that are to come too.
    pub(super) fn release(&self, name: &str) {
        self.names.lock().unwrap().released.push(name.to_owned());
        self.changed.notify_all();
    }

    /// The names of the calls that have begun, in their order.
    pub(super) fn begun(&self) -> Vec<String> {
        self.names.lock().unwrap().begun.clone()
    }
}

/// Keeps a reader until its name is released.
#[query]
pub(super) fn keep_a_reader(ctx: &QueryCtx, args: Named) -> Result<()> {
    ctx.memory::<Kept>().keep(args.name);
    Ok(())
}

/// Keeps the writer until its name is released.
#[mutation]
pub(super) fn keep_the_writer(ctx: &mut MutationCtx, args: Named) -> Result<()> {
    ctx.memory::<Kept>().keep(args.name);
    Ok(())
}

/// Number of recorded calls when it was served.
#[query]
pub(super) fn kept_before(ctx: &QueryCtx) -> Result<usize> {
    Ok(ctx.memory::<Kept>().begun().len())
}

/// As [`kept_before`], by the writer.
#[mutation]
pub(super) fn kept_before_writing(ctx: &mut MutationCtx) -> Result<usize> {
    Ok(ctx.memory::<Kept>().begun().len())
}

/// Asks [`kept_before`] as its caller.
#[action]
pub(super) async fn ask_what_was_kept(ctx: &ActionCtx) -> Result<usize> {
    ctx.run::<kept_before>(NoArgs {}).await
}
