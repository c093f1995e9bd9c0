//! Follows a chunked body byte by byte, only to know where it ends (RFC 9112 §7.1).
//!
//! hyper decodes the body; this tells the wire where the next head begins, so that it is checked too. It is at least
//! as strict as hyper's decoder, so the two never disagree on a body that both take.

/// Where in a chunked body the bytes so far have led.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    /// Bytes still to come of the chunk's data, or its size while that is read.
    left: u64,
    /// Bytes that were not data: sizes, extensions, trailers.
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

/// The body is not chunked as it should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Chunked {
    /// At the start of a body whose sizes, extensions and trailers may take `overhead_max` bytes plus as much again as
    /// the chunks' data.
    pub(crate) fn new(overhead_max: usize) -> Self {
        Self { state: State::FirstDigit, left: 0, overhead: 0, overhead_max }
    }

    /// Whether the last chunk and its trailers are through.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// How many of `bytes` belong to the body; fewer than all only when it is [done](Self::is_done).
    ///
    /// # Errors
    /// [`Malformed`] when the framing breaks the grammar or outweighs its data.
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
    fn the_end_is_found_wherever_the_bytes_were_cut() {
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
    fn framing_that_outweighs_its_data_is_malformed() {
        let extended = "1;".to_owned() + &"x".repeat(100) + "\r\na\r\n";
        assert_eq!(Chunked::new(64).advance(extended.as_bytes()), Err(Malformed));
        let trickle = "1\r\na\r\n".repeat(1000);
        assert_eq!(Chunked::new(64).advance(trickle.as_bytes()), Err(Malformed));
    }
}
