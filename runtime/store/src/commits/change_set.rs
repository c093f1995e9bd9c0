//! The rows and tables that a transaction or a commit changed, and the number of a commit.

use std::fmt;

/// The number of a commit. It grows with each commit, also over restarts. It is the time in nanoseconds since the
/// epoch, unless there are more commits than nanoseconds, or the clock was set back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(pub u64);

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Most rows that are recorded individually; beyond it, only their tables are.
const ROWS_MAX: usize = 10_000;

/// A row that was inserted, updated or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// Name of its table.
    pub table: &'static str,
    /// Its id.
    pub id: u128,
    /// Its positions in indexes before and after, with the number of the index in the table. An unchanged position
    /// occurs once.
    pub places: Vec<(usize, Box<[u8]>)>,
}

/// The changes of a transaction or a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// True if anything may have changed.
    pub everything: bool,
    /// Tables that may have changed in any way.
    pub tables: Vec<&'static str>,
    /// Changed rows.
    pub rows: Vec<RowChange>,
}

impl ChangeSet {
    /// Returns a change set of unknown changes.
    pub fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// Returns true if nothing changed.
    pub fn is_empty(&self) -> bool {
        !self.everything && self.tables.is_empty() && self.rows.is_empty()
    }

    /// Records that anything in this table may have changed.
    pub fn add_table(&mut self, table: &'static str) {
        if !self.tables.contains(&table) {
            self.tables.push(table);
        }
    }

    /// Records a changed row.
    pub fn add_row(&mut self, row: RowChange) {
        if self.rows.len() >= ROWS_MAX {
            self.forget_rows();
        }
        if !self.tables.contains(&row.table) {
            self.rows.push(row);
        }
    }

    fn forget_rows(&mut self) {
        for row in std::mem::take(&mut self.rows) {
            self.add_table(row.table);
        }
    }

    fn append(&mut self, other: ChangeSet) {
        self.everything |= other.everything;
        other.tables.into_iter().for_each(|table| self.add_table(table));
        other.rows.into_iter().for_each(|row| self.add_row(row));
    }

    /// Returns the number of entries, for limits of memory and time.
    pub(super) fn weight(&self) -> usize {
        1 + self.tables.len() + self.rows.len()
    }
}

impl Extend<ChangeSet> for ChangeSet {
    fn extend<I: IntoIterator<Item = ChangeSet>>(&mut self, all: I) {
        all.into_iter().for_each(|changes| self.append(changes));
    }
}

impl FromIterator<ChangeSet> for ChangeSet {
    fn from_iter<I: IntoIterator<Item = ChangeSet>>(all: I) -> Self {
        let mut whole = Self::default();
        whole.extend(all);
        whole
    }
}
