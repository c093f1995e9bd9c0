//! Where the addresses of a text stand.
//!
//! Owns what counts as one: absolute, http or https, found by `linkify`, which knows where a sentence's punctuation is
//! not part of an address.

use std::ops::Range;

use linkify::{LinkFinder, LinkKind};

/// Where the addresses of a text stand, in bytes.
#[must_use]
pub fn spans(text: &str) -> Vec<Range<usize>> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    finder
        .links(text)
        .filter(|link| link.as_str().starts_with("http://") || link.as_str().starts_with("https://"))
        .map(|link| link.start()..link.end())
        .collect()
}
