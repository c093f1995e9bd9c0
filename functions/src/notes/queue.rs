//! The rows of one client's offline queue: finding, ordering, and changing their state.
//!
//! This module defines `ordinal`, `attempts` and `cleared`. `offline` fills the queue, and `draining` empties it.
//!
//! `ordinal` is the position in the queue, assigned once from 0. A cleared row leaves the queue: its ordinal becomes
//! negative, so that reads of the queue skip it, while its id stays known. A pending row with an attempt is a retry and
//! no longer belongs to the client's chain.

use convoke::prelude::*;
use convoke::store::{Db, DbMut};
use schema::{ClientToken, Meeting, OfflineOperation, OfflineStatus, User};

/// A queue: one client of one author, for the notes of one meeting.
#[derive(Clone)]
pub struct Queue {
    /// Meeting of the notes.
    pub meeting: Id<Meeting>,
    /// Author.
    pub author: Id<User>,
    /// Client of the author.
    pub client: ClientToken,
}

/// Rows per read when a queue is changed.
const ROWS_AT_A_TIME: usize = 500;

/// Rows of the first read: often there is nothing to change.
const ROWS_AT_FIRST: usize = 10;

/// Bytes of content after which a call changes no further rows, because the writer reads and writes it.
const BYTES_CHANGED_MAX: usize = 16 * 1024 * 1024;

/// The stored statuses.
const STORED: [OfflineStatus; 3] = [OfflineStatus::Pending, OfflineStatus::Synced, OfflineStatus::Failed];

impl Queue {
    /// Returns the first `rows_max` pending rows, in their order.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn pending(&self, db: &Db, rows_max: usize) -> Result<Vec<Doc<OfflineOperation>>> {
        self.page(db, OfflineStatus::Pending, 0, rows_max)
    }

    /// Returns the last pending row.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn last_pending(&self, db: &Db) -> Result<Option<Doc<OfflineOperation>>> {
        self.last(db, OfflineStatus::Pending)
    }

    /// Counts the rows with a status, without cleared ones.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn count(&self, db: &Db, status: OfflineStatus) -> Result<i64> {
        let rows = db.query(OfflineOperation::by_client_status).eq(self.meeting).eq(self.author).eq(&self.client);
        let count = rows.eq(status).range(0..).count()?;
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// Returns the ordinal of the next new row, which is greater than all others.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn next_ordinal(&self, db: &Db) -> Result<i64> {
        let mut next = 0;
        for status in STORED {
            if let Some(last) = self.last(db, status)? {
                next = next.max(last.ordinal + 1);
            }
        }
        Ok(next)
    }

    /// Returns the rows with these ids of the client, including cleared ones.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn known<'a>(
        &self,
        db: &Db,
        ids: impl IntoIterator<Item = &'a ClientToken>,
    ) -> Result<Vec<Doc<OfflineOperation>>> {
        let rows = db.query(OfflineOperation::by_operation).eq(self.meeting).eq(self.author).eq(&self.client);
        Ok(rows.any(ids).take(usize::MAX)?)
    }

    /// Changes the rows with a status, in their order, up to the first one that is not `wanted` and at most `rows_max`.
    /// Returns their number. Stops early if the rows are large; the next call continues.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn change(
        &self,
        db: &mut DbMut,
        status: OfflineStatus,
        rows_max: usize,
        wanted: impl Fn(&OfflineOperation) -> bool,
        change: impl Fn(&mut OfflineOperation),
    ) -> Result<usize> {
        let (mut from, mut changed, mut bytes) = (0, 0, 0);
        let mut at_a_time = ROWS_AT_FIRST;
        while changed < rows_max && bytes < BYTES_CHANGED_MAX {
            let rows = db.query(OfflineOperation::by_client_status).eq(self.meeting).eq(self.author).eq(&self.client);
            let rows = rows.eq(status).range(from..).page(None, at_a_time.min(rows_max - changed))?.items;
            let Some(last) = rows.last() else { break };
            from = last.ordinal + 1;
            for row in rows {
                if !wanted(&row) {
                    return Ok(changed);
                }
                bytes += row.operation.as_ref().map_or(0, |edit| edit.content.len());
                db.patch_doc(row, &change)?;
                changed += 1;
            }
            at_a_time = ROWS_AT_A_TIME;
        }
        Ok(changed)
    }

    fn page(&self, db: &Db, status: OfflineStatus, from: i64, rows_max: usize) -> Result<Vec<Doc<OfflineOperation>>> {
        let rows = db.query(OfflineOperation::by_client_status).eq(self.meeting).eq(self.author).eq(&self.client);
        Ok(rows.eq(status).range(from..).take(rows_max)?)
    }

    fn last(&self, db: &Db, status: OfflineStatus) -> Result<Option<Doc<OfflineOperation>>> {
        let rows = db.query(OfflineOperation::by_client_status).eq(self.meeting).eq(self.author).eq(&self.client);
        Ok(rows.eq(status).range(0..).order(Order::Desc).first()?)
    }
}

/// Removes the content of a synced row. Its id and fingerprint stay, so that a late repetition is recognized.
pub fn clear(row: &mut OfflineOperation) {
    row.operation = None;
    row.cleared = true;
    row.ordinal = -1 - row.ordinal;
}

/// Makes a failed row pending again, on the base `base`, outside of the client's chain.
pub fn retry(row: &mut OfflineOperation, base: i64) {
    row.status = OfflineStatus::Pending;
    row.error = None;
    row.base_sequence = base;
    // A row that failed without an attempt, because of missing rights, leaves its chain too.
    row.attempts = row.attempts.max(1);
}

/// Returns true if a pending row is a retry.
pub fn is_retried(row: &OfflineOperation) -> bool {
    row.attempts > 0
}
