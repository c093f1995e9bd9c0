//! One meeting's notes within one transaction: opened, changed by operations, saved.
//!
//! Owns the row, the list of its pieces, and the log: what an operation is transformed past, and what is appended. All
//! that happens between opening and saving is one version. Who may do it, and what is answered, is left to others.

use convoke::prelude::*;
use convoke::store::{Db, DbMut};
use schema::limits::Quotas;
use schema::{Fingerprint, Meeting, Note, NoteOperation, NotePiece, OperationId, PieceOfNote, User};

use super::chain::{Chain, Committed};
use super::edits::{self, number, size};
use super::history::{self, ENTRIES_PER_CHECKPOINT, too_far_behind};
use super::operation::{Operation, Shape};
use super::pieces::{self, Piece};
use super::texts::{Failure, Texts};

/// The key of a committed operation in a chain: its entry in the log.
pub type Entry = Id<NoteOperation>;

/// The notes of a meeting, in the middle of a transaction.
pub struct Document {
    row: Doc<Note>,
    pieces: Vec<Piece<Id<NotePiece>>>,
    texts: Texts,
    /// The log's end, with what this transaction has appended.
    sequence: i64,
}

/// Whose operation is appended, and by what a repetition of it is known.
#[derive(Clone)]
pub struct Signature {
    /// Its author.
    pub author: Id<User>,
    /// The id that its author gave it.
    pub operation_id: Option<OperationId>,
    /// Of the operation as it was sent.
    pub fingerprint: Option<Fingerprint>,
}

/// An entry of the log as another operation passes it.
pub struct Passed {
    /// Where it acts.
    pub committed: Committed<Entry>,
    /// Whose it is.
    pub author: Id<User>,
    /// The id that its author gave it; of several entries the first has it.
    pub operation_id: Option<OperationId>,
    /// Of how many entries its operation consists.
    pub pieces: i64,
}

/// An operation that was applied.
pub struct Applied {
    /// The sequence of its last entry.
    pub sequence: i64,
    /// What was logged: one piece, or several of a delete that was split.
    pub pieces: Vec<Operation>,
    /// The committed entries that changed it.
    pub conflicts: Vec<Entry>,
}

impl Document {
    /// The notes of `meeting`; empty ones are made for a meeting that has none.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn open(db: &mut DbMut, meeting: Id<Meeting>, now: Millis) -> Result<Document> {
        let row = match db.query(Note::by_meeting).eq(meeting).unique()? {
            Some(row) => row,
            None => db.insert_unique(Note::by_meeting, empty(meeting, now))?.into_doc(),
        };
        let pieces = row.pieces.iter().map(|piece| Piece { key: piece.id, units: size(piece.units) }).collect();
        let sequence = row.sequence;
        Ok(Document { row, pieces, texts: Texts::default(), sequence })
    }

    /// The row as it was when the document was opened.
    pub fn row(&self) -> &Note {
        &self.row
    }

    /// The log's end now.
    pub fn sequence(&self) -> i64 {
        self.sequence
    }

    /// The log's end when the document had the version `version`, which is not ahead of it.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn sequence_of_version(&self, db: &Db, version: i64) -> Result<i64> {
        if version == self.row.version {
            return Ok(self.row.sequence);
        }
        let last = db
            .query(NoteOperation::by_meeting_version)
            .eq(self.row.meeting_id)
            .range(..=version)
            .order(Order::Reverse)
            .first()?;
        Ok(last.map_or(0, |entry| entry.sequence))
    }

    /// What was committed after the entry `base`, in order. One statement, none at the log's end.
    ///
    /// # Errors
    /// `CONFLICT` if that are more than the limit; a failure of the store.
    pub fn since(&self, db: &Db, base: i64, quotas: &Quotas) -> Result<Vec<Committed<Entry>>> {
        Ok(self.entries_since(db, base, quotas)?.into_iter().map(|entry| entry.committed).collect())
    }

    /// As [`Document::since`], with whose they are. Reads them out of an index, without their texts: these may be
    /// hundreds of megabytes.
    ///
    /// # Errors
    /// As [`Document::since`].
    pub fn entries_since(&self, db: &Db, base: i64, quotas: &Quotas) -> Result<Vec<Passed>> {
        let behind = size(self.sequence - base);
        if behind > quotas.note_entries_behind {
            return Err(too_far_behind());
        }
        if behind == 0 {
            return Ok(Vec::new());
        }
        let entries = db.query(NoteOperation::by_meeting_passed).eq(self.row.meeting_id).range(base + 1..);
        let mut passed = Vec::with_capacity(behind);
        let mut old = Vec::new();
        for (key, (_, (_, (author, (operation_id, (pieces, (kind, (position, (length, ()))))))))) in
            entries.keys(behind)?
        {
            let shape = match (kind, position, length) {
                (Some(kind), Some(position), Some(length)) => edits::shape_of(kind, position, length),
                _ => {
                    old.push((passed.len(), key));
                    Shape::retain(0, 0)
                }
            };
            passed.push(Passed { committed: Committed { key, shape }, author, operation_id, pieces });
        }
        // Entries of earlier releases have their shape in the row only.
        let keys: Vec<Entry> = old.iter().map(|(_, key)| *key).collect();
        for ((place, key), row) in old.into_iter().zip(db.get_many(&keys)?) {
            let row = row.ok_or_else(|| Error::internal(format!("the entry {key} is gone")))?;
            passed[place].committed.shape = edits::shape(&row.operation);
        }
        Ok(passed)
    }

    /// The next operation of `chain`: walked, checked, applied and appended, as a whole or not at all.
    ///
    /// # Errors
    /// [`Failure::Refused`] if it does not fit the document; nothing is written then, and the chain is as before.
    pub fn apply(
        &mut self,
        db: &mut DbMut,
        chain: &mut Chain<Entry>,
        operation: Operation,
        signature: Signature,
        quotas: &Quotas,
    ) -> Result<Applied, Failure> {
        let length = pieces::length(&self.pieces);
        let mut walked = chain.walk(operation, length)?;
        for piece in &walked.pieces {
            piece.check_size(length, quotas.note_document_units)?;
        }
        let shapes: Vec<_> = walked.pieces.iter().map(|piece| piece.shape).collect();
        let mut texts = self.texts.within(db, self.row.meeting_id);
        pieces::check(&self.pieces, &texts, &shapes)?;
        for piece in &walked.pieces {
            pieces::apply(&mut self.pieces, &mut texts, piece)?;
        }
        let pieces = std::mem::take(&mut walked.pieces);
        let conflicts = std::mem::take(&mut walked.changed_by);
        chain.accept(walked);
        self.append(db, &pieces, &conflicts, signature)?;
        Ok(Applied { sequence: self.sequence, pieces, conflicts })
    }

    fn append(
        &mut self,
        db: &mut DbMut,
        pieces: &[Operation],
        conflicts: &[Entry],
        signature: Signature,
    ) -> Result<()> {
        let Signature { author, mut operation_id, mut fingerprint } = signature;
        // The first piece speaks for all of them: a long delete may be in thousands, and so may what changed it.
        let mut conflicts = conflicts.to_vec();
        for piece in pieces {
            self.sequence += 1;
            db.insert(NoteOperation {
                meeting_id: self.row.meeting_id,
                sequence: self.sequence,
                version: self.row.version + 1,
                author_id: author,
                operation: edits::edit(piece),
                kind: Some(edits::kind(piece.shape.kind)),
                position: Some(number(piece.shape.position)),
                length: Some(number(piece.shape.length)),
                conflicts_with: std::mem::take(&mut conflicts),
                operation_id: operation_id.take(),
                fingerprint: fingerprint.take(),
                pieces: number(pieces.len()),
            })?;
        }
        Ok(())
    }

    /// Writes the document back and returns its version: one more if anything was appended, else as it was.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn save(self, db: &mut DbMut, now: Millis) -> Result<i64> {
        let Document { row, pieces, texts, sequence } = self;
        if sequence == row.sequence {
            return Ok(row.version);
        }
        let checkpoint_due = row.sequence / ENTRIES_PER_CHECKPOINT < sequence / ENTRIES_PER_CHECKPOINT;
        texts.save(db)?;
        let row = db.patch_doc(row, |note| {
            note.units = number(pieces::length(&pieces));
            note.pieces =
                pieces.iter().map(|piece| PieceOfNote { id: piece.key, units: number(piece.units) }).collect();
            note.version += 1;
            note.sequence = sequence;
            note.updated_at = now;
        })?;
        if checkpoint_due {
            history::make_checkpoint(db, &row)?;
        }
        Ok(row.version)
    }
}

/// The notes that a meeting begins with.
pub fn empty(meeting: Id<Meeting>, now: Millis) -> Note {
    Note { meeting_id: meeting, units: 0, pieces: Vec::new(), version: 0, sequence: 0, updated_at: now }
}
