//! A chain's way to the log's end within one transaction, most of it gone ahead of the transaction if it is long.
//!
//! The writer serves everybody, so it does not read thousands of entries for one: what lies far behind the log is moved
//! up to its end on a reader, in a snapshot, and the transaction carries it past what came since. That gives the same as
//! going all the way in the transaction, since an operation passes the entries one after the other. Owns when that is
//! worth it, and what happens to it where the document refuses an operation. How operations pass each other is `chain`'s.

use std::collections::BTreeSet;
use std::sync::Arc;

use convoke::prelude::*;
use schema::{Meeting, Note};

use super::chain::{Chain, Committed, Moved, Walked};
use super::edits::size;
use super::log::{self, Ids, Since};
use super::operation::{Rejection, Shape};

/// Entries that are read inside the transaction: to be given up and run again costs about as much.
pub const ENTRIES_NEAR: usize = 200;

/// The same for entries times operations. To pass an entry that was read takes a small part of reading it.
const STEPS_NEAR: usize = 5_000;

/// Operations made on a place of the log, and what is known of their way to its end.
#[derive(Clone, PartialEq)]
pub struct Start {
    /// Whose notes.
    pub meeting: Id<Meeting>,
    /// What of the log lies behind the operations before these, in an earlier drain of the same chain.
    pub bridge: Vec<Committed<i64>>,
    /// Up to which entry the log is in the bridge; the base of the chain, if nothing is.
    pub through: i64,
    /// Where the operations act, each on what the ones before it made.
    pub shapes: Vec<Shape>,
    /// Entries that the operations are carried past, all together, before the rest of them is left where it is.
    pub steps_max: usize,
}

/// A chain on its way.
pub struct Course {
    /// With all that is to be passed; with what came since, if the rest was passed ahead.
    chain: Chain<i64>,
    ids: Ids,
    lead: Option<Lead>,
}

/// Operations that were moved to where the log ended in a snapshot.
pub(super) struct Ahead {
    /// Where that was.
    pub(super) through: i64,
    /// What they had to pass up to there.
    passed: Vec<Committed<i64>>,
    ids: Ids,
    /// What happened to them, in their order; not of those for which there were no steps left.
    moved: Vec<Result<Moved<i64>, Rejection>>,
    /// What they passed, as it is behind all of them.
    bridge: Vec<Committed<i64>>,
}

/// How far a transaction has come with what was moved ahead of it.
struct Lead {
    ahead: Arc<Ahead>,
    /// The next operation.
    next: usize,
    /// Those that were applied, as they were made.
    applied: Vec<Shape>,
    /// What came after the snapshot.
    since: Vec<Committed<i64>>,
}

impl Start {
    /// Operations that were made on the entry `base`.
    pub fn at(meeting: Id<Meeting>, base: i64, shapes: Vec<Shape>, steps_max: usize) -> Start {
        Start { meeting, bridge: Vec::new(), through: base, shapes, steps_max }
    }

    /// Whether the way to the log's end at the entry `end` is too long for the writer.
    pub fn is_far(&self, end: i64) -> bool {
        let entries = size(end - self.through);
        let steps = (self.bridge.len() + entries).saturating_mul(self.shapes.len());
        entries > ENTRIES_NEAR || steps.min(self.steps_max) > STEPS_NEAR
    }
}

impl Course {
    /// A chain at its start; `since` is what was committed after that.
    pub(super) fn at(start: Start, since: Since) -> Course {
        Course { chain: Chain::new(start.bridge.into_iter().chain(since.entries)), ids: since.ids, lead: None }
    }

    /// A chain that was moved ahead of the transaction; `since` is what was committed after that.
    pub(super) fn led(ahead: Arc<Ahead>, since: Since) -> Course {
        let mut ids = ahead.ids.clone();
        ids.add(since.ids);
        let chain = Chain::new(since.entries.clone());
        let lead = Lead { ahead, next: 0, applied: Vec::new(), since: since.entries };
        Course { chain, ids, lead: Some(lead) }
    }

    /// A chain on the log's end.
    pub fn at_the_end() -> Course {
        Course { chain: Chain::new([]), ids: Ids::default(), lead: None }
    }

    /// The next operation at the log's end, where the document has `today` units. Has to be accepted or refused.
    ///
    /// # Errors
    /// [`Rejection`] if its range is not in the document that the chain has made so far.
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

    /// The document refused the operation that was walked: for those after it there was none. Ahead of the transaction
    /// they were moved as if there had been one, so the chain goes its way from its start.
    pub fn refuse(&mut self) {
        let Some(lead) = self.lead.take() else { return };
        self.chain = Chain::new(lead.ahead.passed.iter().cloned().chain(lead.since));
        for shape in lead.applied {
            let walked = self.chain.carry(Moved::new(shape));
            self.chain.accept(walked);
        }
    }

    /// How many entries the next operation has to pass, in and ahead of the transaction.
    pub fn behind(&self) -> usize {
        self.lead.as_ref().map_or(0, |lead| lead.ahead.passed.len()) + self.chain.bridge().len()
    }

    /// Whether the way was gone ahead of the transaction.
    pub fn is_led(&self) -> bool {
        self.lead.is_some()
    }

    /// Whether nothing is left of what was moved ahead.
    pub fn is_spent(&self) -> bool {
        self.lead.as_ref().is_some_and(|lead| lead.next == lead.ahead.moved.len())
    }

    /// The ids of the entries that it passed, as far as they are at hand.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// What a later drain of the same chain goes on with.
    pub fn into_bridge(mut self) -> Vec<Committed<i64>> {
        if self.is_spent() {
            self.rejoin()
        } else {
            self.refuse()
        }
        self.chain.bridge().to_vec()
    }

    /// Behind all that was moved ahead: from here the chain goes on by itself.
    fn rejoin(&mut self) {
        if let Some(lead) = self.lead.take() {
            self.chain = Chain::new(lead.ahead.bridge.iter().chain(self.chain.bridge()).cloned());
        }
    }
}

/// Moves operations as far as the log goes in a snapshot.
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
