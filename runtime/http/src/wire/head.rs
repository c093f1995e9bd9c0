//! The rules for a request's head, checked before anything else reads it (RFC 9112).
//!
//! hyper's parser accepts input that a proxy in front may read differently. It ends lines at a bare LF, lets a
//! Transfer-Encoding override a Content-Length, and accepts any number of Host fields. Each of these lets two readers
//! of one byte stream disagree on where a request ends (request smuggling), so the server rejects them here. hyper
//! still parses every head that passes. The rest of the grammar is checked here only so that all errors get the same
//! form of response.

use hyper::Uri;

use super::rejection::Rejection;
use convoke_core::error::Code;

/// The framing of the body after a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// A body of this many bytes; 0 without a body.
    Length(u64),
    /// A chunked body.
    Chunked,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadLimits {
    /// Bytes, including the request line and the blank line.
    pub(crate) bytes_max: usize,
    pub(crate) fields_max: usize,
}

/// Reads a head line by line from bytes that arrive in pieces. Reads each byte once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head {
    /// Bytes read.
    at: usize,
    /// The beginning of the current line.
    line: usize,
    /// True after the request line. Blank lines before it are ignored (RFC 9112 §2.2).
    begun: bool,
    is_http_1_1: bool,
    fields: usize,
    hosts: usize,
    length: Option<u64>,
    chunked: bool,
}

impl Head {
    /// Reads further. `bytes` must begin where they began in the previous call. Returns the length of the head and the
    /// framing of the body once the head is complete.
    ///
    /// # Errors
    /// `BAD_REQUEST` with the first rule that a line breaks; `HEADERS_TOO_LARGE` above a limit.
    pub(crate) fn advance(&mut self, bytes: &[u8], limits: HeadLimits) -> Result<Option<(usize, Framing)>, Rejection> {
        for newline in memchr::memchr_iter(b'\n', &bytes[self.at..]) {
            let end = self.at + newline;
            let begin = self.line;
            let Some(line) = bytes[begin..end].strip_suffix(b"\r") else { return Err(BARE_LF) };
            self.line = end + 1;
            if self.line > limits.bytes_max {
                return Err(TOO_LARGE);
            }
            match (line.is_empty(), self.begun) {
                (true, true) => return self.framing().map(|framing| Some((self.line, framing))),
                (true, false) => {}
                (false, false) => self.read_request_line(line)?,
                (false, true) => self.read_field(line, limits)?,
            }
        }
        self.at = bytes.len();
        // Input that is not HTTP is detected before its first line ends, above all a TLS handshake.
        if !self.begun && bytes.get(self.line).is_some_and(|first| !TOKEN[usize::from(*first)] && *first != b'\r') {
            return Err(NOT_HTTP);
        }
        if bytes.len() >= limits.bytes_max { Err(TOO_LARGE) } else { Ok(None) }
    }

    /// True if all input so far was blank lines.
    pub(crate) fn is_blank(&self) -> bool {
        !self.begun && self.line == self.at
    }

    fn read_request_line(&mut self, line: &[u8]) -> Result<(), Rejection> {
        self.begun = true;
        let space = line.iter().position(|byte| !TOKEN[usize::from(*byte)]).filter(|at| line[*at] == b' ');
        let (method, rest) = line.split_at(space.ok_or(UNREADABLE)?);
        let (target, version) = rest.split_at_checked(rest.len().saturating_sub(9)).ok_or(UNREADABLE)?;
        self.is_http_1_1 = match version {
            b" HTTP/1.1" => true,
            b" HTTP/1.0" => false,
            _ if version.starts_with(b" HTTP/") => return Err(VERSION),
            _ => return Err(UNREADABLE),
        };
        match target.split_first() {
            Some((b' ', target)) if !method.is_empty() => check_target(method, target),
            _ => Err(UNREADABLE),
        }
    }

    fn read_field(&mut self, line: &[u8], limits: HeadLimits) -> Result<(), Rejection> {
        self.fields += 1;
        if self.fields > limits.fields_max {
            return Err(TOO_MANY);
        }
        let colon = line.iter().position(|byte| !TOKEN[usize::from(*byte)]).filter(|at| *at > 0 && line[*at] == b':');
        let (name, value) = line.split_at(colon.ok_or(FIELD)?);
        let value = &value[1..];
        if has_control(value) {
            return Err(FIELD);
        }
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.read_host(value.trim_ascii()),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.read_length(value.trim_ascii()),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.read_encoding(value.trim_ascii()),
            _ => Ok(()),
        }
    }

    fn read_host(&mut self, value: &[u8]) -> Result<(), Rejection> {
        self.hosts += 1;
        if self.hosts > 1 {
            return Err(TWO_HOSTS);
        }
        if value.iter().all(|byte| IN_HOST[usize::from(*byte)]) { Ok(()) } else { Err(HOST_VALUE) }
    }

    /// Accepts digits only: no sign, no list, no inner spaces, no overflow.
    fn read_length(&mut self, value: &[u8]) -> Result<(), Rejection> {
        if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
            return Err(LENGTH);
        }
        let length = value.iter().fold(0, |length, digit| length * 10 + u64::from(digit - b'0'));
        if self.length.replace(length).is_some_and(|before| before != length) {
            return Err(TWO_LENGTHS);
        }
        Ok(())
    }

    fn read_encoding(&mut self, value: &[u8]) -> Result<(), Rejection> {
        if self.chunked || !self.is_http_1_1 || !value.eq_ignore_ascii_case(b"chunked") {
            return Err(ENCODING);
        }
        self.chunked = true;
        Ok(())
    }

    fn framing(&self) -> Result<Framing, Rejection> {
        if self.is_http_1_1 && self.hosts == 0 {
            return Err(NO_HOST);
        }
        match (self.chunked, self.length) {
            (true, Some(_)) => Err(BOTH),
            (true, None) => Ok(Framing::Chunked),
            (false, length) => Ok(Framing::Length(length.unwrap_or(0))),
        }
    }
}

/// Accepts the request targets that hyper's `Uri` accepts. `*` stands for the whole server and is valid only with
/// OPTIONS (RFC 9112 §3.2.4). The wire relies on this: its stand-in request is `GET *`.
fn check_target(method: &[u8], target: &[u8]) -> Result<(), Rejection> {
    if target == b"*" {
        return if method == b"OPTIONS" { Ok(()) } else { Err(TARGET) };
    }
    if target.starts_with(b"/") && target.iter().all(|byte| PLAIN_IN_TARGET[usize::from(*byte)]) {
        return Ok(());
    }
    // hyper's own limit for a target. The configured header limit may be higher.
    let fits = target.len() < usize::from(u16::MAX) - 1;
    if fits && target.iter().all(u8::is_ascii_graphic) && Uri::try_from(target).is_ok() { Ok(()) } else { Err(TARGET) }
}

/// Returns true if a field's value has a control character other than a tab, such as a stray CR. The loop has no branch
/// per byte, so that the compiler vectorizes it.
fn has_control(value: &[u8]) -> bool {
    let is_control = |byte: u8| (byte < 0x20 && byte != b'\t') || byte == 0x7f;
    value.iter().fold(false, |any, byte| any | is_control(*byte))
}

/// The bytes of a method or a field name (RFC 9110 §5.6.2).
const TOKEN: [bool; 256] = table(b"!#$%&'*+-.^_`|~");
/// The bytes of common targets, which need no further check.
const PLAIN_IN_TARGET: [bool; 256] = table(b"/_-.~%?=&+,:;@!$'()*");
/// The bytes of a Host field: names, addresses and a port.
const IN_HOST: [bool; 256] = table(b"_-.~%:[]!$&'()*+;=");

/// Marks the letters, the digits and `others`.
const fn table(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut other = 0;
    while other < others.len() {
        table[others[other] as usize] = true;
        other += 1;
    }
    table
}

const fn bad(message: &'static str) -> Rejection {
    Rejection { code: Code::BadRequest, message }
}

const UNREADABLE: Rejection = bad("The request cannot be read as HTTP.");
const NOT_HTTP: Rejection = bad("The request cannot be read as HTTP: it does not begin with a method.");
const BARE_LF: Rejection = bad("A line of the request's head ends in a bare LF; lines end in CRLF.");
const VERSION: Rejection = bad("The server supports HTTP/1.0, HTTP/1.1 and HTTP/2 only.");
const FIELD: Rejection = bad("A header field of the request is malformed.");
const TARGET: Rejection = bad("The request target is malformed.");
const NO_HOST: Rejection = bad("The request has no Host field.");
const TWO_HOSTS: Rejection = bad("The request has more than one Host field.");
const HOST_VALUE: Rejection = bad("The Host field is malformed.");
const LENGTH: Rejection = bad("Content-Length is not a whole number.");
const TWO_LENGTHS: Rejection = bad("The request has two differing Content-Length fields.");
const BOTH: Rejection = bad("The request has both Content-Length and Transfer-Encoding.");
const ENCODING: Rejection = bad("The only supported Transfer-Encoding is a single `chunked`, over HTTP/1.1.");
pub(crate) const TOO_LARGE: Rejection =
    Rejection { code: Code::HeadersTooLarge, message: "The request's header block is larger than the limit." };
pub(crate) const TOO_MANY: Rejection =
    Rejection { code: Code::HeadersTooLarge, message: "The request has more header fields than the limit." };

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: HeadLimits = HeadLimits { bytes_max: 512, fields_max: 4 };

    fn read(head: &str) -> Result<Option<Framing>, &'static str> {
        let whole = Head::default().advance(head.as_bytes(), LIMITS).map_err(|rejection| rejection.message)?;
        Ok(whole.map(|(_, framing)| framing))
    }

    #[test]
    fn head_ends_at_its_blank_line_for_any_split_of_the_bytes() {
        let head = b"\r\nPOST /api/query HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
        for step in 1..head.len() {
            let mut reader = Head::default();
            let mut found = None;
            for end in (step..=head.len()).step_by(step).chain([head.len()]) {
                found = reader.advance(&head[..end], LIMITS).unwrap();
                if found.is_some() {
                    break;
                }
            }
            assert_eq!(found, Some((head.len() - 2, Framing::Length(2))), "in steps of {step}");
        }
    }

    #[test]
    fn fields_determine_the_framing() {
        assert_eq!(read("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), Ok(Some(Framing::Length(0))));
        assert_eq!(read("GET / HTTP/1.0\r\n\r\n"), Ok(Some(Framing::Length(0))));
        assert_eq!(
            read("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\ncontent-length: 7\r\n\r\n"),
            Ok(Some(Framing::Length(7)))
        );
        assert_eq!(
            read("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"),
            Ok(Some(Framing::Chunked))
        );
        assert_eq!(read("POST / HTTP/1.1\r\nHost: a\r\n"), Ok(None));
    }

    #[test]
    fn ambiguous_head_is_rejected_with_the_broken_rule() {
        for (head, rejection) in [
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", BOTH),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n", BOTH),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", TWO_LENGTHS),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\n", LENGTH),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\n", LENGTH),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", LENGTH),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", ENCODING),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", ENCODING),
            ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", ENCODING),
            ("GET / HTTP/1.1\r\n\r\n", NO_HOST),
            ("GET / HTTP/1.1\r\nHost: a\r\nHOST: a\r\n\r\n", TWO_HOSTS),
            ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", HOST_VALUE),
            ("GET / HTTP/1.1\nHost: a\r\n\r\n", BARE_LF),
            ("GET / HTTP/1.1\r\nHost: a\n\r\n", BARE_LF),
            ("GET / HTTP/1.1\r\nHost: a\r\n\n", BARE_LF),
            ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", BARE_LF),
            ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", FIELD),
            ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", FIELD),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", FIELD),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", FIELD),
            ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", VERSION),
            ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
            ("GET /\r\nHost: a\r\n\r\n", UNREADABLE),
            ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", UNREADABLE),
            ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
            ("GET http:// HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
            ("\x16\x03\x01\x02", NOT_HTTP),
            ("GET / HTTP/1.1\r\nHost: a\r\nA: b\r\nC: d\r\nE: f\r\nG: h\r\n\r\n", TOO_MANY),
        ] {
            assert_eq!(read(head), Err(rejection.message), "{head:?}");
        }
    }

    #[test]
    fn head_at_the_limit_passes_and_one_more_byte_does_not() {
        let of = |bytes: usize| {
            let empty = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n";
            empty.replace("X: ", &format!("X: {}", "x".repeat(bytes - empty.len())))
        };
        assert_eq!(read(&of(512)), Ok(Some(Framing::Length(0))));
        assert_eq!(read(&of(513)), Err(TOO_LARGE.message));
        assert_eq!(read(&"x".repeat(512)), Err(TOO_LARGE.message));
    }

    /// Heads that are nearly valid, composed of valid and invalid pieces.
    fn heads() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(
            &[
                "GET ",
                "POST /api/query?a=b HTTP/1.1\r\n",
                "* HTTP/1.1\r\n",
                "/",
                "http://a/b",
                "?x={}",
                " HTTP/1.1\r\n",
                "HTTP/1.0",
                "Host: a\r\n",
                "host:\t[::1]:80 \r\n",
                "Content-Length: 2\r\n",
                "Content-Length:",
                "12",
                "Transfer-Encoding: chunked\r\n",
                "X: ",
                "\u{e9}",
                "\x7f",
                "\0",
                "\t",
                "\r",
                "\n",
                "\r\n",
                "\r\n\r\n",
                ":",
                " ",
                "%zz",
                "#",
                "\"",
                "<>",
                "\\^`{|}",
                "a",
            ][..],
        );
        prop::collection::vec(piece, 0..12).prop_map(|pieces| {
            let mut head = pieces.concat().into_bytes();
            head.extend(b"\r\nHost: b\r\n\r\n");
            head
        })
    }

    proptest! {
        #[test]
        fn control_characters_are_found_at_any_position(value in prop::collection::vec(any::<u8>(), 0..40)) {
            let found = value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t');
            prop_assert_eq!(has_control(&value), found);
        }

        #[test]
        fn single_control_character_is_found(at in 0..64_usize, control in 0..34_u8) {
            let mut value = [b'\t', b'a', 0x80, 0xff, b' ', b'~', b'!', 0x9f].repeat(8);
            prop_assert!(!has_control(&value));
            value[at] = if control == 33 { 0x7f } else { control };
            prop_assert_eq!(has_control(&value), !matches!(control, 9 | 32));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

        /// Otherwise hyper would send its own response, without an envelope.
        #[test]
        fn accepted_head_passes_hyper_s_parser_and_ends_at_the_same_byte(head in heads()) {
            let limits = HeadLimits { bytes_max: 4096, fields_max: 64 };
            if let Ok(Some((end, _))) = Head::default().advance(&head, limits) {
                let mut fields = [httparse::EMPTY_HEADER; 64];
                let mut request = httparse::Request::new(&mut fields);
                prop_assert_eq!(request.parse(&head), Ok(httparse::Status::Complete(end)));
                prop_assert!(request.path.unwrap().parse::<Uri>().is_ok());
            }
        }
    }
}
