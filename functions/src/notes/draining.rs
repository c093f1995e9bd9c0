//! Moves operations from a client's offline queue into the log: one transaction, one version, a limited number of
//! operations.
//!
//! This module defines a chain across drains and calls: the bridge with which a drain continues, and the one that it
//! leaves. `chain` transforms operations; `queue` has the rows.

use std::collections::{BTreeSet, HashSet, VecDeque};

use convoke::prelude::*;
use convoke::store::{Db, DbMut};
use schema::limits::Quotas;
use schema::{
    BridgeEntry, ClientToken, Meeting, MeetingState, NoteOperation, OfflineChain, OfflineOperation, OfflineStatus,
    OperationId, Participant, RetriedChain,
};

use super::chain::Committed;
use super::course::{Course, Start};
use super::document::{Document, Signature};
use super::edits::{self, number, size};
use super::log::{Entry, Ids};
use super::operation::{Kind, Shape};
use super::queue::{self, Queue};
use super::texts::Failure;

/// Operations per drain, which takes the writer some milliseconds.
pub const OPERATIONS_PER_DRAIN: usize = 50;

/// Most entries that the operations of one call pass together: an old operation passes thousands.
const STEPS_PER_CALL: usize = 100_000;

/// The result of one or several drains.
#[derive(Default)]
pub struct Drained {
    /// Number of operations that are now in the log.
    pub synced: i64,
    /// Rejected operations with reasons.
    pub failed: Vec<(ClientToken, String)>,
    /// Sequences of the log entries that changed an operation.
    conflicts: BTreeSet<i64>,
    ids: Ids,
    /// Number of passed entries.
    steps: usize,
    /// True if this call has written to the log. Old operations must then wait for the next call, since a reader does
    /// not see uncommitted entries.
    has_written: bool,
    /// True if the next operation must wait for another call.
    is_enough: bool,
}

impl Drained {
    /// Returns true if the rest of the queue must wait for another call.
    pub fn is_enough(&self) -> bool {
        self.is_enough || self.steps >= STEPS_PER_CALL
    }

    /// Returns the log entries that changed an operation, without duplicates.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn conflicts(&self, db: &Db, meeting: Id<Meeting>) -> Result<Vec<Entry>> {
        self.ids.of(db, meeting, &Vec::from_iter(self.conflicts.iter().copied()))
    }
}

/// Applies the oldest pending operations of a queue: at most `operations_max`, and fewer if they are far behind the end
/// of the log.
///
/// Without the right to write, all of them fail. An operation that does not fit the document of its chain fails alone.
/// An operation that is already in the log is not applied again.
///
/// # Errors
/// A failure of the store.
pub fn drain(ctx: &mut MutationCtx, queue: &Queue, operations_max: usize, drained: &mut Drained) -> Result<()> {
    let rows = queue.pending(ctx.db(), operations_max)?;
    if rows.is_empty() {
        return Ok(());
    }
    let now = ctx.now();
    if let Some(reason) = missing_right(ctx, queue)? {
        for row in rows {
            mark(ctx.db_mut(), row, Err(reason.to_owned()), now, drained)?;
        }
        return Ok(());
    }
    let quotas = ctx.settings::<Quotas>();
    let logged = logged(ctx.db(), queue, rows.iter().map(|row| &row.operation_id))?;
    let (known, new): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| logged.contains(&operation_id(queue, &row.operation_id)));
    for row in known {
        mark(ctx.db_mut(), row, Ok(()), now, drained)?;
    }
    let document = Document::open(ctx.db_mut(), queue.meeting, now)?;
    let mut walk = Walk { queue, quotas: &quotas, document, lane: None };
    let mut rows = VecDeque::from(new);
    while !drained.is_enough() && !rows.is_empty() {
        let outcome = match walk.set_out(ctx, &rows, drained)? {
            Ready::Yes => walk.apply(ctx.db_mut(), &rows[0], drained)?,
            Ready::Never(reason) => Err(reason),
            Ready::AnotherTime => {
                drained.is_enough = true;
                break;
            }
        };
        if let Some(row) = rows.pop_front() {
            mark(ctx.db_mut(), row, outcome, now, drained)?;
        }
    }
    walk.end_lane(ctx.db_mut(), now, drained)?;
    drained.has_written |= walk.has_written();
    walk.document.save(ctx.db_mut(), now)?;
    Ok(())
}

/// Returns the reason why the author may not write now, if there is one.
fn missing_right(ctx: &impl Read, queue: &Queue) -> Result<Option<&'static str>> {
    let db = ctx.db();
    let author = db.get(queue.author)?.filter(|author| author.is_active);
    let place = db.query(Participant::by_meeting_user).eq(queue.meeting).eq(queue.author).unique()?;
    let meeting = db.get(queue.meeting)?;
    Ok(match (author, place, meeting) {
        (Some(_), Some(_), Some(meeting)) if meeting.state == MeetingState::Cancelled => Some("Meeting is cancelled"),
        (Some(_), Some(_), Some(_)) => None,
        _ => Some("Access denied"),
    })
}

/// Returns those of a client's operations that are in the log: their rows were deleted because of their age, and the
/// client sent them again.
///
/// # Errors
/// A failure of the store.
pub fn logged<'a>(
    db: &Db,
    queue: &Queue,
    ids: impl IntoIterator<Item = &'a ClientToken>,
) -> Result<HashSet<OperationId>> {
    let ids: Vec<OperationId> = ids.into_iter().map(|id| operation_id(queue, id)).collect();
    let entries = db.query(NoteOperation::by_meeting_author_operation).eq(queue.meeting).eq(queue.author);
    let entries = entries.any(&ids).take(ids.len())?;
    Ok(entries.into_iter().filter_map(|entry| entry.into_inner().operation_id).collect())
}

fn operation_id(queue: &Queue, id: &ClientToken) -> OperationId {
    OperationId::offline(&queue.client, id)
}

/// Marks a row as synced, or as failed with a reason.
fn mark(
    db: &mut DbMut,
    row: Doc<OfflineOperation>,
    outcome: Result<(), String>,
    now: Millis,
    drained: &mut Drained,
) -> Result<()> {
    let error = match outcome {
        Ok(()) => {
            drained.synced += 1;
            None
        }
        Err(reason) => {
            drained.failed.push((row.operation_id.clone(), reason.clone()));
            Some(reason)
        }
    };
    db.patch_doc(row, |row| {
        row.attempts += 1;
        row.last_attempt = Some(now);
        row.synced_at = error.is_none().then_some(now);
        row.status = if error.is_some() { OfflineStatus::Failed } else { OfflineStatus::Synced };
        row.error = error;
    })?;
    Ok(())
}

/// A drain in progress.
struct Walk<'a> {
    queue: &'a Queue,
    quotas: &'a Quotas,
    document: Document,
    lane: Option<Lane>,
}

/// A chain in a drain.
struct Lane {
    kind: LaneKind,
    base: i64,
    course: Course,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LaneKind {
    /// The client's chain. Its bridge is stored for later drains and calls.
    Client,
    /// Retried operations, which are based on the end of the log at the time of the retry. They have their own bridge,
    /// so that they do not affect the client's chain.
    Retried,
}

/// Result of moving a chain to the end of the log.
enum Ready {
    /// The chain is at the end of the log.
    Yes,
    /// The operation fails for this reason.
    Never(String),
    /// The operation is far behind, and this call has done enough.
    AnotherTime,
}

impl LaneKind {
    fn of(row: &OfflineOperation) -> LaneKind {
        if queue::is_retried(row) { LaneKind::Retried } else { LaneKind::Client }
    }
}

impl Walk<'_> {
    /// Moves the chain of the first of these rows to the end of the log, with all later rows of the same chain.
    fn set_out(
        &mut self,
        ctx: &mut MutationCtx,
        rows: &VecDeque<Doc<OfflineOperation>>,
        drained: &mut Drained,
    ) -> Result<Ready> {
        let chain = |row: &OfflineOperation| (LaneKind::of(row), row.base_sequence);
        let (kind, base) = chain(&rows[0]);
        // During a drain no other client appends, so the current chain is still at the end.
        if let Some(lane) = self.lane.as_ref().filter(|lane| (lane.kind, lane.base) == (kind, base)) {
            return Ok(if lane.course.is_spent() { Ready::AnotherTime } else { Ready::Yes });
        }
        let now = ctx.now();
        self.end_lane(ctx.db_mut(), now, drained)?;
        let same = rows.iter().take_while(|row| chain(row) == (kind, base));
        let shapes = same.filter_map(|row| row.operation.as_ref().map(edits::shape)).collect();
        let start = self.start(ctx.db(), kind, base, shapes)?;
        if (drained.has_written || self.has_written()) && start.is_far(self.document.sequence()) {
            return Ok(Ready::AnotherTime);
        }
        match self.document.begin(ctx, start, self.quotas) {
            Ok(course) => {
                self.lane = Some(Lane { kind, base, course });
                Ok(Ready::Yes)
            }
            // Only a base that is too far behind causes a conflict here.
            Err(error) if error.code() == Code::Conflict => Ok(Ready::Never(error.message().to_owned())),
            Err(error) => Err(error),
        }
    }

    /// Returns the start of a chain: the end of an earlier drain, or its base.
    fn start(&self, db: &Db, kind: LaneKind, base: i64, shapes: Vec<Shape>) -> Result<Start> {
        let start = Start::at(self.queue.meeting, base, shapes, STEPS_PER_CALL);
        let Some(kept) = kept(db, self.queue)?.map(Doc::into_inner) else { return Ok(start) };
        let (its_base, through, carried) = match (kind, kept.retried) {
            (LaneKind::Client, _) => (kept.base_sequence, kept.through_sequence, kept.bridge),
            (LaneKind::Retried, Some(retried)) => (retried.base_sequence, retried.through_sequence, retried.bridge),
            (LaneKind::Retried, None) => return Ok(start),
        };
        if its_base != base {
            return Ok(start);
        }
        Ok(Start { bridge: bridge(db, &carried)?, through, ..start })
    }

    /// Applies the operation of a row, whose chain is at the end of the log, or returns the reason why it fails.
    fn apply(&mut self, db: &mut DbMut, row: &OfflineOperation, drained: &mut Drained) -> Result<Result<(), String>> {
        let (Some(edit), Some(lane)) = (row.operation.clone(), &mut self.lane) else {
            return Err(Error::internal("a pending offline operation has lost its content or its chain"));
        };
        let signature = Signature {
            author: self.queue.author,
            operation_id: Some(operation_id(self.queue, &row.operation_id)),
            fingerprint: Some(row.fingerprint.clone()),
        };
        let applied = self.document.apply(db, &mut lane.course, edits::logged(edit), signature, self.quotas);
        if !lane.course.is_led() {
            drained.steps += lane.course.behind();
        }
        match applied {
            Ok(applied) => {
                drained.conflicts.extend(applied.conflicts);
                Ok(Ok(()))
            }
            Err(Failure::Rejected(refused)) => Ok(Err(refused.to_string())),
            Err(Failure::Broken(error)) => Err(error),
        }
    }

    /// Returns true if this drain has appended an entry.
    fn has_written(&self) -> bool {
        self.document.sequence() > self.document.row().sequence
    }

    /// Ends the current chain and stores the bridge of a client's chain for the next drain.
    fn end_lane(&mut self, db: &mut DbMut, now: Millis, drained: &mut Drained) -> Result<()> {
        let Some(Lane { kind, base, course }) = self.lane.take() else { return Ok(()) };
        if course.is_led() {
            drained.ids = course.ids().clone();
            drained.is_enough = true;
        }
        let through = self.document.sequence();
        let bridge: Vec<BridgeEntry> = course.into_bridge().iter().map(bridge_entry).collect();
        change_kept(db, self.queue, |kept| {
            kept.touched_at = now;
            match kind {
                LaneKind::Client => {
                    (kept.base_sequence, kept.through_sequence, kept.bridge) = (base, through, bridge);
                }
                LaneKind::Retried => {
                    let retried = RetriedChain { base_sequence: base, through_sequence: through, bridge };
                    kept.retried = Some(retried);
                }
            }
        })
    }
}

/// Returns the base of retried operations: the end of the log, or the base of operations that are still pending from an
/// earlier retry, since they form one chain.
///
/// # Errors
/// A failure of the store.
pub fn retry_base(db: &mut DbMut, queue: &Queue, log_end: i64, now: Millis, pending: usize) -> Result<i64> {
    if pending > 0
        && let Some(retried) = kept(db, queue)?.and_then(|kept| kept.into_inner().retried)
    {
        return Ok(retried.base_sequence);
    }
    let retried = RetriedChain { base_sequence: log_end, through_sequence: log_end, bridge: Vec::new() };
    change_kept(db, queue, |kept| {
        kept.touched_at = now;
        kept.retried = Some(retried);
    })?;
    Ok(log_end)
}

fn change_kept(db: &mut DbMut, queue: &Queue, change: impl FnOnce(&mut OfflineChain)) -> Result<()> {
    if let Some(kept) = kept(db, queue)? {
        db.patch_doc(kept, change)?;
        return Ok(());
    }
    let mut row = OfflineChain {
        meeting_id: queue.meeting,
        author_id: queue.author,
        client_id: queue.client.clone(),
        base_sequence: -1,
        through_sequence: -1,
        bridge: Vec::new(),
        touched_at: Millis(0),
        retried: None,
    };
    change(&mut row);
    db.insert(row)?;
    Ok(())
}

/// Returns the stored progress of the client's chain, if it has one.
///
/// # Errors
/// A failure of the store.
pub fn kept(db: &Db, queue: &Queue) -> Result<Option<Doc<OfflineChain>>> {
    Ok(db.query(OfflineChain::by_client).eq(queue.meeting).eq(queue.author).eq(&queue.client).unique()?)
}

fn bridge_entry(carried: &Committed<i64>) -> BridgeEntry {
    let Shape { kind, position, length } = carried.shape;
    let length = number(length);
    BridgeEntry::Carried(carried.key, number(position), if kind == Kind::Delete { -length } else { length })
}

/// Reads a stored bridge.
fn bridge(db: &Db, carried: &[BridgeEntry]) -> Result<Vec<Committed<i64>>> {
    let named = carried.iter().filter_map(|entry| match entry {
        BridgeEntry::Carried(..) => None,
        BridgeEntry::Named { id, .. } => Some(*id),
    });
    let named: Vec<Entry> = named.collect();
    let mut sequences = db.get_many::<NoteOperation>(&named)?.into_iter().map(|row| row.map(|row| row.sequence));
    let of_entry = |entry: &BridgeEntry| match entry {
        BridgeEntry::Carried(key, position, length) => {
            let kind = if *length < 0 { Kind::Delete } else { Kind::Insert };
            let length = length.unsigned_abs() as usize;
            Ok(Committed { key: *key, shape: Shape { kind, position: size(*position), length } })
        }
        BridgeEntry::Named { id, kind, position, length } => {
            let gone = || Error::internal(format!("the entry {id} is gone"));
            let key = sequences.next().flatten().ok_or_else(gone)?;
            Ok(Committed { key, shape: edits::shape_of(*kind, *position, *length) })
        }
    };
    carried.iter().map(of_entry).collect()
}
