//! The rules that a request's head must keep before anything else reads it (RFC 9112).
//!
//! hyper's parser forgives what a proxy in front may read otherwise: it ends lines at a bare LF, lets a
//! Transfer-Encoding override a Content-Length, and takes any number of Host fields. Each of these lets two readers of
//! one byte stream disagree on where a request ends (request smuggling), so they are refused here. The grammar itself
//! is read by the same `httparse` that hyper uses, so what passes here passes there.

use std::mem::MaybeUninit;

use hyper::Uri;

use super::refusal::Refused;
use crate::error::Code;

/// How the body behind a head is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// This many bytes; 0 without a body.
    Length(u64),
    /// Chunks until the last one.
    Chunked,
}

/// The most a head may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadLimits {
    /// Bytes, the request line and the blank line included.
    pub(super) bytes_max: usize,
    /// Fields.
    pub(super) fields_max: usize,
}

/// Looks for the end of a head in bytes that arrive little by little, each byte once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    /// Bytes looked at.
    at: usize,
    /// Where the current line begins.
    line: usize,
    /// Whether the request line was seen; blank lines before it are forgiven (RFC 9112 §2.2).
    begun: bool,
}

impl Scan {
    /// The length of the head that `bytes` begin with, once it is whole. `bytes` must begin where they began in the
    /// call before.
    ///
    /// # Errors
    /// `BAD_REQUEST` for a bare LF or a first byte that no request begins with, `HEADERS_TOO_LARGE` past the limit.
    pub(super) fn advance(&mut self, bytes: &[u8], limits: HeadLimits) -> Result<Option<usize>, Refused> {
        for newline in memchr::memchr_iter(b'\n', &bytes[self.at..]) {
            let end = self.at + newline;
            if end == 0 || bytes[end - 1] != b'\r' {
                return Err(BARE_LF);
            }
            let blank = end - 1 == self.line;
            self.line = end + 1;
            if blank && self.begun {
                return if self.line > limits.bytes_max { Err(TOO_LARGE) } else { Ok(Some(self.line)) };
            }
            self.begun |= !blank;
        }
        self.at = bytes.len();
        // A whole line is checked by the parser; a first line that never ends is told apart here, TLS above all.
        if !self.begun && bytes.get(self.line).is_some_and(|first| !first.is_ascii_graphic() && *first != b'\r') {
            return Err(NOT_HTTP);
        }
        if bytes.len() >= limits.bytes_max { Err(TOO_LARGE) } else { Ok(None) }
    }

    /// Whether nothing but blank lines was seen.
    pub(super) fn is_blank(&self) -> bool {
        !self.begun && self.line == self.at
    }
}

/// Checks one whole head.
///
/// # Errors
/// `BAD_REQUEST` with the rule it breaks, `HEADERS_TOO_LARGE` for too many fields.
pub(super) fn check(head: &[u8], limits: HeadLimits) -> Result<Framing, Refused> {
    // As many as hyper keeps on its stack; more are a setting, and rare enough for the heap.
    let mut few = [const { MaybeUninit::uninit() }; 100];
    let mut many;
    let fields = if limits.fields_max <= few.len() {
        &mut few[..limits.fields_max]
    } else {
        many = vec![MaybeUninit::uninit(); limits.fields_max];
        &mut many[..]
    };
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(head, fields) {
        Ok(httparse::Status::Complete(length)) if length == head.len() => {}
        Ok(httparse::Status::Complete(_) | httparse::Status::Partial) => return Err(UNREADABLE),
        Err(httparse::Error::TooManyHeaders) => return Err(TOO_MANY),
        Err(httparse::Error::Version) => return Err(VERSION),
        Err(httparse::Error::HeaderName | httparse::Error::HeaderValue) => return Err(FIELD),
        Err(httparse::Error::NewLine | httparse::Error::Status | httparse::Error::Token) => return Err(UNREADABLE),
    }
    check_target(request.method.unwrap_or_default(), request.path.unwrap_or_default())?;
    check_fields(request.headers, request.version == Some(1))
}

/// The request target must be one that hyper's `Uri` takes. `*` asks about the server as a whole and belongs to
/// OPTIONS alone (RFC 9112 §3.2.4); the wire relies on no other `*` passing.
fn check_target(method: &str, target: &str) -> Result<(), Refused> {
    if target == "*" {
        return if method == "OPTIONS" { Ok(()) } else { Err(TARGET) };
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.~%?=&+,:;@!$'()*".contains(&byte);
    if target.starts_with('/') && target.bytes().all(plain) {
        return Ok(());
    }
    target.parse::<Uri>().map(|_| ()).map_err(|_| TARGET)
}

/// Host, Content-Length and Transfer-Encoding: how many there may be, and what they may say.
fn check_fields(fields: &[httparse::Header<'_>], is_http_1_1: bool) -> Result<Framing, Refused> {
    let mut hosts = 0;
    let mut length = None;
    let mut chunked = false;
    for field in fields {
        match field.name.len() {
            4 if field.name.eq_ignore_ascii_case("host") => {
                hosts += 1;
                if field.value.iter().any(|byte| !byte.is_ascii_graphic() || b"/\\,@?#".contains(byte)) {
                    return Err(HOST_VALUE);
                }
            }
            14 if field.name.eq_ignore_ascii_case("content-length") => {
                let this = parse_length(field.value).ok_or(LENGTH)?;
                if length.replace(this).is_some_and(|before| before != this) {
                    return Err(TWO_LENGTHS);
                }
            }
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                if chunked || !is_http_1_1 || !field.value.eq_ignore_ascii_case(b"chunked") {
                    return Err(ENCODING);
                }
                chunked = true;
            }
            _ => {}
        }
    }
    if hosts > 1 {
        return Err(TWO_HOSTS);
    }
    if is_http_1_1 && hosts == 0 {
        return Err(NO_HOST);
    }
    match (chunked, length) {
        (true, Some(_)) => Err(BOTH),
        (true, None) => Ok(Framing::Chunked),
        (false, length) => Ok(Framing::Length(length.unwrap_or(0))),
    }
}

/// Digits only: no sign, no list, no spaces within, nothing that overflows.
fn parse_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 19 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

const fn bad(message: &'static str) -> Refused {
    Refused { code: Code::BadRequest, message }
}

const UNREADABLE: Refused = bad("The request cannot be read as HTTP.");
const NOT_HTTP: Refused = bad("The request cannot be read as HTTP: it does not begin with a method.");
const BARE_LF: Refused = bad("A line of the request's head ends in a bare LF; lines end in CRLF.");
const VERSION: Refused = bad("Only HTTP/1.0, HTTP/1.1 and HTTP/2 are spoken here.");
const FIELD: Refused = bad("A header field of the request is malformed.");
const TARGET: Refused = bad("The request target is malformed.");
const NO_HOST: Refused = bad("The request has no Host field.");
const TWO_HOSTS: Refused = bad("The request has more than one Host field.");
const HOST_VALUE: Refused = bad("The Host field is malformed.");
const LENGTH: Refused = bad("Content-Length is not a whole number.");
const TWO_LENGTHS: Refused = bad("The request has two differing Content-Length fields.");
const BOTH: Refused = bad("The request has both Content-Length and Transfer-Encoding.");
const ENCODING: Refused = bad("The only Transfer-Encoding taken is a single `chunked`, over HTTP/1.1.");
pub(super) const TOO_LARGE: Refused =
    Refused { code: Code::HeadersTooLarge, message: "The request's header block is larger than the limit." };
pub(super) const TOO_MANY: Refused =
    Refused { code: Code::HeadersTooLarge, message: "The request has more header fields than the limit." };

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: HeadLimits = HeadLimits { bytes_max: 512, fields_max: 4 };

    fn read(head: &str) -> Result<Option<Framing>, &'static str> {
        let whole = Scan::default().advance(head.as_bytes(), LIMITS).map_err(|refused| refused.message)?;
        whole.map(|end| check(&head.as_bytes()[..end], LIMITS)).transpose().map_err(|refused| refused.message)
    }

    #[test]
    fn a_head_ends_at_its_blank_line_wherever_the_bytes_were_cut() {
        let head = b"\r\nPOST /api/query HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
        for step in 1..head.len() {
            let mut scan = Scan::default();
            let mut found = None;
            for end in (step..=head.len()).step_by(step).chain([head.len()]) {
                found = scan.advance(&head[..end], LIMITS).unwrap();
                if found.is_some() {
                    break;
                }
            }
            assert_eq!(found, Some(head.len() - 2), "in steps of {step}");
        }
    }

    #[test]
    fn the_framing_is_what_the_fields_say() {
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
    fn what_two_readers_could_read_differently_is_refused_with_the_rule_it_breaks() {
        for (head, refused) in [
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
            ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", UNREADABLE),
            ("GET /\r\nHost: a\r\n\r\n", UNREADABLE),
            ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", UNREADABLE),
            ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
            ("GET http:// HTTP/1.1\r\nHost: a\r\n\r\n", TARGET),
            ("\x16\x03\x01\x02", NOT_HTTP),
            ("GET / HTTP/1.1\r\nHost: a\r\nA: b\r\nC: d\r\nE: f\r\nG: h\r\n\r\n", TOO_MANY),
        ] {
            assert_eq!(read(head), Err(refused.message), "{head:?}");
        }
    }

    #[test]
    fn a_head_of_the_limit_passes_and_one_byte_more_does_not() {
        let of = |bytes: usize| {
            let empty = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n";
            empty.replace("X: ", &format!("X: {}", "x".repeat(bytes - empty.len())))
        };
        assert_eq!(read(&of(512)), Ok(Some(Framing::Length(0))));
        assert_eq!(read(&of(513)), Err(TOO_LARGE.message));
        assert_eq!(read(&"x".repeat(512)), Err(TOO_LARGE.message));
    }

    #[test]
    fn more_fields_than_the_stack_holds_are_a_setting() {
        let limits = HeadLimits { bytes_max: 64 * 1024, fields_max: 300 };
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(299));
        assert_eq!(check(head.as_bytes(), limits).map_err(|refused| refused.message), Ok(Framing::Length(0)));
        let more = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(300));
        assert_eq!(check(more.as_bytes(), limits).map_err(|refused| refused.message), Err(TOO_MANY.message));
    }
}
