//! The order of waiting queue entries, and positions in it.
//!
//! A new entry gets a ticket greater than all waiting tickets. Waiting entries are counted per range of 64, 4,096 and
//! 262,144 tickets, so that a position is the sum of a few hundred counts at any queue length. Only the entries in the
//! own range of 64 are counted individually. Every start and end of waiting goes through this module.

use convoke::prelude::*;
use schema::{QueueCount, QueueEntry, QueueStatus};

/// Tickets of the shortest range, and ranges of one level per range of the next.
const STRETCH: i64 = 64;
/// Number of levels.
const LEVELS: u32 = 3;
/// Most rows of one statement; usually there are a few hundred.
const ROWS_MAX: usize = 50_000;

/// Adds a waiting entry at the end of the queue.
///
/// # Errors
/// A failure of the store.
pub fn join(ctx: &mut MutationCtx, mut entry: QueueEntry) -> Result<Id<QueueEntry>> {
    let last = ctx.db().query(QueueEntry::in_line).order(Order::Desc).first()?;
    let ticket = last.and_then(|last| last.ticket).map_or(0, |last| last + 1);
    entry.ticket = Some(ticket);
    count(ctx, ticket, 1)?;
    Ok(ctx.db_mut().insert(entry)?)
}

/// Records that an entry no longer waits. The caller changes its status.
///
/// # Errors
/// A failure of the store.
pub fn leave(ctx: &mut MutationCtx, entry: &QueueEntry) -> Result<()> {
    match entry.ticket {
        Some(ticket) if entry.status == QueueStatus::Waiting => count(ctx, ticket, -1),
        Some(_) | None => Ok(()),
    }
}

/// Returns the number of waiting entries ahead of a waiting entry, without expired ones.
///
/// # Errors
/// A failure of the store.
pub fn ahead(ctx: &impl Read, own: &Doc<QueueEntry>) -> Result<i64> {
    let overdue = ctx.db().query(QueueEntry::by_status_available).eq(QueueStatus::Waiting).range(..=ctx.now());
    let overdue = overdue.keys(ROWS_MAX)?.into_iter().filter(|(id, _)| *id < own.id()).count();
    let without_ticket = ctx.db().query(QueueEntry::in_line).eq(None::<i64>);
    let ahead = match own.ticket {
        None => without_ticket.keys(ROWS_MAX)?.into_iter().filter(|(id, _)| *id < own.id()).count() as u64,
        Some(ticket) => {
            let own_stretch = ctx.db().query(QueueEntry::in_line).range(ticket / STRETCH * STRETCH..ticket);
            without_ticket.count()? + own_stretch.count()? + before(ctx, ticket)?
        }
    };
    Ok(i64::try_from(ahead.saturating_sub(overdue as u64)).unwrap_or(i64::MAX))
}

/// Counts the waiting entries in the ranges before the one of a ticket: of each length, those within the same range of
/// the next length.
fn before(ctx: &impl Read, ticket: i64) -> Result<u64> {
    let mut waiting = 0;
    for level in 1..=LEVELS {
        let stretch = ticket / STRETCH.pow(level);
        let first = if level == LEVELS { 0 } else { stretch / STRETCH * STRETCH };
        let counts = ctx.db().query(QueueCount::by_level_stretch).eq(i64::from(level)).range(first..stretch);
        waiting += counts.take(ROWS_MAX)?.iter().map(|row| row.waiting.unsigned_abs()).sum::<u64>();
    }
    Ok(waiting)
}

fn count(ctx: &mut MutationCtx, ticket: i64, by: i64) -> Result<()> {
    for level in 1..=LEVELS {
        let blank = QueueCount { level: i64::from(level), stretch: ticket / STRETCH.pow(level), waiting: 0 };
        let row = ctx.db_mut().insert_unique(QueueCount::by_level_stretch, blank)?.into_doc();
        // A range without waiting entries has no row, so that a position reads only as many counts as there are ranges
        // in use.
        if row.waiting + by > 0 {
            ctx.db_mut().patch_doc(row, |row| row.waiting += by)?;
        } else {
            ctx.db_mut().delete(row.id())?;
        }
    }
    Ok(())
}
