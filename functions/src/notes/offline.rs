//! The offline queue of a client: filled when it is back, drained into the log, looked at, cleared.
//!
//! Owns what a client may send and what it is answered; every row belongs to the caller, a meeting and a client. The
//! drain is `draining`'s.

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

/// How long after queueing the drain begins: a client sends what it has in several calls.
const DRAIN_AFTER: Duration = Duration::from_secs(1);

/// How old a synced operation is when it is cleared, unless a client says otherwise: an hour.
const CLEARED_AFTER_MS: i64 = 60 * 60 * 1_000;

/// Rows that one call clears or retries, fewer if they are large: some hundred milliseconds of writing.
const ROWS_CHANGED_MAX: usize = 10_000;

/// What [`queue_offline_operations`] takes.
#[args]
pub struct QueueOfflineOperations {
    /// On which of their clients the caller wrote.
    pub client_id: ClientToken,
    /// The meeting whose notes they edited.
    pub meeting_id: Id<Meeting>,
    /// The operations, 0 … 500. Each was made after the one before it, by `sequence`, then by place.
    pub operations: Vec<SentOfflineOperation>,
    /// The version of the text on which the first of them was made.
    pub base_version: Option<Natural>,
    /// The same as a sequence of the log, if `baseVersion` is absent. One ahead of the log means the log's end.
    pub base_sequence: Option<Natural>,
}

/// An operation as a client kept it while it was offline. What the client says of its author, its attempts and what it
/// was transformed from is trusted nowhere.
///
/// ```json
/// {"id": "op-1", "clientId": "tab-1", "authorId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "attempts": 0, "position": 0,
///  "queuedAt": 1767225600000, "sequence": 1, "timestamp": 1767225600000, "status": "pending", "type": "insert",
///  "content": "Agenda"}
/// ```
#[value]
pub struct SentOfflineOperation {
    /// The client's id of it.
    pub id: ClientToken,
    /// The client; that of the call.
    pub client_id: ClientToken,
    /// Not used: the author is the caller.
    pub author_id: String,
    /// Not used.
    pub attempts: Natural,
    /// Where, in UTF-16 code units from the beginning of the text.
    pub position: Natural,
    /// Not used: the row has the server's time.
    pub queued_at: Natural,
    /// Its place among the client's operations.
    pub sequence: Natural,
    /// Not used.
    pub timestamp: Natural,
    /// `synced` if it is in the notes already; anything else is applied.
    pub status: OfflineStatus,
    /// What it does.
    #[value(rename = "type")]
    pub kind: OperationType,
    /// The text that an insert puts there: 1 … 100,000 units.
    pub content: Option<String>,
    /// Not used.
    pub error: Option<String>,
    /// Not used.
    pub last_attempt: Option<Natural>,
    /// How many units a delete takes away (at least 1) or a retain speaks of.
    pub length: Option<Natural>,
    /// Not used.
    pub transformed_from: Option<Vec<String>>,
}

/// What happened to a call that queues.
///
/// ```json
/// {"queueId": "0c7e6a405862e402eb76a70f8a26fc73", "queued": 2, "success": true}
/// ```
#[value(output)]
pub struct OfflineOperationsQueued {
    /// Names the call that brought the operations; a full repetition gets that of the first call.
    pub queue_id: String,
    /// Rows newly stored.
    pub queued: i64,
    /// Always true.
    pub success: bool,
}

/// Queues edits that a client made to notes while it was offline; they are applied in the background a second later.
///
/// Operations that were queued before are passed over, so that a call may be repeated. All are checked before any is
/// stored.
///
/// # Errors
/// - `INVALID_ARGUMENT`: "Too many operations (max 500)", "Invalid operation: …" (its id).
/// - `CONFLICT`: an id came with other content before; the base is ahead of the notes, or too far behind.
/// - `FORBIDDEN`: the caller has no place in the meeting.
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

/// What [`sync_offline_operations`] takes.
#[args]
pub struct SyncOfflineOperations {
    /// Which of the caller's clients.
    pub client_id: ClientToken,
    /// The meeting whose notes it edited.
    pub meeting_id: Id<Meeting>,
    /// How many operations at most.
    #[default(Limit::default())]
    pub max_operations: Limit<50, 500>,
}

/// What a synchronization did.
#[value(output)]
pub struct OfflineOperationsSynced {
    /// Always true, also where operations failed.
    pub success: bool,
    /// Operations that are in the notes now.
    pub synced: i64,
    /// Operations that were refused.
    pub failed: i64,
    /// Operations that still wait.
    pub remaining_in_queue: i64,
    /// The entries of the log that changed one of the synced.
    pub conflicts: Vec<Id<NoteOperation>>,
    /// Why each of the failed was refused.
    pub errors: Vec<OfflineOperationError>,
    /// The version of the notes now.
    pub new_version: i64,
}

/// Why an operation was refused.
#[value(output)]
pub struct OfflineOperationError {
    /// The client's id of it.
    pub operation_id: ClientToken,
    /// The reason.
    pub error: String,
}

/// Drains the queue of one of the caller's clients now, instead of in the background.
///
/// Each 50 operations are one version of the notes; operations far behind the notes are fewer a call. Call it again
/// while `remainingInQueue` is not 0.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting.
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

/// What [`clear_synced_operations`] takes.
#[args]
pub struct ClearSyncedOperations {
    /// Which of the caller's clients.
    pub client_id: ClientToken,
    /// The meeting whose notes it edited.
    pub meeting_id: Id<Meeting>,
    /// Those are cleared that were queued at least so long ago; an hour if absent.
    pub older_than_ms: Option<Natural>,
}

/// What was cleared.
#[value(output)]
pub struct SyncedOperationsCleared {
    /// Rows cleared now.
    pub cleared: i64,
}

/// Deletes the content of synced operations, 10,000 at most in one call. Their ids stay known for some time, so that a
/// late repetition is not applied again.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting.
#[mutation(rate = "notes", rights = access::participant(args.meeting_id))]
pub fn clear_synced_operations(
    ctx: &mut MutationCtx,
    membership: Membership,
    args: ClearSyncedOperations,
) -> Result<SyncedOperationsCleared> {
    let queue = Queue { meeting: args.meeting_id, author: membership.user.id(), client: args.client_id };
    let age_ms = args.older_than_ms.map_or(CLEARED_AFTER_MS, Natural::get);
    let until = Millis(ctx.now().0.saturating_sub(age_ms));
    // Rows lie in the order in which they were queued, so the first that is too young ends the walk.
    let is_old = |row: &OfflineOperation| row.queued_at <= until;
    let cleared = queue.change(ctx.db_mut(), OfflineStatus::Synced, ROWS_CHANGED_MAX, is_old, queue::clear)?;
    Ok(SyncedOperationsCleared { cleared: number(cleared) })
}

/// What [`get_offline_queue_status`] takes.
#[args]
pub struct GetOfflineQueueStatus {
    /// Which of the caller's clients.
    pub client_id: ClientToken,
    /// The meeting whose notes it edited.
    pub meeting_id: Id<Meeting>,
}

/// A client's offline queue in figures. Cleared operations are not in it.
#[value(output)]
pub struct OfflineQueueStatus {
    /// Operations that wait.
    pub pending: i64,
    /// Always 0: taking and applying are one transaction.
    pub syncing: i64,
    /// Operations that are in the notes.
    pub synced: i64,
    /// Operations that were refused.
    pub failed: i64,
    /// All of them.
    pub total_queued: i64,
    /// When the first of the pending was queued.
    pub oldest_pending: Option<Millis>,
    /// When the last of the pending was queued.
    pub newest_pending: Option<Millis>,
    /// Whether all is well with it.
    pub queue_health: QueueHealth,
}

/// How a queue is.
#[value]
pub enum QueueHealth {
    /// It is drained as it should be.
    Healthy,
    /// More than 50 wait, or one for more than a minute.
    Warning,
    /// More than 10 failed, or one waits for more than 5 minutes.
    Critical,
}

/// The status of the offline queue of one of the caller's clients.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting.
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
    /// That of a queue with so many pending and failed, whose oldest pending operation waits that long.
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

/// What [`retry_failed_operations`] takes.
#[args]
pub struct RetryFailedOperations {
    /// Which of the caller's clients.
    pub client_id: ClientToken,
    /// The meeting whose notes it edited.
    pub meeting_id: Id<Meeting>,
}

/// What is tried again.
#[value(output)]
pub struct FailedOperationsRetried {
    /// Operations that are pending again.
    pub retried: i64,
}

/// Makes the failed operations of one of the caller's clients pending again.
///
/// They become a chain of its own on the notes as they are now; as many as the limit of pending operations leaves room
/// for.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting.
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

/// All operations of a call have the right form.
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
            // What a client calls pending, syncing or failed was not applied, as far as it knows.
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
    fn a_queue_is_judged_by_what_waits_and_what_failed() {
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
