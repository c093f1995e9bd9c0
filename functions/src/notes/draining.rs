//! From a client's offline queue into the log: one transaction, one version, a bounded number of operations.
//!
//! Owns what a chain is across drains and calls: which bridge a drain goes on with, and what it leaves for the next.
//! The walk itself is `chain`'s, the rows of the queue are `queue`'s.

use std::collections::HashSet;

use convoke::prelude::*;
use convoke::store::{Db, DbMut};
use schema::limits::Quotas;
use schema::{
    BridgeEntry, ClientToken, MeetingState, NoteOperation, OfflineChain, OfflineOperation, OfflineStatus, OperationId,
    Participant,
};

use super::chain::{Chain, Committed};
use super::document::{Document, Entry, Passed, Signature};
use super::edits::{self, number, size};
use super::queue::{self, Queue};
use super::texts::Failure;

/// Operations of one drain: it holds the writer some milliseconds.
pub const OPERATIONS_PER_DRAIN: usize = 50;

/// Entries that the operations of one call are carried past, all together: an operation far behind the log's end passes
/// thousands of them, and its entry in the log names each that changed it.
const STEPS_PER_CALL: usize = 100_000;

/// What one or several drains did.
#[derive(Default)]
pub struct Drained {
    /// Operations that are in the log now.
    pub synced: i64,
    /// Operations that were refused, and why.
    pub failed: Vec<(ClientToken, String)>,
    /// The entries of the log that changed one of them, none twice.
    pub conflicts: Vec<Entry>,
    /// The same, to ask: far behind the log's end every operation brings thousands of them.
    known: HashSet<Entry>,
    /// Entries that operations were carried past.
    steps: usize,
}

impl Drained {
    /// Whether what is left in the queue is for another call.
    pub fn is_enough(&self) -> bool {
        self.steps >= STEPS_PER_CALL
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
    let db = ctx.db_mut();
    let logged = logged(db, queue, &rows)?;
    let document = Document::open(db, queue.meeting, now)?;
    let mut walk = Walk { queue, quotas: &quotas, document, lane: None };
    for row in rows {
        if drained.is_enough() {
            break;
        }
        let outcome = match logged.contains(&operation_id(queue, &row)) {
            true => Ok(Vec::new()),
            false => {
                let outcome = walk.apply(db, &row)?;
                drained.steps += walk.behind();
                outcome
            }
        };
        settle(db, row, outcome, now, drained)?;
    }
    let Walk { document, lane, .. } = walk;
    if let Some(lane) = lane {
        lane.keep(db, queue)?;
    }
    document.save(db, now)?;
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

/// Those of the rows whose operation is in the log: their row was deleted when it was old, and they came again.
fn logged(db: &Db, queue: &Queue, rows: &[Doc<OfflineOperation>]) -> Result<HashSet<OperationId>> {
    let ids: Vec<OperationId> = rows.iter().map(|row| operation_id(queue, row)).collect();
    let entries = db.query(NoteOperation::by_meeting_author_operation).eq(queue.meeting).eq(queue.author);
    let entries = entries.any(&ids).take(ids.len())?;
    Ok(entries.into_iter().filter_map(|entry| entry.into_inner().operation_id).collect())
}

fn operation_id(queue: &Queue, row: &OfflineOperation) -> OperationId {
    OperationId::offline(&queue.client, &row.operation_id)
}

/// A row's way, ended: with the entries that changed it, or the reason why it failed.
fn settle(
    db: &mut DbMut,
    row: Doc<OfflineOperation>,
    outcome: Result<Vec<Entry>, String>,
    now: Millis,
    drained: &mut Drained,
) -> Result<()> {
    let error = match outcome {
        Ok(conflicts) => {
            drained.synced += 1;
            drained.conflicts.extend(conflicts.into_iter().filter(|entry| drained.known.insert(*entry)));
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
    chain: Chain<Entry>,
    /// Up to where the log is in the chain's bridge.
    through: i64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LaneKind {
    /// The client's chain. Its bridge is kept, since a later drain or call may go on with it.
    Client,
    /// Operations that are retried, on the log's end as it was when that was asked for. Nothing goes on with them.
    Retried,
}

impl Walk<'_> {
    /// Applies the operation of a row, or says why it fails.
    fn apply(&mut self, db: &mut DbMut, row: &OfflineOperation) -> Result<Result<Vec<Entry>, String>> {
        let Some(edit) = row.operation.clone() else {
            return Err(Error::internal("a pending offline operation has lost its content"));
        };
        let mut lane = match self.lane_of(db, row) {
            Ok(lane) => lane,
            // Only the base of a chain can collide with what is stored: by lying too far behind.
            Err(error) if error.code() == Code::Conflict => return Ok(Err(error.message().to_owned())),
            Err(error) => return Err(error),
        };
        let signature = Signature {
            author: self.queue.author,
            operation_id: Some(operation_id(self.queue, row)),
            fingerprint: Some(row.fingerprint.clone()),
        };
        let operation = edits::logged(edit);
        let outcome = match self.document.apply(db, &mut lane.chain, operation, signature, self.quotas) {
            Ok(applied) => Ok(applied.conflicts),
            Err(Failure::Refused(refused)) => Err(refused.to_string()),
            Err(Failure::Broken(error)) => return Err(error),
        };
        lane.through = self.document.sequence();
        self.lane = Some(lane);
        Ok(outcome)
    }

    /// How many entries the next operation has to pass.
    fn behind(&self) -> usize {
        self.lane.as_ref().map_or(0, |lane| lane.chain.bridge().len())
    }

    /// The chain of a row, with all of the log in its bridge.
    fn lane_of(&mut self, db: &mut DbMut, row: &OfflineOperation) -> Result<Lane> {
        let kind = if queue::is_retried(row) { LaneKind::Retried } else { LaneKind::Client };
        let base = row.base_sequence;
        match self.lane.take() {
            // In a drain nobody else appends, so the chain it is at needs nothing more.
            Some(lane) if (lane.kind, lane.base) == (kind, base) => return Ok(lane),
            Some(other) => other.keep(db, self.queue)?,
            None => {}
        }
        let chain = match kind {
            LaneKind::Client => self.client_chain(db, base)?,
            LaneKind::Retried => Chain::new(self.since_own(db, base)?),
        };
        Ok(Lane { kind, base, chain, through: self.document.sequence() })
    }

    /// The client's chain on `base`: as an earlier drain left it, or a new one.
    fn client_chain(&self, db: &Db, base: i64) -> Result<Chain<Entry>> {
        match kept(db, self.queue)?.filter(|kept| kept.base_sequence == base) {
            Some(kept) => {
                let mut chain = Chain::new(kept.bridge.iter().map(crossed));
                chain.extend(self.document.since(db, kept.through_sequence, self.quotas)?);
                Ok(chain)
            }
            None => Ok(Chain::new(self.document.since(db, base, self.quotas)?)),
        }
    }

    /// What was committed after `base`, and after the queue's own last entry: retried operations that a drain before
    /// this one had no room for were made after those for which it had.
    fn since_own(&self, db: &Db, base: i64) -> Result<Vec<Committed<Entry>>> {
        let own = format!("{}/", self.queue.client);
        let entries = self.document.entries_since(db, base, self.quotas)?;
        let is_own = |entry: &Passed| {
            entry.author == self.queue.author
                && entry.operation_id.as_ref().is_some_and(|id| id.as_str().starts_with(&own))
        };
        // The first entry of an operation carries its id, the other pieces follow it.
        let own_end = entries.iter().rposition(is_own).map_or(0, |first| first + size(entries[first].pieces));
        Ok(entries.into_iter().skip(own_end).map(|entry| entry.committed).collect())
    }
}

impl Lane {
    /// Stores the bridge of a client's chain for the next drain.
    fn keep(self, db: &mut DbMut, queue: &Queue) -> Result<()> {
        if self.kind == LaneKind::Retried {
            return Ok(());
        }
        let row = OfflineChain {
            meeting_id: queue.meeting,
            author_id: queue.author,
            client_id: queue.client.clone(),
            base_sequence: self.base,
            through_sequence: self.through,
            bridge: self.chain.bridge().iter().map(bridge_entry).collect(),
        };
        match kept(db, queue)? {
            Some(kept) => {
                db.patch_doc(kept, |kept| *kept = row)?;
            }
            None => {
                db.insert(row)?;
            }
        }
        Ok(())
    }
}

/// How far the client's chain has come, if it has one.
///
/// # Errors
/// A failure of the store.
pub fn kept(db: &Db, queue: &Queue) -> Result<Option<Doc<OfflineChain>>> {
    Ok(db.query(OfflineChain::by_client).eq(queue.meeting).eq(queue.author).eq(&queue.client).unique()?)
}

fn bridge_entry(crossed: &Committed<Entry>) -> BridgeEntry {
    let shape = crossed.shape;
    BridgeEntry {
        id: crossed.key,
        kind: edits::kind(shape.kind),
        position: number(shape.position),
        length: number(shape.length),
    }
}

fn crossed(entry: &BridgeEntry) -> Committed<Entry> {
    Committed { key: entry.id, shape: edits::shape_of(entry.kind, entry.position, entry.length) }
}
