//! Lines of text within their limits, for everything that is shown of a meeting.

/// Longest action item, recommendation or title in characters: one to three lines on a screen.
pub const LINE_CHARS_MAX: usize = 300;

/// Returns the text, truncated to at most `chars_max` characters at the end of a word, with an ellipsis if it was
/// truncated.
#[must_use]
pub fn clipped(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let Some(room) = chars_max.checked_sub(1) else { return String::new() };
    let cut = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let kept = &text[..cut];
    // A script without spaces has no ends of words.
    let whole_words = kept.rsplit_once(char::is_whitespace).map_or(kept, |(words, _)| words);
    format!("{}…", whole_words.trim_end())
}

/// Returns a text with an initial capital.
#[must_use]
pub fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Returns a text with a small initial letter, unless it is an acronym.
#[must_use]
pub fn uncapitalized(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    if chars.clone().next().is_some_and(char::is_uppercase) {
        return text.to_owned();
    }
    first.to_lowercase().chain(chars).collect()
}

/// Returns a confidence with two decimals, since the evidence is not more precise.
#[must_use]
pub fn rounded(confidence: f64) -> f64 {
    (confidence * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_cut_at_the_end_of_a_word() {
        assert_eq!(clipped("one two three", 13), "one two three");
        assert_eq!(clipped("one two three", 12), "one two…");
        assert_eq!(clipped("onetwothree", 5), "onet…");
        assert_eq!(clipped("日本語の文章です", 4), "日本語…");
        assert_eq!(clipped("anything", 0), "");
    }

    proptest! {
        #[test]
        fn a_cut_text_keeps_to_its_bound(text in "\\PC{0,80}", bound in 0usize..90) {
            prop_assert!(clipped(&text, bound).chars().count() <= bound);
        }
    }
}
