//! The mutations of one commit.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::sync::Arc;

use super::pending::Pending;
use super::writes::RowWrite;
use crate::commits::{ChangeSet, Commits};

/// Most bytes of the pending rows of a mutation, approximately. The writer needs some milliseconds to apply them. A
/// batch with more bytes should be committed.
pub const PENDING_BYTES_MAX: usize = 8 * 1_024 * 1_024;

/// The pending rows of the mutations that one commit makes durable. Clones share them.
#[derive(Clone)]
pub struct Batch(Rc<Inner>);

struct Inner {
    commits: Arc<Commits>,
    pending: RefCell<Pending>,
    /// Changes by applied writes, including those that were rolled back later.
    applied: RefCell<ChangeSet>,
}

impl Batch {
    /// Creates a batch without rows. `commits` knows which tables are watched.
    pub fn new(commits: Arc<Commits>) -> Self {
        Self(Rc::new(Inner { commits, pending: RefCell::default(), applied: RefCell::default() }))
    }

    /// Returns the writes of the pending rows, in the order in which the engine must apply them.
    pub fn writes(&self) -> Vec<RowWrite> {
        self.pending().writes()
    }

    /// Returns the changes of the commit.
    pub fn changes(&self) -> ChangeSet {
        let mut changes = self.0.applied.borrow().clone();
        changes.extend([self.pending().changes(&self.0.commits)]);
        changes
    }

    /// Returns true if the batch should be committed before another mutation runs, because it takes much memory.
    pub fn is_large(&self) -> bool {
        self.pending().bytes() > PENDING_BYTES_MAX
    }

    /// Removes all rows, after a commit or when the engine has lost the transaction.
    pub fn clear(&self) {
        self.pending().clear();
        self.0.applied.take();
    }

    /// Records the changes of the pending rows and removes these rows. The engine has applied their writes.
    pub(super) fn set_applied(&self) {
        let changes = self.pending().changes(&self.0.commits);
        self.0.applied.borrow_mut().extend([changes]);
        self.pending().clear();
    }

    pub(super) fn pending(&self) -> RefMut<'_, Pending> {
        self.0.pending.borrow_mut()
    }
}
