//! Reading the log: the entries that an operation must pass, and their ids.
//!
//! Entries are identified by their sequence. Ids are only for responses, and are read if they are not known.

use convoke::prelude::*;
use convoke::store::Db;
use schema::{ChangedBy, Meeting, NoteOperation};

use super::chain::Committed;
use super::edits::{self, size};
use super::operation::Shape;

/// The id of a log entry.
pub type Entry = Id<NoteOperation>;

/// The part of the log after an entry.
#[derive(Default)]
pub struct Since {
    /// Shapes of its entries, by sequence.
    pub entries: Vec<Committed<i64>>,
    /// Their ids.
    pub ids: Ids,
}

/// Ids of entries by sequence.
#[derive(Clone, Default)]
pub struct Ids(Vec<(i64, Entry)>);

/// Returns the log entries after `base`, at most `entries_max`. One statement, which reads only an index: the texts may
/// be hundreds of megabytes.
///
/// # Errors
/// A failure of the store.
pub fn since(db: &Db, meeting: Id<Meeting>, base: i64, entries_max: usize) -> Result<Since> {
    let mut since = Since::default();
    if entries_max == 0 {
        return Ok(since);
    }
    let mut unknown = Vec::new();
    let entries = db.query(NoteOperation::by_meeting_passed).eq(meeting).range(base + 1..);
    for (id, keys) in entries.keys(entries_max)? {
        let (_, (sequence, (_, (_, (_, (kind, (position, (length, ())))))))) = keys;
        let shape = match (kind, position, length) {
            (Some(kind), Some(position), Some(length)) => edits::shape_of(kind, position, length),
            _ => {
                unknown.push(since.entries.len());
                Shape::retain(0, 0)
            }
        };
        since.entries.push(Committed { key: sequence, shape });
        since.ids.0.push((sequence, id));
    }
    // Entries of earlier releases have their shape only in the row.
    let rows: Vec<Entry> = unknown.iter().map(|place| since.ids.0[*place].1).collect();
    for (place, row) in unknown.into_iter().zip(db.get_many(&rows)?) {
        let row = row.ok_or_else(|| Error::internal("an entry of the log is gone"))?;
        since.entries[place].shape = edits::shape(&row.operation);
    }
    Ok(since)
}

impl Ids {
    /// Returns the ids of the entries with these ascending sequences. Reads an index once per range.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn read(db: &Db, meeting: Id<Meeting>, sequences: &[i64]) -> Result<Ids> {
        let mut ids = Vec::with_capacity(sequences.len());
        for (first, last) in ranges(sequences) {
            let entries = db.query(NoteOperation::by_meeting_passed).eq(meeting).range(first..=last);
            let keys = entries.keys(size(last - first + 1))?;
            ids.extend(keys.into_iter().map(|(id, (_, (sequence, _)))| (sequence, id)));
        }
        Ok(Ids(ids))
    }

    /// Adds ids of only later or only earlier entries.
    pub fn add(&mut self, mut others: Ids) {
        if others.0.first() < self.0.first() {
            std::mem::swap(&mut self.0, &mut others.0);
        }
        self.0.append(&mut others.0);
    }

    /// Returns the ids of the entries with these ascending sequences. Unknown ids are read.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn of(&self, db: &Db, meeting: Id<Meeting>, sequences: &[i64]) -> Result<Vec<Entry>> {
        let read = Ids::read(db, meeting, &self.missing(sequences))?;
        let known = |sequence: i64| self.get(sequence).or_else(|| read.get(sequence));
        let gone = |sequence: i64| Error::internal(format!("entry {sequence} of the notes of {meeting} is gone"));
        sequences.iter().map(|sequence| known(*sequence).ok_or_else(|| gone(*sequence))).collect()
    }

    /// Returns the known ids of the entries that a row names.
    pub fn named(&self, changed_by: &[ChangedBy]) -> Vec<Entry> {
        let mut named = Vec::new();
        for changed_by in changed_by {
            match changed_by {
                ChangedBy::Entries(first, last) => {
                    named.extend((*first..=*last).filter_map(|sequence| self.get(sequence)));
                }
                ChangedBy::Entry(id) => named.push(*id),
            }
        }
        named
    }

    /// Returns the sequences whose ids are unknown.
    pub fn missing(&self, sequences: &[i64]) -> Vec<i64> {
        sequences.iter().copied().filter(|sequence| self.get(*sequence).is_none()).collect()
    }

    fn get(&self, sequence: i64) -> Option<Entry> {
        let place = self.0.binary_search_by_key(&sequence, |(at, _)| *at).ok()?;
        Some(self.0[place].1)
    }
}

/// Returns the ascending sequences of all entries that several rows name, without duplicates.
pub fn sequences<'a>(rows: impl IntoIterator<Item = &'a [ChangedBy]>) -> Vec<i64> {
    let mut sequences: Vec<i64> = Vec::new();
    for changed_by in rows.into_iter().flatten() {
        match changed_by {
            ChangedBy::Entries(first, last) => sequences.extend(*first..=*last),
            ChangedBy::Entry(_) => {}
        }
    }
    sequences.sort_unstable();
    sequences.dedup();
    sequences
}

/// Returns ascending sequences in the form of a row.
pub fn changed_by(sequences: &[i64]) -> Vec<ChangedBy> {
    ranges(sequences).into_iter().map(|(first, last)| ChangedBy::Entries(first, last)).collect()
}

/// Returns ascending numbers as ranges with inclusive ends.
fn ranges(numbers: &[i64]) -> Vec<(i64, i64)> {
    numbers.chunk_by(|one, next| one + 1 == *next).map(|run| (run[0], run[run.len() - 1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_one_range() {
        assert_eq!(ranges(&[]), []);
        assert_eq!(ranges(&[3]), [(3, 3)]);
        assert_eq!(ranges(&[1, 2, 3, 5, 7, 8]), [(1, 3), (5, 5), (7, 8)]);
    }

    #[test]
    fn ids_are_found_whichever_part_came_first() {
        let part = |sequences: std::ops::Range<i64>| {
            Ids(sequences.map(|sequence| (sequence, Entry::from_bits(sequence.unsigned_abs().into()))).collect())
        };
        for (one, other) in [(part(5..9), part(1..3)), (part(1..3), part(5..9)), (part(0..0), part(1..9))] {
            let mut ids = one;
            ids.add(other);
            assert_eq!(ids.get(2), Some(Entry::from_bits(2)));
            assert_eq!(ids.get(8), Some(Entry::from_bits(8)));
            assert_eq!(ids.missing(&[0, 1]), [0]);
        }
    }
}
