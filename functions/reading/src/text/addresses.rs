//! The positions of URLs in a text.
//!
//! A URL is absolute, http or https, and found by `linkify`, which excludes the punctuation of the sentence.

use std::ops::Range;

use linkify::{LinkFinder, LinkKind};

/// Returns the positions of URLs in a text, in bytes.
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
