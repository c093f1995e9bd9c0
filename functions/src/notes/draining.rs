//! From a client's offline queue into the log: one transaction, one version, a bounded number of operations.
//!
//! Owns what a chain is across drains and calls: which bridge a drain goes on with, and what it leaves for the next.
//! The walk itself is `chain`'s, the rows of the queue are `queue`'s.

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

/// Operations of one drain: it holds the writer some milliseconds.
pub const OPERATIONS_PER_DRAIN: usize = 50;

/// Entries that the operations of one call are carried past, all together: an operation far behind the log's end passes
/// thousands of them.
const STEPS_PER_CALL: usize = 100_000;

/// What one or several drains did.
#[derive(Default)]
pub struct Drained {
    /// Operations that are in the log now.
    pub synced: i64,
    /// Operations that were refused, and why.
    pub failed: Vec<(ClientToken, String)>,
    /// The sequences of the entries of the log that changed one of them.
    conflicts: BTreeSet<i64>,
    ids: Ids,
    /// Entries that operations were carried past.
    steps: usize,
    /// Whether something of this call is in the log already: what is far behind it then is for the next call, since a
    /// reader does not see what is not committed.
    has_written: bool,
    /// Whether what is next is for another call.
    is_enough: bool,
}

impl Drained {
    /// Whether what is left in the queue is for another call.
    pub fn is_enough(&self) -> bool {
        self.is_enough || self.steps >= STEPS_PER_CALL
    }

    /// The entries of the log that changed one of the operations, none twice.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn conflicts(&self, db: &Db, meeting: Id<Meeting>) -> Result<Vec<Entry>> {
        self.ids.of(db, meeting, &Vec::from_iter(self.conflicts.iter().copied()))
    }
}

/// Takes the oldest pending operations of a queue, at most `operations_max`, and applies them; fewer if they lie far
/// behind the log's end.
///
/// Without the right to write they all fail. One that does not fit the document its chain has made so far fails alone.
/// One that is in the log already is not applied again.
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
            settle(ctx.db_mut(), row, Err(reason.to_owned()), now, drained)?;
        }
        return Ok(());
    }
    let quotas = ctx.settings::<Quotas>();
    let logged = logged(ctx.db(), queue, rows.iter().map(|row| &row.operation_id))?;
    let (known, new): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| logged.contains(&operation_id(queue, &row.operation_id)));
    for row in known {
        settle(ctx.db_mut(), row, Ok(()), now, drained)?;
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
            settle(ctx.db_mut(), row, outcome, now, drained)?;
        }
    }
    walk.end_lane(ctx.db_mut(), now, drained)?;
    drained.has_written |= walk.has_written();
    walk.document.save(ctx.db_mut(), now)?;
    Ok(())
}

/// Why nothing of this author may be applied now, if so.
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

/// Those of a client's operations that are in the log: their rows were deleted when they were old, and they came again.
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

/// A row's way, ended, or the reason why it failed.
fn settle(
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

/// A drain under way.
struct Walk<'a> {
    queue: &'a Queue,
    quotas: &'a Quotas,
    document: Document,
    lane: Option<Lane>,
}

/// A chain that a drain is at.
struct Lane {
    kind: LaneKind,
    base: i64,
    course: Course,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LaneKind {
    /// The client's chain. Its bridge is kept, since a later drain or call may go on with it.
    Client,
    /// Operations that are retried, on the log's end as it was when that was asked for. Their bridge is kept apart, so
    /// that they do not disturb the client's chain.
    Retried,
}

/// Whether the next operation can be applied.
enum Ready {
    /// Its chain is at the log's end.
    Yes,
    /// For this reason it never will.
    Never(String),
    /// It is far behind, and this call has done enough.
    AnotherTime,
}

impl LaneKind {
    fn of(row: &OfflineOperation) -> LaneKind {
        if queue::is_retried(row) { LaneKind::Retried } else { LaneKind::Client }
    }
}

impl Walk<'_> {
    /// Brings the chain of the first of these rows to the log's end, with all those after it that belong to it.
    fn set_out(
        &mut self,
        ctx: &mut MutationCtx,
        rows: &VecDeque<Doc<OfflineOperation>>,
        drained: &mut Drained,
    ) -> Result<Ready> {
        let chain = |row: &OfflineOperation| (LaneKind::of(row), row.base_sequence);
        let (kind, base) = chain(&rows[0]);
        // In a drain nobody else appends, so the chain it is at needs nothing more.
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
            // Only the base of a chain can collide with what is stored: by lying too far behind.
            Err(error) if error.code() == Code::Conflict => Ok(Ready::Never(error.message().to_owned())),
            Err(error) => Err(error),
        }
    }

    /// Where a chain sets out: where an earlier drain left it, or its base.
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

    /// Applies the operation of a row, whose chain is at the log's end, or says why it fails.
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

    /// Whether this drain has appended anything.
    fn has_written(&self) -> bool {
        self.document.sequence() > self.document.row().sequence
    }

    /// Leaves the chain that the drain is at, and stores the bridge of a client's chain for the next drain.
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

/// The entry of the log on which operations are retried from now on: its end, or, while others still wait that are
/// retried, where those were: they are one chain.
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

/// How far the client's chain has come, if it has one.
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

/// A bridge that a drain left.
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
