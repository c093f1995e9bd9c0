//! Bytes in pieces.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use super::budget::{Budget, Charge};

/// Bytes that are sooner copied than sent as a piece of their own.
const COPIED_MAX: usize = 2 * 1024;

/// Bytes that were made piece by piece and are sent so.
#[derive(Debug, Default)]
pub struct Pieces {
    /// Most answers have no other.
    first: Option<Piece>,
    rest: VecDeque<Piece>,
    len: usize,
}

/// Some of them, and what they are charged to.
#[derive(Debug)]
pub struct Piece {
    /// The bytes.
    pub bytes: Bytes,
    /// The budget that they are charged to, if any.
    pub charge: Option<Charge>,
}

impl Pieces {
    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of them in one: as they are where there is one piece, copied where there are several.
    pub fn joined(&self) -> Cow<'_, [u8]> {
        match &self.first {
            None => Cow::Borrowed(&[]),
            Some(only) if self.rest.is_empty() => Cow::Borrowed(&only.bytes),
            Some(first) => {
                let mut joined = Vec::with_capacity(self.len);
                joined.extend_from_slice(&first.bytes);
                self.rest.iter().for_each(|piece| joined.extend_from_slice(&piece.bytes));
                Cow::Owned(joined)
            }
        }
    }

    /// These bytes between `head` and `tail`.
    pub fn between(mut self, head: &'static [u8], tail: Vec<u8>) -> Self {
        let len = head.len() + self.len + tail.len();
        // What others hold too is copied: the copy is charged to this answer, however long it outlives theirs.
        let is_own = self.first.as_ref().is_some_and(|piece| piece.charge.is_some() || piece.bytes.is_unique());
        if self.rest.is_empty() && (self.len <= COPIED_MAX || !is_own) {
            let mut whole = Vec::with_capacity(len);
            whole.extend_from_slice(head);
            whole.extend_from_slice(&self.joined());
            whole.extend_from_slice(&tail);
            let charge = self.first.and_then(|piece| piece.charge);
            return Self { first: Some(Piece { bytes: whole.into(), charge }), rest: VecDeque::new(), len };
        }
        self.rest.push_back(Piece::from(Bytes::from(tail)));
        if let Some(first) = self.first.replace(Piece::from(Bytes::from_static(head))) {
            self.rest.push_front(first);
        }
        Self { len, ..self }
    }

    /// Charges what is charged to nobody yet, unless others hold it too (a document that is kept): then it costs no
    /// memory of its own.
    pub fn charge(&mut self, budget: &Arc<Budget>) {
        for piece in self.first.iter_mut().chain(&mut self.rest) {
            if piece.charge.is_none() && piece.bytes.is_unique() {
                piece.charge = Some(budget.charge_made(piece.bytes.len()));
            }
        }
    }

    /// How many of them are charged.
    pub fn charged(&self) -> usize {
        self.first.iter().chain(&self.rest).filter_map(|piece| piece.charge.as_ref()).map(Charge::bytes).sum()
    }

    /// Takes the first piece out.
    pub fn pop(&mut self) -> Option<Piece> {
        let piece = self.first.take().or_else(|| self.rest.pop_front())?;
        self.len -= piece.bytes.len();
        Some(piece)
    }

    pub(super) fn push(&mut self, piece: Piece) {
        self.len += piece.bytes.len();
        match &self.first {
            None => self.first = Some(piece),
            Some(_) => self.rest.push_back(piece),
        }
    }
}

impl From<Bytes> for Piece {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, charge: None }
    }
}

/// Bytes that are whole already: `Bytes`, `Vec<u8>`, `String`, `&'static str`.
impl<B: Into<Bytes>> From<B> for Pieces {
    fn from(bytes: B) -> Self {
        let mut pieces = Self::default();
        let bytes = bytes.into();
        if !bytes.is_empty() {
            pieces.push(bytes.into());
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces_between(bytes: Bytes) -> Vec<Bytes> {
        let mut pieces = Pieces::from(bytes).between(b"{", b"}".to_vec());
        std::iter::from_fn(|| pieces.pop().map(|piece| piece.bytes)).collect()
    }

    #[test]
    fn a_large_answer_is_sent_as_it_is_unless_others_hold_it_too() {
        let (small, large) = (vec![b'1'; COPIED_MAX], vec![b'1'; COPIED_MAX + 1]);
        assert_eq!(pieces_between(small.clone().into()), [[b"{", &small[..], b"}"].concat()]);
        let own = Bytes::from(large.clone());
        let place = own.as_ptr();
        let sent = pieces_between(own);
        assert_eq!(sent, [&b"{"[..], &large, b"}"]);
        assert_eq!(sent[1].as_ptr(), place);
        // This one may outlive those who hold it: a copy is charged to the answer.
        let kept = Bytes::from(large.clone());
        assert_eq!(pieces_between(kept.clone()), [[b"{", &large[..], b"}"].concat()]);
    }
}
