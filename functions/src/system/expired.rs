//! Rows whose retention has ended.
//!
//! Transcripts, notes, insights and meetings have no retention limit; `notes::thinning` removes the text of old log
//! entries. The runtime deletes its own data (idempotency results, performance data, jobs).

use convoke::prelude::*;
use convoke::store::Table;
use schema::limits::{Retention, days, hours};
use schema::{
    AuditEntry, MediaSession, OfflineChain, OfflineOperation, OfflineStatus, QueueEntry, QueueStatus, SessionState,
    Signal,
};

/// Rows per batch. Deleting a row with its index entries takes 10 to 40 µs, so a batch stays well below the 10 ms that
/// a clean-up may hold the writer.
const ROWS_MAX: usize = 150;

/// Signals per batch: their payloads of up to 64 KiB are read too.
const SIGNALS_MAX: usize = 16;

/// Offline operations per batch: deleting frees their pages, with up to 300 KB of content each.
const OFFLINE_OPERATIONS_MAX: usize = 32;

/// Chains of offline operations per batch: the bridge of a client that was away for long may have some hundred pages.
const CHAINS_MAX: usize = 16;

/// The result of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// No row has expired.
    None,
    /// Rows were deleted; there may be more.
    Some,
}

/// Deletes a batch of expired rows of all tables.
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
        // Deleting does not need their content.
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

/// Deletes a batch of chains whose client has no queued operation.
///
/// A client that returns with such an old base is rejected as too far behind, because the log of that time has been
/// thinned. A chain without its bridge would treat the client's own operations as those of others.
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
            // Operations arrived that needed no drain, or one is queued that cannot be drained.
            db.patch(id, |chain| chain.touched_at = now)?;
        }
    }
    Ok(Expired::Some)
}

/// Returns the oldest rows created before `before`: ids sort by creation time.
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
