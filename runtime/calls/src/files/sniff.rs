//! The type of a content, from its first bytes. The word of a client is never used.

/// Number of first bytes that decide the type.
pub(crate) const HEAD_BYTES: usize = 4 * 1024;

/// The type of bytes that are neither text nor a known format.
const UNKNOWN: &str = "application/octet-stream";

/// Returns the media type of a content that begins with `head`, at most [`HEAD_BYTES`] of it.
///
/// Text that a browser would run or parse as markup is found first: libraries of magic bytes know only some of its
/// beginnings.
pub(crate) fn content_type(head: &[u8]) -> &'static str {
    if let Some(markup) = text_of(head).and_then(|text| markup(&text)) {
        return markup;
    }
    match infer::get(head) {
        Some(found) => found.mime_type(),
        None if text_of(head).is_some() => "text/plain",
        None => UNKNOWN,
    }
}

/// Returns the bytes as text; none if they are no text. The last character may be cut.
fn text_of(head: &[u8]) -> Option<String> {
    let decoded = |bytes: &[u8], pair: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|two| pair([two[0], two[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match head {
        [0xFE, 0xFF, rest @ ..] => return Some(decoded(rest, u16::from_be_bytes)),
        [0xFF, 0xFE, rest @ ..] => return Some(decoded(rest, u16::from_le_bytes)),
        _ => {}
    }
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    let is_binary = text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}' | '\u{1b}'));
    (!is_binary && !text.is_empty()).then(|| text.to_owned())
}

/// Returns the type of markup: SVG, HTML or XML.
fn markup(text: &str) -> Option<&'static str> {
    let text = text.trim_start().to_ascii_lowercase();
    if !text.starts_with('<') {
        return None;
    }
    let has = |tag: &str| text.contains(tag);
    if has("<svg") {
        Some("image/svg+xml")
    } else if has("<!doctype html") || has("<html") || HTML.iter().any(|tag| text.starts_with(tag)) {
        Some("text/html")
    } else if text.starts_with("<?xml") || text.starts_with("<!doctype") || text.contains("xmlns") {
        Some("text/xml")
    } else {
        // Browsers parse unknown elements too.
        Some("text/html")
    }
}

/// Elements with which a fragment of HTML begins (WHATWG MIME Sniffing, §7.1).
const HTML: [&str; 8] = ["<head", "<script", "<iframe", "<body", "<title", "<style", "<table", "<!--"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_is_that_of_the_first_bytes() {
        for (head, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
            (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
            (b"%PDF-1.7\n", "application/pdf"),
            (b"hello", "text/plain"),
            (b"", UNKNOWN),
            (b"\0\x01\x02", UNKNOWN),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
            (b"\xEF\xBB\xBF<?xml version='1.0'?><!-- a --><svg/>", "image/svg+xml"),
            (b"  <!DOCTYPE html><p>", "text/html"),
            (b"<script>alert(1)</script>", "text/html"),
            (b"<p onclick=x>", "text/html"),
            (b"<?xml version='1.0'?><a/>", "text/xml"),
            (b"\xFF\xFE<\0h\0t\0m\0l\0>\0", "text/html"),
        ] {
            assert_eq!(content_type(head), expected, "{:?}", String::from_utf8_lossy(head));
        }
    }

    #[test]
    fn character_that_the_head_cuts_does_not_make_a_text_binary() {
        let text = "ä".repeat(HEAD_BYTES);
        assert_eq!(content_type(&text.as_bytes()[..HEAD_BYTES - 1]), "text/plain");
    }
}
