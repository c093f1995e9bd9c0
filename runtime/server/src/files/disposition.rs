//! `Content-Disposition`: shows or saves a file, under a name (RFC 6266, RFC 8187).

use hyper::header::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that RFC 8187 §3.2.1 (`attr-char`) does not allow unencoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// Types that a browser shows without running code of the content.
const SHOWN: [&str; 5] = ["image/", "audio/", "video/", "application/pdf", "text/plain"];

/// Returns true if a browser may show this type. Markup is never shown: it could run code with the origin of this
/// server.
fn may_be_shown(content_type: &str) -> bool {
    content_type != "image/svg+xml" && SHOWN.iter().any(|shown| content_type.starts_with(shown))
}

pub(super) fn field(content_type: &str, is_download: bool, name: Option<&str>) -> HeaderValue {
    let kind = if is_download || !may_be_shown(content_type) { "attachment" } else { "inline" };
    let name = name.map(file_name).filter(|name| !name.is_empty());
    let text = match name {
        None => kind.to_owned(),
        Some(name) if name.is_ascii() => format!("{kind}; filename=\"{name}\""),
        Some(name) => {
            let plain: String = name.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
            let encoded = utf8_percent_encode(&name, ENCODED);
            format!("{kind}; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
        }
    };
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

/// Returns a name without the characters that end a quoted string, a line or a folder.
fn file_name(name: &str) -> String {
    let clean = |c: char| match c {
        '"' | '\\' | '/' | '%' => '_',
        c if c.is_control() => '_',
        // With these, a browser would show `agpj.exe` as `aexe.jpg`.
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '_',
        c => c,
    };
    name.chars().map(clean).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_unknown_types_are_saved_and_never_shown() {
        for (content_type, expected) in [
            ("image/png", "inline"),
            ("application/pdf", "inline"),
            ("text/plain", "inline"),
            ("image/svg+xml", "attachment"),
            ("text/html", "attachment"),
            ("text/xml", "attachment"),
            ("application/octet-stream", "attachment"),
            ("application/xhtml+xml", "attachment"),
        ] {
            assert_eq!(field(content_type, false, None), expected, "{content_type}");
        }
        assert_eq!(field("image/png", true, None), "attachment");
    }

    #[test]
    fn name_is_quoted_and_encoded_and_cannot_add_a_field() {
        for (name, expected) in [
            ("plan.pdf", "attachment; filename=\"plan.pdf\""),
            ("a\"; x=\"b", "attachment; filename=\"a_; x=_b\""),
            ("a\r\nSet-Cookie: b", "attachment; filename=\"a__Set-Cookie: b\""),
            ("../etc/passwd", "attachment; filename=\".._etc_passwd\""),
            ("Straße €.pdf", "attachment; filename=\"Stra_e _.pdf\"; filename*=UTF-8''Stra%C3%9Fe%20%E2%82%AC.pdf"),
            ("a\u{202e}gpj.exe", "attachment; filename=\"a_gpj.exe\""),
            ("  ", "attachment"),
        ] {
            assert_eq!(field("application/zip", true, Some(name)), expected, "{name:?}");
        }
    }
}
