//! One line per event: text of a client cannot end a line of the operator's log and begin another.
//!
//! An event arrives as one write that ends in a line break. Every other control character in it is written as an escape
//! that is valid in text and in JSON. The color sequences of a terminal pass: escape characters in values were escaped
//! before, when the event was formatted.

use std::borrow::Cow;
use std::io::{self, Write};

use tracing_subscriber::fmt::MakeWriter;

/// A maker of writers that keep each event on one line.
pub(super) struct OneLine<M> {
    inner: M,
    colored: bool,
}

impl<M> OneLine<M> {
    /// Wraps `inner`, with or without colors.
    pub(super) fn new(inner: M, colored: bool) -> Self {
        Self { inner, colored }
    }
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for OneLine<M> {
    type Writer = Event<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Event { inner: self.inner.make_writer(), colored: self.colored }
    }

    fn make_writer_for(&'a self, metadata: &tracing::Metadata<'_>) -> Self::Writer {
        Event { inner: self.inner.make_writer_for(metadata), colored: self.colored }
    }
}

/// A writer of one event.
pub(super) struct Event<W> {
    inner: W,
    colored: bool,
}

impl<W: Write> Write for Event<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match escaped(bytes, self.colored) {
            None => self.inner.write_all(bytes)?,
            Some(escaped) => self.inner.write_all(escaped.as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Returns the event with escaped control characters; `None` if it has none.
pub(super) fn escaped(bytes: &[u8], colored: bool) -> Option<String> {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    // Beyond ASCII, control characters begin with one of two bytes, which ordinary text has too.
    let suspicious = |byte: u8| byte < b' ' || byte == 0x7f || byte == 0xc2 || byte == 0xe2;
    // The loop has no branch per byte, so that several bytes are checked together.
    if !line.iter().fold(false, |any, byte| any | suspicious(*byte)) {
        return None;
    }
    let text = String::from_utf8_lossy(line);
    let mut escaped = match made_visible(&text, colored) {
        Cow::Borrowed(_) => return None,
        Cow::Owned(escaped) => escaped,
    };
    if line.len() < bytes.len() {
        escaped.push('\n');
    }
    Some(escaped)
}

/// Returns a text with its control characters escaped, including line breaks.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    made_visible(text, false)
}

fn made_visible(text: &str, colored: bool) -> Cow<'_, str> {
    let breaks = |c: char| (c.is_control() && !(colored && c == '\x1b')) || matches!(c, '\u{2028}' | '\u{2029}');
    if !text.contains(breaks) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            c if breaks(c) => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, colored: bool) -> String {
        let mut event = Event { inner: Vec::new(), colored };
        event.write_all(text.as_bytes()).unwrap();
        String::from_utf8(event.inner).unwrap()
    }

    #[test]
    fn ordinary_line_passes_unchanged() {
        for text in ["INFO call function=\"a/b\"\n", "INFO café – “naïve” €\n", "", "\n"] {
            assert_eq!(written(text, false), text);
        }
    }

    #[test]
    fn event_cannot_begin_a_line_or_move_the_cursor() {
        assert_eq!(
            written("INFO a\nINFO forged\r\x1b[2K\x08\u{85}\u{2028}\u{7f}\tb\n", false),
            "INFO a\\nINFO forged\\r\\u001b[2K\\u0008\\u0085\\u2028\\u007f\\tb\n"
        );
    }

    #[test]
    fn colors_pass_if_enabled() {
        assert_eq!(written("\x1b[32m INFO\x1b[0m a\nb\n", true), "\x1b[32m INFO\x1b[0m a\\nb\n");
    }
}
