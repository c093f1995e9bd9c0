//! Adding a client's operations to its queue: separated from known ones, and in order.
//!
//! This module determines the base of a chain: the text on which its first operation was made. `offline` builds
//! responses, and `draining` processes the rows.

use std::collections::HashMap;
use std::time::Duration;

use convoke::prelude::*;
use convoke::store::Db;
use schema::limits::Quotas;
use schema::{ClientToken, Fingerprint, Natural, OfflineOperation, OfflineStatus};

use super::document::Document;
use super::draining;
use super::edits::{self, size};
use super::history::{require_kept, too_far_behind};
use super::index::base_of_version;
use super::operation::Operation;
use super::queue::{self, Queue};

/// Time after which a client should retry with a full queue: a drain makes room about that often.
const ROOM_AFTER: Duration = Duration::from_secs(1);

/// An operation with a valid form.
pub struct Formed {
    pub(super) id: ClientToken,
    pub(super) sequence: i64,
    pub(super) status: OfflineStatus,
    pub(super) operation: Operation,
    pub(super) fingerprint: Fingerprint,
}

/// The base of the first operation, from the client.
pub struct Base {
    /// As a version.
    pub version: Option<Natural>,
    /// As a log sequence.
    pub sequence: Option<Natural>,
}

/// The result of a call.
pub struct Queued {
    /// Id of the call that first queued the operations.
    pub queue_id: String,
    /// Number of new rows.
    pub stored: usize,
    /// True if an operation waits for the drain.
    pub waits: bool,
}

/// Stores the operations that are not known.
///
/// # Errors
/// `CONFLICT`: a known id has different content, or the base is ahead of the notes or too far behind; `RATE_LIMITED`:
/// too many would be pending. Nothing is stored then.
pub fn store(
    ctx: &mut MutationCtx,
    queue: &Queue,
    operations: Vec<Formed>,
    base: Base,
    quotas: &Quotas,
) -> Result<Queued> {
    let now = ctx.now();
    let db = ctx.db_mut();
    let known = queue.known(db, operations.iter().map(|operation| &operation.id))?;
    let first_of_call = operations
        .iter()
        .filter(|operation| operation.status == OfflineStatus::Pending)
        .map(|operation| operation.sequence)
        .min();
    let first_queue = operations
        .first()
        .and_then(|first| known.iter().find(|row| row.operation_id == first.id))
        .map(|row| row.queue_id.clone());
    let mut waits = known.iter().any(|row| row.status == OfflineStatus::Pending);
    let new = unknown(operations, &known)?;
    let Some(first) = new.first() else {
        let queue_id = first_queue.unwrap_or_else(|| queue_id(queue, None));
        return Ok(Queued { queue_id, stored: 0, waits });
    };
    let queue_id = queue_id(queue, Some(&first.id));
    let pending = new.iter().filter(|operation| operation.status == OfflineStatus::Pending).count();
    waits |= pending > 0;
    let base = if pending > 0 {
        require_room(db, queue, pending, quotas)?;
        let document = Document::open(db, queue.meeting, now)?;
        let first = first_of_call.unwrap_or_default();
        let reach = base_of(db, queue, &document, &known, first, &base)?;
        let waiting = new.iter().filter(|operation| operation.status == OfflineStatus::Pending);
        match reach.require(&document, quotas) {
            // Operations that are in the log already pass nothing; they are known, however old they are.
            Err(_) if draining::logged(db, queue, waiting.map(|new| &new.id))?.len() == pending => reach.base,
            reached => reached.map(|()| reach.base)?,
        }
    } else {
        0
    };
    let stored = new.len();
    for (ordinal, operation) in (queue.next_ordinal(db)?..).zip(new) {
        db.insert(row(queue, &queue_id, operation, base, ordinal, now))?;
    }
    Ok(Queued { queue_id, stored, waits })
}

/// Returns the operations that are not in the queue yet, in the order in which they were made.
///
/// # Errors
/// `CONFLICT`: an id occurs with different content, in an earlier call or in this one.
fn unknown(operations: Vec<Formed>, known: &[Doc<OfflineOperation>]) -> Result<Vec<Formed>> {
    let mut seen: HashMap<ClientToken, Fingerprint> =
        known.iter().map(|row| (row.operation_id.clone(), row.fingerprint.clone())).collect();
    let mut new = Vec::new();
    for operation in operations {
        match seen.get(&operation.id) {
            Some(fingerprint) if *fingerprint == operation.fingerprint => {}
            Some(_) => {
                let message = format!("Operation {} was already queued with different content", operation.id);
                return Err(Error::conflict(message).with("operationId", operation.id.as_str()));
            }
            None => {
                seen.insert(operation.id.clone(), operation.fingerprint.clone());
                new.push(operation);
            }
        }
    }
    // The sort is stable: operations with the same sequence keep their order in the array.
    new.sort_by_key(|operation| operation.sequence);
    Ok(new)
}

/// Checks the limit of a client's pending operations.
fn require_room(db: &Db, queue: &Queue, more: usize, quotas: &Quotas) -> Result<()> {
    let pending_max = quotas.pending_offline_operations_per_client;
    if size(queue.count(db, OfflineStatus::Pending)?) + more > pending_max {
        let message = format!("Too many pending operations (max {pending_max})");
        let wait_ms = i64::try_from(ROOM_AFTER.as_millis()).unwrap_or(i64::MAX);
        return Err(Error::rate_limited(message).with("retryAfterMs", wait_ms));
    }
    Ok(())
}

/// The distance of a chain to the end of the log.
struct Reach {
    /// Log entry on which it was made.
    base: i64,
    /// Last entry that an earlier drain has passed.
    through: i64,
    /// Number of entries in its bridge.
    in_bridge: usize,
}

impl Reach {
    /// Requires that the chain is near enough.
    fn require(&self, document: &Document, quotas: &Quotas) -> Result<()> {
        require_kept(document.row(), self.through)?;
        let behind = self.in_bridge + size(document.sequence() - self.through);
        if behind > quotas.note_entries_behind { Err(too_far_behind()) } else { Ok(()) }
    }
}

/// Returns the log entry on which a call's chain was made, whose first operation has the client's sequence `first`.
///
/// # Errors
/// `CONFLICT`: it is ahead of the notes.
fn base_of(
    db: &Db,
    queue: &Queue,
    document: &Document,
    known: &[Doc<OfflineOperation>],
    first: i64,
    told: &Base,
) -> Result<Reach> {
    let end = document.sequence();
    let chain = draining::kept(db, queue)?;
    let base = match (told.version, told.sequence) {
        (Some(version), _) => base_of_version(db, document, version, false)?,
        (None, Some(sequence)) => sequence.get().min(end),
        (None, None) => {
            let pending = queue.last_pending(db)?.filter(|row| !queue::is_retried(row));
            // A call that repeats operations of the chain and adds new ones continues the chain, drained or not.
            let repeated = chain
                .as_ref()
                .map(|chain| chain.base_sequence)
                .filter(|base| known.iter().any(|row| row.attempts > 0 && row.base_sequence == *base));
            pending.map(|row| row.base_sequence).or(repeated).unwrap_or_else(|| first.min(end))
        }
    };
    Ok(match chain.filter(|chain| chain.base_sequence == base) {
        Some(chain) => Reach { base, through: chain.through_sequence, in_bridge: chain.bridge.len() },
        None => Reach { base, through: base, in_bridge: 0 },
    })
}

fn row(queue: &Queue, queue_id: &str, new: Formed, base_sequence: i64, ordinal: i64, now: Millis) -> OfflineOperation {
    OfflineOperation {
        meeting_id: queue.meeting,
        author_id: queue.author,
        client_id: queue.client.clone(),
        queue_id: queue_id.to_owned(),
        ordinal,
        operation_id: new.id,
        operation: Some(edits::edit(&new.operation)),
        fingerprint: new.fingerprint,
        base_sequence,
        status: new.status,
        cleared: false,
        attempts: 0,
        last_attempt: None,
        error: None,
        queued_at: now,
        synced_at: (new.status == OfflineStatus::Synced).then_some(now),
    }
}

/// Identifies a call by the first operation that it queued: no other call can have queued it.
fn queue_id(queue: &Queue, first: Option<&ClientToken>) -> String {
    const DIGITS: usize = 32;
    let named = Fingerprint::of(&(queue.meeting, queue.author, &queue.client, first));
    named.as_str()[..DIGITS].to_owned()
}
