//! The functions that the tests of live queries call. Their path is `live/functions/<name>`.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::Receiver;

use convoke::prelude::*;
use convoke::{args, mutation, query, table};

/// Something that is counted in a room.
#[table(name = "tallies", prefix = "tally")]
#[index(by_room_name(room, name), unique)]
#[index(by_room_count(room, count))]
pub(super) struct Tally {
    pub room: String,
    pub name: String,
    pub count: i64,
}

/// A member of a room.
#[table(name = "guests", prefix = "guest")]
#[index(by_room_subject(room, subject), unique)]
pub(super) struct Guest {
    pub room: String,
    pub subject: String,
}

#[args]
pub(super) struct InRoom {
    pub room: String,
}

#[args]
pub(super) struct Named {
    pub room: String,
    pub name: String,
}

#[args]
pub(super) struct Top {
    pub room: String,
    pub rows: i64,
}

#[args]
pub(super) struct Paged {
    pub room: String,
    /// Most often counted first; by name otherwise.
    pub by_count: bool,
    pub pagination_opts: PaginationOpts,
}

/// Adds one to each of the names, which are divided by commas.
#[mutation]
pub(super) fn add(ctx: &mut MutationCtx, args: Named) -> Result<()> {
    for name in args.name.split(',') {
        let tally = ctx.db().query(Tally::by_room_name).eq(&args.room).eq(name).unique()?;
        match tally {
            Some(tally) => drop(ctx.db_mut().patch(tally.id(), |row| row.count += 1)?),
            None => {
                let (room, name) = (args.room.clone(), name.to_owned());
                ctx.db_mut().insert(Tally { room, name, count: 1 })?;
            }
        }
    }
    Ok(())
}

/// Writes a row and fails.
#[mutation]
pub(super) fn add_and_fail(ctx: &mut MutationCtx, args: Named) -> Result<()> {
    ctx.run::<add>(args)?;
    Err(Error::failed_precondition("Not now"))
}

/// Lets the caller in, or out again.
#[mutation]
pub(super) fn enter_or_leave(ctx: &mut MutationCtx, args: InRoom) -> Result<()> {
    let subject = ctx.identity().map(|identity| identity.subject.clone()).unwrap_or_default();
    match ctx.db().query(Guest::by_room_subject).eq(&args.room).eq(&subject).unique()? {
        Some(guest) => drop(ctx.db_mut().delete(guest.id())?),
        None => drop(ctx.db_mut().insert(Guest { room: args.room, subject })?),
    }
    Ok(())
}

/// Returns a count, independent of the caller.
#[query]
pub(super) fn count(ctx: &QueryCtx, args: Named) -> Result<i64> {
    ctx.charge_call()?;
    Ok(ctx.db().query(Tally::by_room_name).eq(&args.room).eq(&args.name).unique()?.map_or(0, |row| row.count))
}

/// Returns the greatest count.
#[query]
pub(super) fn top(ctx: &QueryCtx, args: Top) -> Result<Vec<String>> {
    let rows = ctx.db().query(Tally::by_room_count).eq(&args.room).order(Order::Desc).take(args.rows as usize)?;
    Ok(rows.into_iter().map(|row| row.name.clone()).collect())
}

/// Returns the counts by name.
#[query]
pub(super) fn by_name(ctx: &QueryCtx, args: InRoom) -> Result<BTreeMap<String, i64>> {
    let rows = ctx.db().query(Tally::by_room_name).eq(&args.room).take(100)?;
    Ok(rows.into_iter().map(|row| (row.name.clone(), row.count)).collect())
}

/// As [`add`] of one name; returns a map with the name as its key.
#[mutation]
pub(super) fn add_by_name(ctx: &mut MutationCtx, args: Named) -> Result<BTreeMap<String, i64>> {
    let name = args.name.clone();
    ctx.run::<add>(args)?;
    Ok(BTreeMap::from([(name, 1)]))
}

/// Takes what was counted under this name out of the room.
#[mutation]
pub(super) fn forget(ctx: &mut MutationCtx, args: Named) -> Result<()> {
    if let Some(tally) = ctx.db().query(Tally::by_room_name).eq(&args.room).eq(&args.name).unique()? {
        ctx.db_mut().delete(tally.id())?;
    }
    Ok(())
}

/// Returns the counts in pages.
#[query]
pub(super) fn page(ctx: &QueryCtx, args: Paged) -> Result<PaginationResult<String>> {
    let page = match args.by_count {
        true => {
            let tallies = ctx.db().query(Tally::by_room_count).eq(&args.room);
            tallies.order(Order::Desc).paginate(&args.pagination_opts)?
        }
        false => ctx.db().query(Tally::by_room_name).eq(&args.room).paginate(&args.pagination_opts)?,
    };
    Ok(page.map(|tally| tally.name.clone()))
}

/// As [`count`], behind so much that a client has to take it.
#[query]
pub(super) fn count_at_length(ctx: &QueryCtx, args: Named) -> Result<String> {
    let count = ctx.run::<count>(args)?;
    Ok(format!("{}{count}", ".".repeat(64 * 1024)))
}

/// Point at which the next run of [`count_later`] waits.
pub(super) static HELD: Mutex<Option<Receiver<()>>> = Mutex::new(None);

/// As [`count`], some time after its snapshot was opened.
#[query]
pub(super) fn count_later(ctx: &QueryCtx, args: Named) -> Result<i64> {
    let count = ctx.run::<count>(args)?;
    let held = HELD.lock().unwrap().take();
    held.map(|held| held.recv());
    Ok(count)
}

/// As [`count`], for guests of the room.
#[query]
pub(super) fn count_as_guest(ctx: &QueryCtx, args: Named) -> Result<i64> {
    let subject = ctx.identity().map(|identity| identity.subject.clone()).unwrap_or_default();
    if ctx.db().query(Guest::by_room_subject).eq(&args.room).eq(&subject).unique()?.is_none() {
        return Err(Error::forbidden("You are no guest of this room"));
    }
    ctx.run::<count>(args)
}

/// As [`count`] as long as that is even; then it asks who calls.
#[query]
pub(super) fn count_or_name(ctx: &QueryCtx, args: Named) -> Result<String> {
    let count = ctx.run::<count>(args)?;
    let name = || ctx.identity().map_or_else(|| "nobody".to_owned(), |identity| identity.subject.clone());
    Ok(if count % 2 == 0 { count.to_string() } else { format!("{count} for {}", name()) })
}

/// The time.
#[query]
pub(super) fn time(ctx: &QueryCtx) -> Result<Millis> {
    Ok(ctx.now())
}

/// State beside the database.
#[derive(Default)]
pub(super) struct Flag {
    /// Number of runs of [`unsteady`] that still fail.
    pub failures: AtomicUsize,
}

/// As [`count`], while it does not fail.
#[query]
pub(super) fn unsteady(ctx: &QueryCtx, args: Named) -> Result<i64> {
    use std::sync::atomic::Ordering::Relaxed;
    let flag = ctx.memory::<Flag>();
    if flag.failures.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
        return Err(Error::unavailable("Not now"));
    }
    ctx.run::<count>(args)
}

/// A text of so many characters.
#[query]
pub(super) fn long(ctx: &QueryCtx, args: Top) -> Result<String> {
    let _ = ctx;
    Ok("x".repeat(args.rows as usize))
}
