//! What a function's result is written to.

use std::io;
use std::sync::Arc;

use super::budget::{Budget, Charge, Exhausted};
use super::pieces::{Piece, Pieces};
use crate::error::{Error, Result};

/// Bytes of a piece: large enough that sending one costs more than having made it, small enough that nobody who takes
/// bytes at all holds many that are gone already.
const PIECE_BYTES: usize = 64 * 1024;

/// What the first piece has room for when it is begun, and how many times as much when that is not enough.
const FIRST_BYTES: usize = 512;
const GROWTH: usize = 4;

/// Room that a piece may have beyond what is in it.
const SURPLUS_BYTES_MAX: usize = 4 * 1024;

/// Makes [`Pieces`]. Each is charged before it is begun; at its end it costs what it takes.
pub struct Writer {
    budget: Arc<Budget>,
    done: Pieces,
    open: Vec<u8>,
    charge: Option<Charge>,
    bytes_max: usize,
    failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug)]
enum Failure {
    TooLarge,
    Exhausted,
}

impl Writer {
    /// For at most `bytes_max` bytes.
    pub fn new(budget: Arc<Budget>, bytes_max: usize) -> Self {
        Self { budget, done: Pieces::default(), open: Vec::new(), charge: None, bytes_max, failure: None }
    }

    /// For a result that no client waits for: what clients do not take must not stand in its way.
    pub fn unread() -> Self {
        Self::new(Budget::new(usize::MAX), usize::MAX)
    }

    /// What was written.
    ///
    /// # Errors
    /// `INTERNAL` if it was more than may be.
    pub fn finish(mut self) -> Result<Pieces> {
        if self.done.len() + self.open.len() > self.bytes_max {
            return Err(self.failed(Failure::TooLarge));
        }
        self.close();
        Ok(self.done)
    }

    /// Why nothing more could be written, if that is so: `OVERLOADED` where there is no memory for it, `INTERNAL` where
    /// it is more than may be.
    pub fn failure(&self) -> Option<Error> {
        self.failure.map(|failure| self.failed(failure))
    }

    fn failed(&self, failure: Failure) -> Error {
        match failure {
            Failure::Exhausted => {
                Error::overloaded("Too many answers wait to be taken; try again in a second").caused_by(Exhausted)
            }
            Failure::TooLarge => Error::internal(format!("the result is larger than {} bytes", self.bytes_max)),
        }
    }

    /// Ends the open piece.
    fn close(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        let mut charge = self.charge.take();
        if open.is_empty() {
            return;
        }
        if open.capacity() - open.len() > SURPLUS_BYTES_MAX {
            open.shrink_to_fit();
        }
        if let Some(charge) = &mut charge {
            charge.shrink_to(open.capacity());
        }
        self.done.push(Piece { bytes: open.into(), charge });
    }

    /// Makes room for a byte at least: more in the open piece, or a new one.
    fn make_room(&mut self) -> std::result::Result<(), Failure> {
        let capacity = self.open.capacity();
        if (1..PIECE_BYTES).contains(&capacity) {
            let more = (GROWTH * capacity).min(PIECE_BYTES);
            self.open.reserve_exact(more - self.open.len());
            return Ok(());
        }
        if self.done.len() + self.open.len() > self.bytes_max {
            return Err(Failure::TooLarge);
        }
        let is_first = self.open.is_empty() && self.done.is_empty();
        self.close();
        self.charge = Some(self.budget.charge(PIECE_BYTES).map_err(|Exhausted| Failure::Exhausted)?);
        // The first one is usually the only one, and small.
        self.open = Vec::with_capacity(if is_first { FIRST_BYTES } else { PIECE_BYTES });
        Ok(())
    }

    fn write_across(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = self.open.capacity().min(PIECE_BYTES).saturating_sub(self.open.len());
            let (here, rest) = bytes.split_at(bytes.len().min(room));
            self.open.extend_from_slice(here);
            bytes = rest;
            if !bytes.is_empty() {
                self.make_room().map_err(|failure| {
                    self.failure = Some(failure);
                    io::Error::other("the answer finds no room")
                })?;
            }
        }
        Ok(())
    }
}

impl io::Write for Writer {
    /// Most of what is written are a few bytes of JSON, some thousand times an answer. Room is what was charged.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() <= self.open.capacity() - self.open.len() {
            self.open.extend_from_slice(bytes);
            return Ok(());
        }
        self.write_across(bytes)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::error::Code;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn an_answer_is_charged_before_it_is_made_and_costs_what_it_takes() {
        let budget = Budget::new(MIB);
        let mut writer = Writer::new(Arc::clone(&budget), MIB);
        assert_eq!(budget.bytes(), 0);
        writer.write_all(b"[1]").unwrap();
        assert_eq!(budget.bytes(), PIECE_BYTES, "the piece that is begun");
        let small = writer.finish().unwrap();
        assert!(budget.bytes() <= SURPLUS_BYTES_MAX);
        assert_eq!((&*small.joined(), small.len()), (&b"[1]"[..], 3));

        let text: Vec<u8> = (0..PIECE_BYTES * 3 + 7).map(|at| u8::try_from(at % 251).unwrap()).collect();
        for step in [1, 1000, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, text.len()] {
            let mut writer = Writer::new(Arc::clone(&budget), MIB);
            for (place, part) in text.chunks(step).enumerate() {
                writer.write_all(part).unwrap();
                assert!(budget.bytes() >= ((place + 1) * step).min(text.len()), "charged before");
            }
            let mut pieces = writer.finish().unwrap().between(b"{", b"}".to_vec());
            assert_eq!((pieces.len(), pieces.joined().len()), (text.len() + 2, text.len() + 2));
            assert_eq!(pieces.joined()[1..=text.len()], text, "in steps of {step}");
            assert!(pieces.charged() <= text.len() + SURPLUS_BYTES_MAX + PIECE_BYTES);
            let mut left = pieces.charged();
            while let Some(piece) = pieces.pop() {
                left -= piece.charge.as_ref().map_or(0, Charge::bytes);
                drop(piece);
                assert_eq!(pieces.charged(), left, "a piece that is gone costs nothing");
            }
        }
        drop(small);
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn nothing_is_made_that_finds_no_room() {
        let budget = Budget::new(2 * PIECE_BYTES);
        let mut writer = Writer::new(Arc::clone(&budget), MIB);
        assert!(writer.write_all(&vec![b' '; MIB]).is_err());
        assert_eq!(writer.failure().unwrap().code(), Code::Overloaded);
        assert_eq!(budget.bytes(), 2 * PIECE_BYTES);
        drop(writer);
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn an_answer_beyond_its_limit_is_given_up_on_the_way() {
        let budget = Budget::new(MIB);
        let mut writer = Writer::new(Arc::clone(&budget), PIECE_BYTES);
        assert!(writer.write_all(&[b' '; 2 * PIECE_BYTES + 1]).is_err());
        assert_eq!(writer.failure().unwrap().code(), Code::Internal);
        let mut writer = Writer::new(Arc::clone(&budget), 10);
        writer.write_all(b"12345678901").unwrap();
        assert_eq!(writer.finish().unwrap_err().code(), Code::Internal);
        let mut writer = Writer::new(budget, 10);
        writer.write_all(b"1234567890").unwrap();
        assert!(writer.finish().is_ok());
    }
}
