//! Which rows have been kept long enough.
//!
//! Transcripts, notes, insights and meetings are kept for good. What the runtime keeps beside the application's tables
//! (idempotency results, performance, jobs) it deletes itself.

use convoke::prelude::*;
use convoke::store::Table;
use schema::limits::{Retention, days, hours};
use schema::{
    AuditEntry, MediaSession, OfflineOperation, OfflineStatus, QueueEntry, QueueStatus, SessionState, Signal,
};

/// Rows of one batch: a delete with its indexes takes 10 to 40 µs, so a batch stays well under the 10 ms for which a
/// clean-up may hold the writer.
const ROWS_MAX: usize = 150;

/// Signals of one batch: reading them takes their payloads along, of up to 64 KiB each.
const SIGNALS_MAX: usize = 16;

/// Offline operations of one batch: their pages are freed with them, and there may be 300 KB of content in each.
const OFFLINE_OPERATIONS_MAX: usize = 32;

/// How far a batch came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// Nothing is left that is expired.
    All,
    /// There may be more.
    Part,
}

/// Deletes a batch of expired rows of all tables together.
///
/// # Errors
/// A failure of the store.
pub fn delete_batch(ctx: &mut MutationCtx) -> Result<Deleted> {
    let keep = ctx.settings::<Retention>();
    let now = ctx.now();
    let mut left = ROWS_MAX;

    let signals = oldest::<Signal>(ctx, now - hours(keep.signals_hours), SIGNALS_MAX)?;
    let more_signals = signals.len() == SIGNALS_MAX;
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
        let rows = ctx.db().query(QueueEntry::by_status_available).eq(status).range(..before).take(left)?;
        left -= delete(ctx, rows)?;
    }

    let entries = oldest::<AuditEntry>(ctx, now - days(keep.audit_days), left)?;
    left -= delete(ctx, entries)?;

    if left < ROWS_MAX {
        info!("{} expired rows deleted", ROWS_MAX - left);
    }
    Ok(if left == 0 || more_signals || operations == 0 { Deleted::Part } else { Deleted::All })
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
