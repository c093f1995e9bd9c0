//! The rows and tables that a transaction or a commit changed, and the number of a commit.

use std::fmt;

/// The number of a commit: grows with each one, over restarts too. Nanoseconds since the epoch, unless more commits are
/// made than there are nanoseconds, or the clock was set back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(pub u64);

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Rows whose changes are told one by one; beyond it, their tables are told as a whole.
const ROWS_MAX: usize = 10_000;

/// A row that was added, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// The name of its table.
    pub table: &'static str,
    /// Its id.
    pub id: u128,
    /// Its places in indexes before and after, each by the index's place in the table; one that stayed is there once.
    pub places: Vec<(usize, Box<[u8]>)>,
}

/// What a transaction or a commit changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// Anything may have changed.
    pub everything: bool,
    /// Tables of which anything may have changed.
    pub tables: Vec<&'static str>,
    /// Rows.
    pub rows: Vec<RowChange>,
    /// How often rows were too many and became tables.
    collapsed: u32,
}

/// How much was noted at some moment.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    tables: usize,
    rows: usize,
    collapsed: u32,
}

impl ChangeSet {
    /// Nobody knows what.
    pub fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        !self.everything && self.tables.is_empty() && self.rows.is_empty()
    }

    /// Anything of this table may have changed.
    pub fn add_table(&mut self, table: &'static str) {
        if !self.tables.contains(&table) {
            self.tables.push(table);
        }
    }

    /// A row was changed.
    pub fn add_row(&mut self, row: RowChange) {
        if self.rows.len() >= ROWS_MAX {
            self.forget_rows();
        }
        if !self.tables.contains(&row.table) {
            self.rows.push(row);
        }
    }

    /// How much is noted now, for [`ChangeSet::back_to`].
    pub fn mark(&self) -> Mark {
        Mark { tables: self.tables.len(), rows: self.rows.len(), collapsed: self.collapsed }
    }

    /// Forgets what was noted since; more than that stays if rows became tables since.
    pub fn back_to(&mut self, mark: Mark) {
        if self.collapsed == mark.collapsed {
            self.tables.truncate(mark.tables);
            self.rows.truncate(mark.rows);
        }
    }

    fn forget_rows(&mut self) {
        self.collapsed += 1;
        for row in std::mem::take(&mut self.rows) {
            self.add_table(row.table);
        }
    }

    fn append(&mut self, other: ChangeSet) {
        self.everything |= other.everything;
        other.tables.into_iter().for_each(|table| self.add_table(table));
        other.rows.into_iter().for_each(|row| self.add_row(row));
    }

    /// The number of entries, for bounds of memory and time.
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
