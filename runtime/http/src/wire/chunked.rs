//! Follows a chunked body byte by byte to find its end (RFC 9112 §7.1).
//!
//! hyper decodes the body. This parser finds the beginning of the next head, so that the wire checks it too. It is at
//! least as strict as hyper's decoder, so the two never disagree on a body that both accept.

/// The position in a chunked body after the bytes so far.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    /// The remaining bytes of the chunk's data, or its size so far while the size is read.
    left: u64,
    /// Bytes of sizes, extensions and trailers.
    overhead: usize,
    overhead_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    FirstDigit,
    Digits,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
    Done,
}

/// The chunked framing is invalid.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Chunked {
    /// Starts at the beginning of a body. Its sizes, extensions and trailers may have `overhead_max` bytes more than
    /// the chunks have data.
    pub(crate) fn new(overhead_max: usize) -> Self {
        Self { state: State::FirstDigit, left: 0, overhead: 0, overhead_max }
    }

    /// True after the last chunk and its trailers.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Returns how many of `bytes` belong to the body. They are fewer than all only if the body is
    /// [done](Self::is_done).
    ///
    /// # Errors
    /// [`Malformed`] if the framing breaks the grammar or is much larger than its data.
    pub(crate) fn advance(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Done {
            if self.state == State::Data {
                let here = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += here;
                self.left -= here as u64;
                self.overhead = self.overhead.saturating_sub(here);
                if self.left == 0 {
                    self.state = State::DataCr;
                }
                continue;
            }
            self.overhead += 1;
            if self.overhead > self.overhead_max {
                return Err(Malformed);
            }
            self.state = self.step(bytes[at])?;
            at += 1;
        }
        Ok(at)
    }

    fn step(&mut self, byte: u8) -> Result<State, Malformed> {
        Ok(match (self.state, byte) {
            (State::FirstDigit, byte) => {
                self.left = hex(byte)?;
                State::Digits
            }
            (State::Digits, b'\r') => State::SizeLf,
            (State::Digits, b';') => State::Extension,
            (State::Digits, byte) => {
                self.left = self.left.checked_mul(16).ok_or(Malformed)? + hex(byte)?;
                State::Digits
            }
            (State::Extension, b'\r') => State::SizeLf,
            (State::Trailer, b'\r') => State::TrailerLf,
            (State::Extension | State::Trailer, b'\n') => return Err(Malformed),
            (State::Extension, _) => State::Extension,
            (State::SizeLf, b'\n') if self.left == 0 => State::TrailerStart,
            (State::SizeLf, b'\n') => State::Data,
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::FirstDigit,
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::TrailerStart, b'\n') => return Err(Malformed),
            (State::TrailerStart | State::Trailer, _) => State::Trailer,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::EndLf, b'\n') => State::Done,
            (State::SizeLf | State::DataCr | State::DataLf | State::TrailerLf | State::EndLf, _) => {
                return Err(Malformed);
            }
            (State::Data | State::Done, _) => return Err(Malformed),
        })
    }
}

fn hex(byte: u8) -> Result<u64, Malformed> {
    char::from(byte).to_digit(16).map(u64::from).ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_is_found_for_any_split_of_the_bytes() {
        let body = b"4\r\nwiki\r\nA;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n";
        let mut stream = body.to_vec();
        stream.extend_from_slice(b"GET / HTTP/1.1\r\n");
        for step in 1..stream.len() {
            let mut chunked = Chunked::new(1024);
            let mut taken = 0;
            for piece in stream.chunks(step) {
                taken += chunked.advance(piece).unwrap();
            }
            assert!(chunked.is_done());
            assert_eq!(taken, body.len(), "in steps of {step}");
        }
    }

    #[test]
    fn lenient_readings_are_malformed() {
        for body in ["\r\n", "g\r\n", "4\n", "4 \r\n", "0x4\r\n", "4;a\n", "4\r\nwikix", "0\r\n\n", "0\r\nT: v\n"] {
            assert_eq!(Chunked::new(1024).advance(body.as_bytes()), Err(Malformed), "{body:?}");
        }
        assert_eq!(Chunked::new(1024).advance(b"11111111111111111\r\n"), Err(Malformed));
    }

    #[test]
    fn framing_much_larger_than_its_data_is_malformed() {
        let extended = "1;".to_owned() + &"x".repeat(100) + "\r\na\r\n";
        assert_eq!(Chunked::new(64).advance(extended.as_bytes()), Err(Malformed));
        let trickle = "1\r\na\r\n".repeat(1000);
        assert_eq!(Chunked::new(64).advance(trickle.as_bytes()), Err(Malformed));
    }
}
