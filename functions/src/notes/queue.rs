//! The rows of one client's offline queue: how they are found, ordered, told apart and settled.
//!
//! Owns what `ordinal`, `attempts` and `cleared` mean. What is put into the queue is `offline`'s, how it comes into the
//! log is `draining`'s.
//!
//! `ordinal` is the place in the queue, from 0 on, given once. A cleared row leaves the queue: its ordinal becomes
//! negative, so that no walk over the queue meets it again, while its id stays known. A pending row that was attempted
//! before is one that was asked to be retried: it does not belong to the client's chain any more.

use convoke::prelude::*;
use convoke::store::{Db, DbMut};
use schema::{ClientToken, Meeting, OfflineOperation, OfflineStatus, User};

/// Whose queue: one client of one author, for the notes of one meeting.
#[derive(Clone)]
pub struct Queue {
    /// Of which meeting's notes.
    pub meeting: Id<Meeting>,
    /// Who wrote.
    pub author: Id<User>,
    /// On which of their clients.
    pub client: ClientToken,
}

/// Rows that are read at a time where a queue is changed.
const ROWS_AT_A_TIME: usize = 500;

/// Rows that are read first: often there is nothing to change, and one row tells.
const ROWS_AT_FIRST: usize = 10;

/// Bytes of content behind which no further rows are changed in one call: it is read and written in the writer.
const BYTES_CHANGED_MAX: usize = 16 * 1024 * 1024;

/// The statuses that rows are stored with.
const STORED: [OfflineStatus; 3] = [OfflineStatus::Pending, OfflineStatus::Synced, OfflineStatus::Failed];

impl Queue {
    /// The first `rows_max` rows that wait, in the order in which they were made.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn pending(&self, db: &Db, rows_max: usize) -> Result<Vec<Doc<OfflineOperation>>> {
        self.page(db, OfflineStatus::Pending, 0, rows_max)
    }

    /// The last row that waits.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn last_pending(&self, db: &Db) -> Result<Option<Doc<OfflineOperation>>> {
        self.last(db, OfflineStatus::Pending)
    }

    /// How many rows have a status, cleared ones not counted.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn count(&self, db: &Db, status: OfflineStatus) -> Result<i64> {
        let rows = db.query(OfflineOperation::by_client_status).eq(self.meeting).eq(self.author).eq(&self.client);
        let count = rows.eq(status).range(0..).count()?;
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// The ordinal of the next new row: behind every row of the queue, whatever happened to it.
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

    /// The rows with these ids of the client's, cleared ones too.
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

    /// Changes the rows of a status, in their order, up to the first that is not `wanted` and at most `rows_max`; says
    /// how many. Reads hardly more than it changes, and stops early where the rows are large: the next call goes on.
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

/// Lets the content of a synced row go. Its id and fingerprint stay, so that a late repetition is known.
pub fn clear(row: &mut OfflineOperation) {
    row.operation = None;
    row.cleared = true;
    row.ordinal = -1 - row.ordinal;
}

/// Makes a failed row pending again, as an operation made on the entry `base`, apart from the client's chain.
pub fn retry(row: &mut OfflineOperation, base: i64) {
    row.status = OfflineStatus::Pending;
    row.error = None;
    row.base_sequence = base;
    // A row that failed without an attempt, because the right to write went, is out of its chain all the same.
    row.attempts = row.attempts.max(1);
}

/// Whether a pending row waits for a second attempt.
pub fn is_retried(row: &OfflineOperation) -> bool {
    row.attempts > 0
}
