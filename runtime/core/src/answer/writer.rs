//! The writer of a function's result.

use std::io;
use std::sync::Arc;

use super::budget::{Budget, Charge, Exhausted};
use super::pieces::{Piece, Pieces};
use crate::error::{Error, Result};

/// Bytes of a piece. A piece is large enough that its allocation costs less than its transfer, and small enough that a
/// client which reads does not hold many sent bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// First capacity of the first piece, and the factor by which it grows.
const FIRST_BYTES: usize = 512;
const GROWTH: usize = 4;

/// Largest unused capacity of a finished piece.
const SURPLUS_BYTES_MAX: usize = 4 * 1024;

/// Writes [`Pieces`]. Each piece is charged before it is allocated. A finished piece is charged its capacity.
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
    /// Creates a writer of at most `bytes_max` bytes.
    pub fn new(budget: Arc<Budget>, bytes_max: usize) -> Self {
        Self { budget, done: Pieces::default(), open: Vec::new(), charge: None, bytes_max, failure: None }
    }

    /// Creates a writer without limits, for a result that no client waits for. Unread responses must not block it.
    pub fn unread() -> Self {
        Self::new(Budget::new(usize::MAX), usize::MAX)
    }

    /// Returns the written bytes.
    ///
    /// # Errors
    /// `INTERNAL` if the result is too large.
    pub fn finish(mut self) -> Result<Pieces> {
        if self.done.len() + self.open.len() > self.bytes_max {
            return Err(self.failed(Failure::TooLarge));
        }
        self.close();
        Ok(self.done)
    }

    /// The error that stopped the writer, if any: `OVERLOADED` without memory, `INTERNAL` if the result is too large.
    pub fn failure(&self) -> Option<Error> {
        self.failure.map(|failure| self.failed(failure))
    }

    fn failed(&self, failure: Failure) -> Error {
        match failure {
            Failure::Exhausted => Error::overloaded("Too many responses are waiting to be read; try again in a second")
                .caused_by(Exhausted),
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

    /// Makes room for at least one byte: grows the open piece or begins a new one.
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
        // The first piece is usually the only one, and small.
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
                    io::Error::other("no memory for the response")
                })?;
            }
        }
        Ok(())
    }
}

impl io::Write for Writer {
    /// Most writes are a few bytes of JSON, thousands of times per response. The free capacity is charged already.
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
    fn response_is_charged_before_it_is_written_and_then_its_actual_size() {
        let budget = Budget::new(MIB);
        let mut writer = Writer::new(Arc::clone(&budget), MIB);
        assert_eq!(budget.bytes(), 0);
        writer.write_all(b"[1]").unwrap();
        assert_eq!(budget.bytes(), PIECE_BYTES, "the open piece");
        let small = writer.finish().unwrap();
        assert!(budget.bytes() <= SURPLUS_BYTES_MAX);
        assert_eq!((&*small.joined(), small.len()), (&b"[1]"[..], 3));

        let text: Vec<u8> = (0..PIECE_BYTES * 3 + 7).map(|at| u8::try_from(at % 251).unwrap()).collect();
        for step in [1, 1000, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, text.len()] {
            let mut writer = Writer::new(Arc::clone(&budget), MIB);
            for (number, part) in text.chunks(step).enumerate() {
                writer.write_all(part).unwrap();
                assert!(budget.bytes() >= ((number + 1) * step).min(text.len()), "the part is charged");
            }
            let mut pieces = writer.finish().unwrap().between(b"{", b"}".to_vec());
            assert_eq!((pieces.len(), pieces.joined().len()), (text.len() + 2, text.len() + 2));
            assert_eq!(pieces.joined()[1..=text.len()], text, "in steps of {step}");
            assert!(pieces.charged() <= text.len() + SURPLUS_BYTES_MAX + PIECE_BYTES);
            let mut left = pieces.charged();
            while let Some(piece) = pieces.pop() {
                left -= piece.charge.as_ref().map_or(0, Charge::bytes);
                drop(piece);
                assert_eq!(pieces.charged(), left, "a dropped piece is not charged");
            }
        }
        drop(small);
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn write_fails_without_memory() {
        let budget = Budget::new(2 * PIECE_BYTES);
        let mut writer = Writer::new(Arc::clone(&budget), MIB);
        assert!(writer.write_all(&vec![b' '; MIB]).is_err());
        assert_eq!(writer.failure().unwrap().code(), Code::Overloaded);
        assert_eq!(budget.bytes(), 2 * PIECE_BYTES);
        drop(writer);
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn response_above_its_limit_fails_during_the_write() {
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
