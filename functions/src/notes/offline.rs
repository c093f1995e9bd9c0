//! The offline queue of a client: filling, draining, status and clearing.
//!
//! This module checks the arguments of clients and builds responses. Every row belongs to the caller, a meeting and a
//! client. `draining` implements the drain.

use std::time::Duration;

use convoke::prelude::*;
use convoke::{Context, args, mutation, query, value};
use schema::limits::{OFFLINE_OPERATIONS_PER_CALL, Quotas};
use schema::{
    ClientToken, Limit, Meeting, Natural, Note, NoteOperation, OfflineOperation, OfflineStatus, OperationType,
};

use super::draining::{self, Drained, OPERATIONS_PER_DRAIN};
use super::edits::{self, number, size};
use super::operation::Operation;
use super::queue::{self, Queue};
use super::queueing::{self, Base, Formed};
use super::schedule_drain;
use crate::access::{self, Membership};

/// Delay of the drain after queueing: a client sends its operations in several calls.
const DRAIN_AFTER: Duration = Duration::from_secs(1);

/// Default age of a synced operation when it is cleared: an hour.
const CLEARED_AFTER_MS: i64 = 60 * 60 * 1_000;

/// Rows that one call clears or retries, and fewer if they are large; some hundred milliseconds of writing.
const ROWS_CHANGED_MAX: usize = 10_000;

/// Arguments of [`queue_offline_operations`].
#[args]
pub struct QueueOfflineOperations {
    /// Client of the caller.
    pub client_id: ClientToken,
    /// Meeting of the notes.
    pub meeting_id: Id<Meeting>,
    /// 0 to 500 operations. Each was made after the one before it, by `sequence`, then by position.
    pub operations: Vec<SentOfflineOperation>,
    /// Version of the text on which the first operation was made.
    pub base_version: Option<Natural>,
    /// The base as a log sequence, if `baseVersion` is absent. A greater number than that of the log means the end of
    /// the log.
    pub base_sequence: Option<Natural>,
}

/// An operation that a client stored while it was offline. The author, the attempts and the transformations in it are
/// not trusted.
///
/// ```json
/// {"id": "op-1", "clientId": "tab-1", "authorId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "attempts": 0, "position": 0,
///  "queuedAt": 1767225600000, "sequence": 1, "timestamp": 1767225600000, "status": "pending", "type": "insert",
///  "content": "Agenda"}
/// ```
#[value]
pub struct SentOfflineOperation {
    /// Id from the client.
    pub id: ClientToken,
    /// Must be the client of the call.
    pub client_id: ClientToken,
    /// Ignored: the author is the caller.
    pub author_id: String,
    /// Ignored.
    pub attempts: Natural,
    /// Position in UTF-16 code units from the beginning of the text.
    pub position: Natural,
    /// Ignored: the row has the server's time.
    pub queued_at: Natural,
    /// Position among the client's operations.
    pub sequence: Natural,
    /// Ignored.
    pub timestamp: Natural,
    /// `synced` if it is in the notes already; any other operation is applied.
    pub status: OfflineStatus,
    /// Type of the edit.
    #[value(rename = "type")]
    pub kind: OperationType,
    /// Text of an insert: 1 to 100,000 units.
    pub content: Option<String>,
    /// Ignored.
    pub error: Option<String>,
    /// Ignored.
    pub last_attempt: Option<Natural>,
    /// Number of units of a delete (at least 1) or a retain.
    pub length: Option<Natural>,
    /// Ignored.
    pub transformed_from: Option<Vec<String>>,
}

/// The result of queueing.
///
/// ```json
/// {"queueId": "0c7e6a405862e402eb76a70f8a26fc73", "queued": 2, "success": true}
/// ```
#[value(output)]
pub struct OfflineOperationsQueued {
    /// Identifies the call that queued the operations; a complete repetition gets that of the first call.
    pub queue_id: String,
    /// Number of new rows.
    pub queued: i64,
    /// Always true.
    pub success: bool,
}

/// Queues edits that a client made to notes while it was offline; they are applied in the background a second later.
///
/// Operations that were queued before are skipped, so that a call can be repeated. All are checked before any is
/// stored.
///
/// # Errors
/// - `INVALID_ARGUMENT`: "Too many operations (max 500)", "Invalid operation: …" (its id).
/// - `CONFLICT`: an id came with other content before; the base is ahead of the notes, or too far behind.
/// - `FORBIDDEN`: the caller is not in the meeting.
/// - `FAILED_PRECONDITION`: "Meeting is cancelled".
/// - `RATE_LIMITED`: too many calls by this caller, or too many of this client's operations are pending.
#[mutation(
    rate = "notes",
    form = formed(&args.client_id, &args.operations),
    rights = access::batch_participant(args.meeting_id, args.operations.len())
)]
pub fn queue_offline_operations(
    ctx: &mut MutationCtx,
    membership: Membership,
    args: QueueOfflineOperations,
) -> Result<OfflineOperationsQueued> {
    let quotas = ctx.settings::<Quotas>();
    let operations = args.operations.into_iter().map(Formed::from).collect();
    let queue = Queue { meeting: args.meeting_id, author: membership.user.id(), client: args.client_id };
    let base = Base { version: args.base_version, sequence: args.base_sequence };
    let queued = queueing::store(ctx, &queue, operations, base, &quotas)?;
    if queued.waits {
        schedule_drain(ctx, queue, DRAIN_AFTER)?;
    }
    Ok(OfflineOperationsQueued { queue_id: queued.queue_id, queued: number(queued.stored), success: true })
}

/// Arguments of [`sync_offline_operations`].
#[args]
pub struct SyncOfflineOperations {
    /// Client of the caller.
    pub client_id: ClientToken,
    /// Meeting of the notes.
    pub meeting_id: Id<Meeting>,
    /// Most operations of this call.
    #[default(Limit::default())]
    pub max_operations: Limit<50, 500>,
}

/// The result of a synchronization.
#[value(output)]
pub struct OfflineOperationsSynced {
    /// Always true, also if operations failed.
    pub success: bool,
    /// Number of operations applied to the notes.
    pub synced: i64,
    /// Number of rejected operations.
    pub failed: i64,
    /// Number of operations still pending.
    pub remaining_in_queue: i64,
    /// Log entries that changed an applied operation.
    pub conflicts: Vec<Id<NoteOperation>>,
    /// Reasons of the rejected operations.
    pub errors: Vec<OfflineOperationError>,
    /// Current version of the notes.
    pub new_version: i64,
}

/// A rejected operation.
#[value(output)]
pub struct OfflineOperationError {
    /// Id from the client.
    pub operation_id: ClientToken,
    /// Reason.
    pub error: String,
}

/// Drains the queue of one of the caller's clients immediately instead of in the background.
///
/// Every 50 operations are one version of the notes. A call applies fewer operations if they are far behind the notes.
/// Call it again while `remainingInQueue` is not 0.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
#[mutation(rate = "notes", rights = access::participant(args.meeting_id))]
pub fn sync_offline_operations(
    ctx: &mut MutationCtx,
    membership: Membership,
    args: SyncOfflineOperations,
) -> Result<OfflineOperationsSynced> {
    let queue = Queue { meeting: args.meeting_id, author: membership.user.id(), client: args.client_id };
    let mut drained = Drained::default();
    let mut left = args.max_operations.get();
    while left > 0 && !drained.is_enough() {
        let taken = left.min(OPERATIONS_PER_DRAIN);
        draining::drain(ctx, &queue, taken, &mut drained)?;
        left -= taken;
    }
    let note = ctx.db().query(Note::by_meeting).eq(args.meeting_id).unique()?;
    Ok(OfflineOperationsSynced {
        success: true,
        synced: drained.synced,
        failed: number(drained.failed.len()),
        remaining_in_queue: queue.count(ctx.db(), OfflineStatus::Pending)?,
        conflicts: drained.conflicts(ctx.db(), args.meeting_id)?,
        errors: drained
            .failed
            .into_iter()
            .map(|(operation_id, error)| OfflineOperationError { operation_id, error })
            .collect(),
        new_version: note.map_or(0, |note| note.version),
    })
}

/// Arguments of [`clear_synced_operations`].
#[args]
pub struct ClearSyncedOperations {
    /// Client of the caller.
    pub client_id: ClientToken,
    /// Meeting of the notes.
    pub meeting_id: Id<Meeting>,
    /// Minimum age of the cleared operations in milliseconds; an hour if absent.
    pub older_than_ms: Option<Natural>,
}

/// The result of clearing.
#[value(output)]
pub struct SyncedOperationsCleared {
    /// Number of rows cleared now.
    pub cleared: i64,
}

/// Deletes the content of synced operations, at most 10,000 per call. Their ids are kept for some time, so that a late
/// repetition is not applied again.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
#[mutation(rate = "notes", rights = access::participant(args.meeting_id))]
pub fn clear_synced_operations(
    ctx: &mut MutationCtx,
    membership: Membership,
    args: ClearSyncedOperations,
) -> Result<SyncedOperationsCleared> {
    let queue = Queue { meeting: args.meeting_id, author: membership.user.id(), client: args.client_id };
    let age_ms = args.older_than_ms.map_or(CLEARED_AFTER_MS, Natural::get);
    let until = Millis(ctx.now().0.saturating_sub(age_ms));
    // Rows are in the order of queueing, so the first one that is too young ends the search.
    let is_old = |row: &OfflineOperation| row.queued_at <= until;
    let cleared = queue.change(ctx.db_mut(), OfflineStatus::Synced, ROWS_CHANGED_MAX, is_old, queue::clear)?;
    Ok(SyncedOperationsCleared { cleared: number(cleared) })
}

/// Arguments of [`get_offline_queue_status`].
#[args]
pub struct GetOfflineQueueStatus {
    /// Client of the caller.
    pub client_id: ClientToken,
    /// Meeting of the notes.
    pub meeting_id: Id<Meeting>,
}

/// Statistics of a client's offline queue, without cleared operations.
#[value(output)]
pub struct OfflineQueueStatus {
    /// Number of pending operations.
    pub pending: i64,
    /// Always 0: an operation is taken and applied in one transaction.
    pub syncing: i64,
    /// Number of operations applied to the notes.
    pub synced: i64,
    /// Number of rejected operations.
    pub failed: i64,
    /// Number of all operations.
    pub total_queued: i64,
    /// Time when the oldest pending operation was queued.
    pub oldest_pending: Option<Millis>,
    /// Time when the newest pending operation was queued.
    pub newest_pending: Option<Millis>,
    /// Health of the queue.
    pub queue_health: QueueHealth,
}

/// The health of a queue.
#[value]
pub enum QueueHealth {
    /// No problem.
    Healthy,
    /// More than 50 are pending, or one for more than a minute.
    Warning,
    /// More than 10 failed, or one is pending for more than 5 minutes.
    Critical,
}

/// Returns the status of the offline queue of one of the caller's clients.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
#[query(rights = access::participant(args.meeting_id))]
pub fn get_offline_queue_status(
    ctx: &QueryCtx,
    membership: Membership,
    args: GetOfflineQueueStatus,
) -> Result<OfflineQueueStatus> {
    let queue = Queue { meeting: args.meeting_id, author: membership.user.id(), client: args.client_id };
    let db = ctx.db();
    let pending = queue.count(db, OfflineStatus::Pending)?;
    let synced = queue.count(db, OfflineStatus::Synced)?;
    let failed = queue.count(db, OfflineStatus::Failed)?;
    let oldest_pending = queue.pending(db, 1)?.first().map(|row| row.queued_at);
    let newest_pending = queue.last_pending(db)?.map(|row| row.queued_at);
    Ok(OfflineQueueStatus {
        pending,
        syncing: 0,
        synced,
        failed,
        total_queued: pending + synced + failed,
        oldest_pending,
        newest_pending,
        queue_health: QueueHealth::of(pending, failed, oldest_pending.map(|oldest| ctx.now().since(oldest))),
    })
}

impl QueueHealth {
    /// Returns the health of a queue with these numbers, whose oldest pending operation has waited that long.
    fn of(pending: i64, failed: i64, waits: Option<Duration>) -> Self {
        let waits = waits.unwrap_or_default();
        if failed > 10 || waits > Duration::from_secs(5 * 60) {
            QueueHealth::Critical
        } else if pending > 50 || waits > Duration::from_secs(60) {
            QueueHealth::Warning
        } else {
            QueueHealth::Healthy
        }
    }
}

/// Arguments of [`retry_failed_operations`].
#[args]
pub struct RetryFailedOperations {
    /// Client of the caller.
    pub client_id: ClientToken,
    /// Meeting of the notes.
    pub meeting_id: Id<Meeting>,
}

/// The result of a retry.
#[value(output)]
pub struct FailedOperationsRetried {
    /// Number of operations that are pending again.
    pub retried: i64,
}

/// Makes the failed operations of one of the caller's clients pending again.
///
/// They become a new chain on the current notes, as many as the limit of pending operations allows.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
#[mutation(rate = "notes", rights = access::participant(args.meeting_id))]
pub fn retry_failed_operations(
    ctx: &mut MutationCtx,
    membership: Membership,
    args: RetryFailedOperations,
) -> Result<FailedOperationsRetried> {
    let quotas = ctx.settings::<Quotas>();
    let queue = Queue { meeting: args.meeting_id, author: membership.user.id(), client: args.client_id };
    let now = ctx.now();
    let db = ctx.db_mut();
    if queue.count(db, OfflineStatus::Failed)? == 0 {
        return Ok(FailedOperationsRetried { retried: 0 });
    }
    let pending = size(queue.count(db, OfflineStatus::Pending)?);
    let room = quotas.pending_offline_operations_per_client.saturating_sub(pending).min(ROWS_CHANGED_MAX);
    let log_end = db.query(Note::by_meeting).eq(args.meeting_id).unique()?.map_or(0, |note| note.sequence);
    let base = draining::retry_base(db, &queue, log_end, now, pending)?;
    let retried = queue.change(db, OfflineStatus::Failed, room, |_| true, |row| queue::retry(row, base))?;
    if retried > 0 {
        schedule_drain(ctx, queue, DRAIN_AFTER)?;
    }
    Ok(FailedOperationsRetried { retried: number(retried) })
}

/// Checks the form of all operations of a call.
///
/// # Errors
/// `INVALID_ARGUMENT` "Too many operations (max 500)", or "Invalid operation: …" (its id) with the field.
fn formed(ctx: &impl Context, client: &ClientToken, sent: &[SentOfflineOperation]) -> Result<()> {
    if sent.len() > OFFLINE_OPERATIONS_PER_CALL {
        let message = format!("Too many operations (max {OFFLINE_OPERATIONS_PER_CALL})");
        return Err(Error::invalid_argument("operations", message));
    }
    let quotas = ctx.settings::<Quotas>();
    sent.iter().enumerate().try_for_each(|(place, sent)| formed_one(client, place, sent, &quotas))
}

fn formed_one(client: &ClientToken, place: usize, sent: &SentOfflineOperation, quotas: &Quotas) -> Result<()> {
    let invalid = |field: &str| {
        Error::invalid_argument(format!("operations[{place}].{field}"), format!("Invalid operation: {}", sent.id))
    };
    if sent.client_id != *client {
        return Err(invalid("clientId"));
    }
    let checked = sent.operation().check_form(quotas.note_insert_units);
    checked.map_err(|refused| invalid(refused.field().unwrap_or("type")))
}

impl SentOfflineOperation {
    fn operation(&self) -> Operation {
        edits::operation(self.kind, self.position, self.content.as_deref(), self.length)
    }
}

impl From<SentOfflineOperation> for Formed {
    fn from(sent: SentOfflineOperation) -> Self {
        let operation = sent.operation();
        Self {
            id: sent.id,
            sequence: sent.sequence.get(),
            // Operations that a client calls pending, syncing or failed were not applied as far as it knows.
            status: match sent.status {
                OfflineStatus::Synced => OfflineStatus::Synced,
                OfflineStatus::Pending | OfflineStatus::Syncing | OfflineStatus::Failed => OfflineStatus::Pending,
            },
            fingerprint: edits::fingerprint(&operation),
            operation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_health_depends_on_pending_and_failed_operations() {
        let of = |pending, failed, waits_s| QueueHealth::of(pending, failed, Some(Duration::from_secs(waits_s)));
        assert_eq!(QueueHealth::of(0, 0, None), QueueHealth::Healthy);
        assert_eq!(of(50, 10, 60), QueueHealth::Healthy);
        assert_eq!(of(51, 10, 60), QueueHealth::Warning);
        assert_eq!(of(1, 0, 61), QueueHealth::Warning);
        assert_eq!(of(1, 0, 300), QueueHealth::Warning);
        assert_eq!(of(1, 0, 301), QueueHealth::Critical);
        assert_eq!(of(0, 11, 0), QueueHealth::Critical);
    }
}
