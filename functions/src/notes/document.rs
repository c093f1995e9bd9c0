//! The notes of one meeting within one transaction: opened, changed by operations, saved.
//!
//! This module has the row, the list of pieces, and the log: the entries to transform past, and the appended ones.
//! Everything between opening and saving is one version. Callers decide rights and responses.

use convoke::prelude::*;
use convoke::store::{Db, DbMut};
use schema::limits::Quotas;
use schema::{Fingerprint, Meeting, Note, NoteOperation, NotePiece, OperationId, PieceOfNote, User};

use super::course::{self, Course, Start};
use super::edits::{self, number, size};
use super::history::{self, ENTRIES_PER_CHECKPOINT};
use super::log::{self, Since};
use super::operation::Operation;
use super::pieces::{self, Piece};
use super::texts::{Failure, Texts};

/// The notes of a meeting during a transaction.
pub struct Document {
    row: Doc<Note>,
    pieces: Vec<Piece<Id<NotePiece>>>,
    texts: Texts,
    /// Sequence of the last entry, including those of this transaction.
    sequence: i64,
}

/// Author and identification of an appended operation.
#[derive(Clone)]
pub struct Signature {
    /// Its author.
    pub author: Id<User>,
    /// Id from its author.
    pub operation_id: Option<OperationId>,
    /// Fingerprint of the operation as it was sent.
    pub fingerprint: Option<Fingerprint>,
}

/// An applied operation.
pub struct Applied {
    /// Sequence of its last entry.
    pub sequence: i64,
    /// Logged pieces: several for a delete that was split.
    pub pieces: Vec<Operation>,
    /// Sequences of the committed entries that changed it.
    pub conflicts: Vec<i64>,
}

impl Document {
    /// Opens the notes of `meeting`; creates empty ones if there are none.
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

    /// Returns the row at the time of opening.
    pub fn row(&self) -> &Note {
        &self.row
    }

    /// Returns the sequence of the last entry.
    pub fn sequence(&self) -> i64 {
        self.sequence
    }

    /// Returns the sequence of the last entry of the version `version`, which must exist.
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
            .order(Order::Desc)
            .first()?;
        Ok(last.map_or(0, |entry| entry.sequence))
    }

    /// Requires that a position of the log is near enough to its end and within the part that has its text.
    ///
    /// # Errors
    /// `CONFLICT`.
    pub fn require_reach(&self, base: i64, quotas: &Quotas) -> Result<()> {
        history::require_kept(&self.row, base)?;
        if size(self.sequence - base) > quotas.note_entries_behind { Err(history::too_far_behind()) } else { Ok(()) }
    }

    /// Returns the entries after `base`, in order. One statement; none at the end of the log.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn since(&self, db: &Db, base: i64) -> Result<Since> {
        log::since(db, self.row.meeting_id, base, size(self.sequence - base))
    }

    /// Starts a chain to the end of the log.
    ///
    /// # Errors
    /// `CONFLICT`: the start is too far behind; a failure of the store.
    pub fn begin(&self, ctx: &mut MutationCtx, start: Start, quotas: &Quotas) -> Result<Course> {
        self.require_reach(start.through, quotas)?;
        if start.is_far(self.sequence) {
            let ahead = ctx.prepared(start, course::go_ahead)?;
            let since = self.since(ctx.db(), ahead.through)?;
            return Ok(Course::led(ahead, since));
        }
        let since = self.since(ctx.db(), start.through)?;
        Ok(Course::at(start, since))
    }

    /// Transforms, checks, applies and logs the next operation of a chain, completely or not at all.
    ///
    /// # Errors
    /// [`Failure::Rejected`]: it does not fit the document. Nothing is written then, and the chain does not move.
    pub fn apply(
        &mut self,
        db: &mut DbMut,
        course: &mut Course,
        operation: Operation,
        signature: Signature,
        quotas: &Quotas,
    ) -> Result<Applied, Failure> {
        let shape = operation.shape;
        let is_made_on_this = course.behind() == 0;
        let walked = course.walk(shape, pieces::length(&self.pieces))?;
        let pieces = walked.moved.pieces(operation.content);
        let mut checked = self.check(db, &pieces, quotas);
        if is_made_on_this && checked.is_ok() {
            checked = pieces::check_retained(&self.pieces, &self.texts.within(db, self.row.meeting_id), shape);
        }
        if let Err(failure) = checked {
            course.refuse();
            return Err(failure);
        }
        let mut texts = self.texts.within(db, self.row.meeting_id);
        for piece in &pieces {
            pieces::apply(&mut self.pieces, &mut texts, piece)?;
        }
        let conflicts = walked.moved.changed_by.clone();
        course.accept(shape, walked);
        self.append(db, &pieces, &conflicts, signature)?;
        Ok(Applied { sequence: self.sequence, pieces, conflicts })
    }

    /// Checks the pieces of an operation against the current text.
    fn check(&self, db: &mut DbMut, pieces: &[Operation], quotas: &Quotas) -> Result<(), Failure> {
        let length = pieces::length(&self.pieces);
        for piece in pieces {
            piece.check_size(length, quotas.note_document_units)?;
        }
        let shapes: Vec<_> = pieces.iter().map(|piece| piece.shape).collect();
        pieces::check(&self.pieces, &self.texts.within(db, self.row.meeting_id), &shapes)
    }

    fn append(&mut self, db: &mut DbMut, pieces: &[Operation], conflicts: &[i64], signature: Signature) -> Result<()> {
        let Signature { author, mut operation_id, mut fingerprint } = signature;
        // The first piece has the conflicts of all: a long delete may have thousands of pieces and conflicts.
        let mut conflicts = log::changed_by(conflicts);
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

    /// Saves the document and returns its version, which increases by one if anything was appended.
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
            note.text_since = note.text_since.min(now);
        })?;
        if checkpoint_due {
            history::make_checkpoint(db, &row)?;
        }
        Ok(row.version)
    }
}

/// Returns the initial notes of a meeting.
pub fn empty(meeting: Id<Meeting>, now: Millis) -> Note {
    Note {
        meeting_id: meeting,
        units: 0,
        pieces: Vec::new(),
        version: 0,
        sequence: 0,
        updated_at: now,
        first_sequence: 1,
        cleared_sequence: 0,
        text_since: Millis::MAX,
    }
}
