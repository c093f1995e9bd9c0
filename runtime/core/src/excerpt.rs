//! Excerpts of a client's text for errors, log lines and records, which stay small for any request.

/// Largest length of an excerpt, in bytes.
const BYTES_MAX: usize = 200;

/// Returns the beginning of a client's text: at most 200 bytes, in whole characters.
pub fn excerpt(text: &str) -> &str {
    &text[..text.floor_char_boundary(BYTES_MAX)]
}
