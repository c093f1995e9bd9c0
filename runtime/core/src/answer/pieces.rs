//! The bytes of a response in pieces.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use super::budget::{Budget, Charge};

/// Largest size that is copied instead of sent as a separate piece.
const COPIED_MAX: usize = 2 * 1024;

/// Bytes that are produced and sent in pieces.
#[derive(Debug, Default)]
pub struct Pieces {
    /// Most responses have only this piece.
    first: Option<Piece>,
    rest: VecDeque<Piece>,
    len: usize,
}

/// Some of the bytes, with their charge.
#[derive(Debug)]
pub struct Piece {
    /// The bytes.
    pub bytes: Bytes,
    /// The charge of the bytes, if any.
    pub charge: Option<Charge>,
}

impl Pieces {
    /// The total number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns all bytes: borrowed if there is one piece, copied if there are several.
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

    /// Returns all bytes: shared if there is one piece, copied if there are several.
    pub fn shared(&self) -> Bytes {
        match &self.first {
            Some(only) if self.rest.is_empty() => only.bytes.clone(),
            Some(_) | None => self.joined().into_owned().into(),
        }
    }

    /// Splits off the first line, without its end. Returns `None` if the first piece has no end of a line.
    pub fn split_line(mut self) -> Option<(Bytes, Self)> {
        let first = self.first.as_mut()?;
        let end = first.bytes.iter().position(|byte| *byte == b'\n')?;
        let line = first.bytes.split_to(end);
        first.bytes = first.bytes.slice(1..);
        self.len -= end + 1;
        if first.bytes.is_empty() {
            self.first = self.rest.pop_front();
        }
        Some((line, self))
    }

    /// Puts these bytes between `head` and `tail`.
    pub fn between(mut self, head: &'static [u8], tail: Vec<u8>) -> Self {
        let len = head.len() + self.len + tail.len();
        // Shared bytes are copied: the copy is charged to this response, which may outlive the other holders.
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

    /// Charges the pieces without a charge. Shared bytes, such as a cached document, are not charged because they use
    /// no additional memory.
    pub fn charge(&mut self, budget: &Arc<Budget>) {
        for piece in self.first.iter_mut().chain(&mut self.rest) {
            if piece.charge.is_none() && piece.bytes.is_unique() {
                piece.charge = Some(budget.charge_made(piece.bytes.len()));
            }
        }
    }

    /// The number of charged bytes.
    pub fn charged(&self) -> usize {
        self.first.iter().chain(&self.rest).filter_map(|piece| piece.charge.as_ref()).map(Charge::bytes).sum()
    }

    /// Removes and returns the first piece.
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

/// Converts complete bytes: `Bytes`, `Vec<u8>`, `String`, `&'static str`.
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
    fn large_response_is_not_copied_unless_it_is_shared() {
        let (small, large) = (vec![b'1'; COPIED_MAX], vec![b'1'; COPIED_MAX + 1]);
        assert_eq!(pieces_between(small.clone().into()), [[b"{", &small[..], b"}"].concat()]);
        let own = Bytes::from(large.clone());
        let address = own.as_ptr();
        let sent = pieces_between(own);
        assert_eq!(sent, [&b"{"[..], &large, b"}"]);
        assert_eq!(sent[1].as_ptr(), address);
        // The response may outlive the other holder, so it gets a copy that is charged to it.
        let shared = Bytes::from(large.clone());
        assert_eq!(pieces_between(shared.clone()), [[b"{", &large[..], b"}"].concat()]);
    }
}
