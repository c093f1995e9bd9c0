//! One's place in the matching queue.

use convoke::prelude::*;
use convoke::{mutation, query, value};
use schema::{Match, MatchConstraints, QueueEntry, QueueStatus, User};

use super::line;
use crate::{access, audit};

/// What one place further ahead is worth, and the shortest wait that is announced.
const WAIT_PER_PLACE_MS: i64 = 120_000;
const WAIT_MS_MIN: i64 = 60_000;

/// Removes the caller from the matching queue; nothing happens if they are not in it.
///
/// # Errors
/// - `NOT_FOUND`: they never were in it.
/// - `FAILED_PRECONDITION`: their newest entry was matched or has expired.
#[mutation(rights = access::user)]
pub fn cancel_queue_entry(ctx: &mut MutationCtx, user: Doc<User>) -> Result<()> {
    let entry = newest(ctx, user.id())?.ok_or_else(|| Error::not_found("Queue entry not found"))?;
    match status_now(&entry, ctx.now()) {
        QueueStatus::Waiting => finish(ctx, entry, QueueStatus::Cancelled, None)?,
        QueueStatus::Cancelled => {}
        status @ (QueueStatus::Matched | QueueStatus::Expired) => {
            return Err(Error::failed_precondition(format!("Queue entry is already {status}")));
        }
    }
    audit::by_key(ctx, &user)
}

/// Where the caller's newest entry is.
///
/// ```json
/// {"_id": "queue_01jgfjs5r2a4n8w7k0q3d6m9vt", "status": "waiting", "availableFrom": 1767225600000,
///  "availableTo": 1767229200000,
///  "constraints": {"interests": [], "roles": []}, "createdAt": 1767225600000, "queuePosition": 1,
///  "estimatedWaitMs": 120000}
/// ```
#[value(output)]
pub struct QueuePlace {
    #[value(rename = "_id")]
    pub id: Id<QueueEntry>,
    pub status: QueueStatus,
    pub available_from: Millis,
    pub available_to: Millis,
    pub constraints: MatchConstraints,
    /// What it led to.
    pub match_id: Option<Id<Match>>,
    pub created_at: Millis,
    /// 1 is the one who waits longest. Absent unless it waits.
    pub queue_position: Option<i64>,
    /// A guess, in milliseconds. Absent unless it waits.
    pub estimated_wait_ms: Option<i64>,
}

/// The caller's newest entry in the matching queue, or null if they never were in it.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
#[query(rights = access::user)]
pub fn get_queue_status(ctx: &QueryCtx, user: Doc<User>) -> Result<Option<QueuePlace>> {
    let Some(entry) = newest(ctx, user.id())? else { return Ok(None) };
    let status = status_now(&entry, ctx.now());
    let position = match status {
        QueueStatus::Waiting => Some(line::ahead(ctx, &entry)? + 1),
        QueueStatus::Matched | QueueStatus::Expired | QueueStatus::Cancelled => None,
    };
    let (id, created_at) = (entry.id(), entry.creation_time());
    let entry = entry.into_inner();
    Ok(Some(QueuePlace {
        id,
        status,
        available_from: entry.available_from,
        available_to: entry.available_to,
        constraints: entry.constraints,
        match_id: entry.match_id,
        created_at,
        queue_position: position,
        estimated_wait_ms: position.map(|place| (place * WAIT_PER_PLACE_MS).max(WAIT_MS_MIN)),
    }))
}

/// The entry of a user that waits, also if its time has passed and nobody has noticed yet.
///
/// # Errors
/// A failure of the store.
pub fn waiting(ctx: &impl Read, user: Id<User>) -> Result<Option<Doc<QueueEntry>>> {
    Ok(ctx.db().query(QueueEntry::one_waiting).eq(user).unique()?)
}

/// waiting → one of the final states, by this match if there is one.
///
/// # Errors
/// A failure of the store.
pub fn finish(
    ctx: &mut MutationCtx,
    entry: Doc<QueueEntry>,
    status: QueueStatus,
    match_id: Option<Id<Match>>,
) -> Result<()> {
    let now = ctx.now();
    line::leave(ctx, &entry)?;
    ctx.db_mut().patch_doc(entry, |row| {
        row.status = status;
        row.match_id = match_id;
        row.updated_at = now;
    })?;
    Ok(())
}

/// The status of a stored entry at `now`.
fn status_now(entry: &QueueEntry, now: Millis) -> QueueStatus {
    let is_over = entry.status == QueueStatus::Waiting && entry.available_to <= now;
    if is_over { QueueStatus::Expired } else { entry.status }
}

fn newest(ctx: &impl Read, user: Id<User>) -> Result<Option<Doc<QueueEntry>>> {
    let mut newest: Option<Doc<QueueEntry>> = None;
    for status in QueueStatus::ALL {
        let entries = ctx.db().query(QueueEntry::by_user_status).eq(user).eq(*status).order(Order::Desc);
        newest = newest.into_iter().chain(entries.first()?).max_by_key(Doc::id);
    }
    Ok(newest)
}
