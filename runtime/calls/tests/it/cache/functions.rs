//! The functions that the tests of kept results call. Their path is `cache/functions/<name>`.

use std::sync::atomic::AtomicU64;

use convoke::prelude::*;
use convoke::{args, mutation, query, table};

/// Something that is stored in a shelf.
#[table(name = "cachedItems", prefix = "cacheditem")]
#[index(by_shelf_rank(shelf, rank))]
#[index(by_label(label), unique)]
pub(super) struct Item {
    pub shelf: i64,
    pub rank: i64,
    pub label: i64,
    pub text: String,
}

/// Number of runs of functions of these tests.
pub(super) static RUNS: AtomicU64 = AtomicU64::new(0);

#[args]
pub(super) struct Put {
    pub label: i64,
    pub shelf: i64,
    pub rank: i64,
    pub text: String,
}

#[args]
pub(super) struct Labelled {
    pub label: i64,
}

#[args]
pub(super) struct Look {
    pub shelf: i64,
    pub from: i64,
    pub rows: i64,
    pub reverse: bool,
    /// Characters that are added to each text.
    pub padding: i64,
}

/// Puts an item where it is to stand, new or not.
#[mutation]
pub(super) fn put(ctx: &mut MutationCtx, args: Put) -> Result<()> {
    let Put { label, shelf, rank, text } = args;
    match ctx.db().query(Item::by_label).eq(label).unique()? {
        Some(item) => drop(ctx.db_mut().patch_doc(item, |item| {
            (item.shelf, item.rank, item.text) = (shelf, rank, text);
        })?),
        None => drop(ctx.db_mut().insert(Item { shelf, rank, label, text })?),
    }
    Ok(())
}

/// Puts an item and fails.
#[mutation]
pub(super) fn put_and_fail(ctx: &mut MutationCtx, args: Put) -> Result<()> {
    ctx.run::<put>(args)?;
    Err(Error::failed_precondition("Not now"))
}

/// Removes an item.
#[mutation]
pub(super) fn remove(ctx: &mut MutationCtx, args: Labelled) -> Result<()> {
    if let Some(item) = ctx.db().query(Item::by_label).eq(args.label).unique()? {
        ctx.db_mut().delete(item.id())?;
    }
    Ok(())
}

/// The text of an item.
#[query]
pub(super) fn text(ctx: &QueryCtx, args: Labelled) -> Result<Option<String>> {
    RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    ctx.charge_call()?;
    info!("looked for {}", args.label);
    Ok(ctx.db().query(Item::by_label).eq(args.label).unique()?.map(|item| item.text.clone()))
}

/// As [`text`], never kept.
#[query(cache = false)]
pub(super) fn text_anew(ctx: &QueryCtx, args: Labelled) -> Result<Option<String>> {
    ctx.run::<text>(args)
}

/// Some items of a shelf, in order.
#[query]
pub(super) fn look(ctx: &QueryCtx, args: Look) -> Result<Vec<String>> {
    let items = ctx.db().query(Item::by_shelf_rank).eq(args.shelf);
    let order = if args.reverse { Order::Desc } else { Order::Asc };
    let rows = usize::try_from(args.rows).unwrap_or(0);
    let items = items.range(args.from..).order(order).take(rows)?;
    let padding = " ".repeat(usize::try_from(args.padding).unwrap_or(0));
    Ok(items.into_iter().map(|item| format!("{} {}{padding}", item.label, item.text)).collect())
}

/// Returns the number of items of a shelf.
#[query]
pub(super) fn count(ctx: &QueryCtx, args: Look) -> Result<i64> {
    Ok(ctx.db().query(Item::by_shelf_rank).eq(args.shelf).count()? as i64)
}

/// The caller's name, and the text of an item.
#[query]
pub(super) fn mine(ctx: &QueryCtx, args: Labelled) -> Result<String> {
    let name = ctx.identity().map_or("nobody", |identity| &identity.subject).to_owned();
    let item = ctx.db().query(Item::by_label).eq(args.label).unique()?;
    Ok(format!("{name}: {}", item.map_or_else(String::new, |item| item.text.clone())))
}

/// The time.
#[query]
pub(super) fn time(ctx: &QueryCtx) -> Result<Millis> {
    RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    Ok(ctx.now())
}

/// Fails as the item says, until it is gone.
#[query]
pub(super) fn fail(ctx: &QueryCtx, args: Labelled) -> Result<()> {
    match ctx.db().query(Item::by_label).eq(args.label).unique()? {
        Some(_) => Err(Error::unavailable("Not now")),
        None => Ok(()),
    }
}

/// Works for a moment.
#[query]
pub(super) fn slow(ctx: &QueryCtx, args: Labelled) -> Result<i64> {
    RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    std::thread::sleep(std::time::Duration::from_millis(300));
    ctx.db().query(Item::by_label).eq(args.label).unique()?;
    Ok(args.label)
}
