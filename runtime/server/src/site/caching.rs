//! The rules for caches of a file.

/// Names with a content hash never change their content.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// All other files are revalidated before each use.
const REVALIDATED: &str = "no-cache";
/// Shortest hash.
const HASH_CHARS_MIN: usize = 8;
/// Longest hash: SHA-512 in hex.
const HASH_CHARS_MAX: usize = 128;

/// Returns the value of `Cache-Control` for a file with this path.
pub(super) fn rule(name: &str) -> &'static str {
    let is_page = matches!(name.rsplit('.').next(), Some("html" | "htm"));
    if !is_page && has_content_hash(name) { IMMUTABLE } else { REVALIDATED }
}

/// Returns true if the name of the file has a content hash, as bundlers write it: `main.8f2b1c9d.js` (webpack),
/// `chunk-QK3ZD7A2.js` (esbuild), `assets/index-DiwrgTda.js` (Vite).
fn has_content_hash(name: &str) -> bool {
    let (folders, file) = name.rsplit_once('/').unwrap_or(("", name));
    let Some((stem, _)) = file.split_once('.').map(|(first, rest)| match rest.rsplit_once('.') {
        Some((middle, extension)) => (format!("{first}.{middle}"), extension),
        None => (first.to_owned(), rest),
    }) else {
        return false;
    };
    let mut parts = stem.split(['.', '-']);
    // The first part is the name, unless it is long enough to be a hash alone.
    let is_first_hash = parts.next().is_some_and(|first| first.len() >= 2 * HASH_CHARS_MIN && is_hash(first));
    is_first_hash || parts.any(is_hash) || is_in_assets(folders) && ends_in_base64url_hash(&stem)
}

/// Returns true for hex, base32 in upper case, and base62 with a digit. A word or a date is no hash.
fn is_hash(part: &str) -> bool {
    let has = |is: fn(&char) -> bool| part.chars().any(|c| is(&c));
    let (upper, lower, digit) =
        (has(char::is_ascii_uppercase), has(char::is_ascii_lowercase), has(char::is_ascii_digit));
    let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let fits = (HASH_CHARS_MIN..=HASH_CHARS_MAX).contains(&part.len());
    fits && digit && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && (upper || lower && is_hex)
}

fn is_in_assets(folders: &str) -> bool {
    folders.split('/').any(|folder| folder == "assets")
}

/// Vite's form: eight characters of base64url after a hyphen, which may look like a word.
fn ends_in_base64url_hash(stem: &str) -> bool {
    let Some((before, hash)) = stem.split_at_checked(stem.len().saturating_sub(HASH_CHARS_MIN)) else { return false };
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_mixed = hash.bytes().any(|byte| !byte.is_ascii_lowercase());
    before.len() > 1 && before.ends_with('-') && hash.bytes().all(is_base64url) && is_mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_bundlers_are_immutable() {
        for name in [
            "main.8f2b1c9d.js",
            "main.8f2b1c9d.chunk.css",
            "chunk-QK3ZD7A2.js",
            "assets/index-DiwrgTda.js",
            "assets/index-B-9x_Qz1.css",
            "assets/logo-a1b2c3d4.svg",
            "static/js/2.0c1b2a3d4e5f.js.map",
            "0123456789abcdef0123.woff2",
            "_next/static/chunks/app-4f3c2b1a09e8d7c6.js",
            "font.5K9xQ2aB.woff2",
        ] {
            assert_eq!(rule(name), IMMUTABLE, "{name}");
        }
    }

    #[test]
    fn pages_words_versions_and_dates_are_revalidated() {
        for name in [
            "index.html",
            "page.8f2b1c9d.html",
            "manifest.json",
            "app.js",
            "jquery-3.7.1.min.js",
            "bootstrap5.css",
            "react-bootstrap5.css",
            "report-20240101.js",
            "robots.txt",
            "service-worker.js",
            "UserProfile.js",
            "my-component.js",
            "assets/user-settings.js",
            "LICENSE",
            "deadbeef",
            "",
            "assets/",
            "a.b",
        ] {
            assert_eq!(rule(name), REVALIDATED, "{name}");
        }
    }
}
