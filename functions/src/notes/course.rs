//! The way of a chain to the end of the log within one transaction. A long way is prepared before the transaction.
//!
//! The writer must not read thousands of entries for one client. So an old chain is moved to the end of the log on a
//! reader, in a snapshot, and the transaction moves it past newer entries. The result is the same, since an operation
//! passes entries one after the other. This module decides when to prepare, and what to do if the document rejects an
//! operation. `chain` transforms operations.

use std::collections::BTreeSet;
use std::sync::Arc;

use convoke::prelude::*;
use schema::{Meeting, Note};

use super::chain::{Chain, Committed, Moved, Walked};
use super::edits::size;
use super::log::{self, Ids, Since};
use super::operation::{Rejection, Shape};

/// Most entries that are read inside the transaction: running it twice costs about as much.
pub const ENTRIES_NEAR: usize = 200;

/// Most entries times operations in the transaction. Passing a read entry costs a small part of reading it.
const STEPS_NEAR: usize = 5_000;

/// Operations made at a position of the log, and the known part of their way to its end.
#[derive(Clone, PartialEq)]
pub struct Start {
    /// Meeting of the notes.
    pub meeting: Id<Meeting>,
    /// Bridge of earlier operations, from an earlier drain of the same chain.
    pub bridge: Vec<Committed<i64>>,
    /// Sequence of the last entry in the bridge; without a bridge, the base of the chain.
    pub through: i64,
    /// Shapes of the operations, each on the result of the ones before it.
    pub shapes: Vec<Shape>,
    /// Most steps of all operations together; operations beyond it are not moved.
    pub steps_max: usize,
}

/// A chain on its way.
pub struct Course {
    /// The chain with all operations to pass; if prepared, only those after the snapshot.
    chain: Chain<i64>,
    ids: Ids,
    lead: Option<Lead>,
}

/// Operations that were moved to the end of the log in a snapshot.
pub(super) struct Ahead {
    /// Sequence of that end.
    pub(super) through: i64,
    /// The entries that they passed.
    passed: Vec<Committed<i64>>,
    ids: Ids,
    /// The result of each operation, in order, without those beyond the limit of steps.
    moved: Vec<Result<Moved<i64>, Rejection>>,
    /// The passed entries after all of them.
    bridge: Vec<Committed<i64>>,
}

/// The progress of a transaction in prepared operations.
struct Lead {
    ahead: Arc<Ahead>,
    /// Index of the next operation.
    next: usize,
    /// Applied operations, as they were made.
    applied: Vec<Shape>,
    /// Entries after the snapshot.
    since: Vec<Committed<i64>>,
}

impl Start {
    /// Creates the start of operations that were made on the entry `base`.
    pub fn at(meeting: Id<Meeting>, base: i64, shapes: Vec<Shape>, steps_max: usize) -> Start {
        Start { meeting, bridge: Vec::new(), through: base, shapes, steps_max }
    }

    /// Returns true if the way to the end of the log, the entry `end`, is too long for the writer.
    pub fn is_far(&self, end: i64) -> bool {
        let entries = size(end - self.through);
        let steps = (self.bridge.len() + entries).saturating_mul(self.shapes.len());
        entries > ENTRIES_NEAR || steps.min(self.steps_max) > STEPS_NEAR
    }
}

impl Course {
    /// Creates a chain at its start; `since` are the entries after it.
    pub(super) fn at(start: Start, since: Since) -> Course {
        Course { chain: Chain::new(start.bridge.into_iter().chain(since.entries)), ids: since.ids, lead: None }
    }

    /// Creates a prepared chain; `since` are the entries after the snapshot.
    pub(super) fn led(ahead: Arc<Ahead>, since: Since) -> Course {
        let mut ids = ahead.ids.clone();
        ids.add(since.ids);
        let chain = Chain::new(since.entries.clone());
        let lead = Lead { ahead, next: 0, applied: Vec::new(), since: since.entries };
        Course { chain, ids, lead: Some(lead) }
    }

    /// Creates a chain at the end of the log.
    pub fn at_the_end() -> Course {
        Course { chain: Chain::new([]), ids: Ids::default(), lead: None }
    }

    /// Transforms the next operation to the end of the log, if the document has `today` units. The result must be
    /// accepted or rejected.
    ///
    /// # Errors
    /// [`Rejection`]: its range is not in the document that the chain has made so far.
    pub fn walk(&mut self, shape: Shape, today: usize) -> Result<Walked<i64>, Rejection> {
        if self.is_spent() {
            self.rejoin();
        }
        match &mut self.lead {
            Some(lead) => {
                let moved = lead.ahead.moved[lead.next].clone();
                lead.next += 1;
                Ok(self.chain.carry(moved?))
            }
            None => self.chain.walk(shape, today),
        }
    }

    /// Moves the chain behind the operation `shape`, which was applied.
    pub fn accept(&mut self, shape: Shape, walked: Walked<i64>) {
        self.chain.accept(walked);
        if let Some(lead) = &mut self.lead {
            lead.applied.push(shape);
        }
    }

    /// Records that the document rejected the operation, so that later operations ignore it. The preparation included
    /// it, so the chain continues from its start.
    pub fn refuse(&mut self) {
        let Some(lead) = self.lead.take() else { return };
        self.chain = Chain::new(lead.ahead.passed.iter().cloned().chain(lead.since));
        for shape in lead.applied {
            let walked = self.chain.carry(Moved::new(shape));
            self.chain.accept(walked);
        }
    }

    /// Returns the number of entries that the next operation must pass, in the transaction and before it.
    pub fn behind(&self) -> usize {
        self.lead.as_ref().map_or(0, |lead| lead.ahead.passed.len()) + self.chain.bridge().len()
    }

    /// Returns true if the way was prepared before the transaction.
    pub fn is_led(&self) -> bool {
        self.lead.is_some()
    }

    /// Returns true if no prepared operation is left.
    pub fn is_spent(&self) -> bool {
        self.lead.as_ref().is_some_and(|lead| lead.next == lead.ahead.moved.len())
    }

    /// Returns the known ids of the entries that it passed.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Returns the bridge for a later drain of the same chain.
    pub fn into_bridge(mut self) -> Vec<Committed<i64>> {
        if self.is_spent() {
            self.rejoin()
        } else {
            self.refuse()
        }
        self.chain.bridge().to_vec()
    }

    /// Continues behind all prepared operations without preparation.
    fn rejoin(&mut self) {
        if let Some(lead) = self.lead.take() {
            self.chain = Chain::new(lead.ahead.bridge.iter().chain(self.chain.bridge()).cloned());
        }
    }
}

/// Moves operations to the end of the log in a snapshot.
pub(super) fn go_ahead(ctx: &QueryCtx, start: &Start) -> Result<Ahead> {
    let (db, meeting) = (ctx.db(), start.meeting);
    let note = db.query(Note::by_meeting).eq(meeting).unique()?;
    let (end, units) = note.map_or((0, 0), |note| (note.sequence, note.units));
    let since = log::since(db, meeting, start.through, size(end - start.through))?;
    let mut chain = Chain::new(start.bridge.iter().cloned().chain(since.entries));
    let passed = chain.bridge().to_vec();
    let (mut moved, mut changed_by) = (Vec::new(), BTreeSet::new());
    let (mut today, mut steps) = (size(units), 0);
    for shape in &start.shapes {
        if steps >= start.steps_max {
            break;
        }
        match chain.walk(*shape, today) {
            Ok(walked) => {
                today = walked.moved.length_after(today);
                changed_by.extend(walked.moved.changed_by.iter().copied());
                moved.push(Ok(walked.moved.clone()));
                chain.accept(walked);
            }
            Err(refused) => moved.push(Err(refused)),
        }
        steps += chain.bridge().len();
    }
    let mut ids = since.ids;
    let of_the_bridge = ids.missing(&Vec::from_iter(changed_by));
    ids.add(Ids::read(db, meeting, &of_the_bridge)?);
    Ok(Ahead { through: end.max(start.through), passed, ids, moved, bridge: chain.bridge().to_vec() })
}
