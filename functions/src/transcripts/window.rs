//! The newest part of a transcript that a generator reads.
//!
//! A transcript may have any length; the part that is read, and held while a generator runs, is limited.

use convoke::prelude::*;
use schema::{ChunkText, Meeting, TranscriptChunk};

/// Cost of a chunk besides its text.
const CHUNK_BYTES: usize = 64;
/// Longest text of a chunk, in UTF-8.
const CHUNK_BYTES_MAX: usize = 4 * ChunkText::CHARS_MAX;
/// Chunks per statement.
const ROWS_MAX: usize = 1_000;

/// The newest part of a transcript.
pub struct Window {
    /// Chunks by sequence.
    pub chunks: Vec<Doc<TranscriptChunk>>,
    /// Size of their texts, with the cost of each chunk.
    pub bytes: usize,
    /// True if there are no older chunks.
    pub is_whole: bool,
}

/// Returns the newest chunks of a meeting's transcript with at most `bytes_max` in total; at least one, however long it
/// is. Logs the size.
///
/// # Errors
/// A failure of the store.
pub fn newest(ctx: &impl Read, meeting: Id<Meeting>, bytes_max: usize) -> Result<Window> {
    let mut window = Window { chunks: Vec::new(), bytes: 0, is_whole: true };
    let mut cursor = None;
    // Few at first, since each may have the greatest length; then as many as fit with the size seen so far.
    let mut rows = (bytes_max / CHUNK_BYTES_MAX).clamp(1, ROWS_MAX);
    while window.is_whole {
        let chunks = ctx.db().query(TranscriptChunk::by_meeting_sequence).eq(meeting).order(Order::Desc);
        let page = chunks.page(cursor.as_ref(), rows)?;
        for chunk in page.items {
            let bytes = window.bytes + chunk.text.as_str().len() + CHUNK_BYTES;
            if bytes > bytes_max && !window.chunks.is_empty() {
                window.is_whole = false;
                break;
            }
            window.bytes = bytes;
            window.chunks.push(chunk);
        }
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
        let mean = window.bytes / window.chunks.len().max(1);
        rows = (bytes_max.saturating_sub(window.bytes) / mean.max(1) + 1).clamp(1, ROWS_MAX);
    }
    window.chunks.reverse();
    let older = if window.is_whole { "the whole transcript" } else { "what is older is left out" };
    info!("{} chunks of {meeting} read, {} bytes: {older}", window.chunks.len(), window.bytes);
    Ok(window)
}

/// Returns the end of a text with at most `bytes_max` bytes, from the beginning of a line if there is one.
pub fn end_of(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        let from = text.ceil_char_boundary(text.len() - bytes_max);
        let line = text[from..].find('\n').map(|end| from + end + 1).filter(|line| *line < text.len());
        text.drain(..line.unwrap_or(from));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_begins_with_a_line() {
        let end = |bytes_max| end_of("one\ntwo\nthree".to_owned(), bytes_max);
        assert_eq!(end(13), "one\ntwo\nthree");
        assert_eq!(end(12), "two\nthree");
        assert_eq!(end(6), "three");
        assert_eq!(end(3), "ree", "no line begins there");
        assert_eq!(end_of("one\nlong line\n".to_owned(), 5), "line\n", "nothing is behind its end");
        assert_eq!(end_of("ä\nä".to_owned(), 3), "ä");
        assert_eq!(end_of("äää".to_owned(), 3), "ä");
    }
}
