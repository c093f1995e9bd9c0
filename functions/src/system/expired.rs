//! Which rows have been kept long enough.
//!
//! Transcripts, notes, insights and meetings are kept for good; how old entries in the log of notes lose their text is
//! `notes::thinning`'s. What the runtime keeps beside the application's tables
//! (idempotency results, performance, jobs) it deletes itself.

use convoke::prelude::*;
use convoke::store::Table;
use schema::limits::{Retention, days, hours};
use schema::{
    AuditEntry, MediaSession, OfflineChain, OfflineOperation, OfflineStatus, QueueEntry, QueueStatus, SessionState,
    Signal,
};

/// Rows of one batch: a delete with its indexes takes 10 to 40 µs, so a batch stays well under the 10 ms for which a
/// clean-up may hold the writer.
const ROWS_MAX: usize = 150;

/// Signals of one batch: reading them takes their payloads along, of up to 64 KiB each.
const SIGNALS_MAX: usize = 16;

/// Offline operations of one batch: their pages are freed with them, and there may be 300 KB of content in each.
const OFFLINE_OPERATIONS_MAX: usize = 32;

/// Chains of offline operations of one batch: a bridge of one that was long away lies in some hundred pages.
const CHAINS_MAX: usize = 16;

/// What a batch found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// Nothing that is expired.
    None,
    /// Something; there may be more.
    Some,
}

/// Deletes a batch of expired rows of all tables together.
///
/// # Errors
/// A failure of the store.
pub fn delete_batch(ctx: &mut MutationCtx) -> Result<Expired> {
    let keep = ctx.settings::<Retention>();
    let now = ctx.now();
    let mut left = ROWS_MAX;

    let signals = oldest::<Signal>(ctx, now - hours(keep.signals_hours), SIGNALS_MAX)?;
    left -= delete(ctx, signals)?;

    let before = now - days(keep.closed_sessions_days);
    for state in [SessionState::Closed, SessionState::Failed] {
        let sessions = ctx.db().query(MediaSession::by_state_updated).eq(state).range(..before).take(left)?;
        left -= delete(ctx, sessions)?;
    }

    let before = now - days(keep.offline_operations_days);
    let mut operations = OFFLINE_OPERATIONS_MAX.min(left);
    for status in [OfflineStatus::Synced, OfflineStatus::Failed] {
        // Their content is not read to be deleted.
        let rows = ctx.db().query(OfflineOperation::by_status_queued).eq(status).range(..before).keys(operations)?;
        operations -= rows.len();
        left -= rows.len();
        for (id, _) in rows {
            ctx.db_mut().delete(id)?;
        }
    }

    let before = now - days(keep.finished_queue_entries_days);
    for status in [QueueStatus::Matched, QueueStatus::Expired, QueueStatus::Cancelled] {
        let rows = ctx.db().query(QueueEntry::by_status_updated).eq(status).range(..before).take(left)?;
        left -= delete(ctx, rows)?;
    }

    let entries = oldest::<AuditEntry>(ctx, now - days(keep.audit_days), left)?;
    left -= delete(ctx, entries)?;

    if left == ROWS_MAX {
        return Ok(Expired::None);
    }
    info!("{} expired rows deleted", ROWS_MAX - left);
    Ok(Expired::Some)
}

/// Deletes a batch of the chains whose client has no operation left in its queue.
///
/// A client that comes back with a base so old is told that it lies too far behind, since the log of that time has been
/// thinned before: a chain without its bridge would take its own operations for those of others.
///
/// # Errors
/// A failure of the store.
pub fn delete_chains(ctx: &mut MutationCtx) -> Result<Expired> {
    let keep = ctx.settings::<Retention>();
    let now = ctx.now();
    let before = now - days(keep.offline_operations_days.max(keep.note_history_days));
    let untouched = ctx.db().query(OfflineChain::by_touched).range(..before).keys(CHAINS_MAX)?;
    if untouched.is_empty() {
        return Ok(Expired::None);
    }
    let db = ctx.db_mut();
    for (id, (_, (meeting, (author, (client, ()))))) in untouched {
        let rows = db.query(OfflineOperation::by_client_status).eq(meeting).eq(author).eq(&client).keys(1)?;
        if rows.is_empty() {
            db.delete(id)?;
        } else {
            // Operations came that needed no drain, or one waits that cannot be drained.
            db.patch(id, |chain| chain.touched_at = now)?;
        }
    }
    Ok(Expired::Some)
}

/// Rows made before `before`: ids sort by the time of creation, so they are the first ones.
fn oldest<T: Table>(ctx: &impl Read, before: Millis, rows_max: usize) -> Result<Vec<Doc<T>>> {
    let mut rows = ctx.db().scan::<T>().take(rows_max)?;
    rows.retain(|row| row.creation_time() < before);
    Ok(rows)
}

fn delete<T: Table>(ctx: &mut MutationCtx, rows: Vec<Doc<T>>) -> Result<usize> {
    let count = rows.len();
    for row in rows {
        ctx.db_mut().delete(row.id())?;
    }
    Ok(count)
}
