//! Counting text in UTF-16 code units, as browsers do.
//!
//! Converts offsets in units to byte offsets, and detects positions inside a surrogate pair. Rust strings have no half
//! pairs, so text cut here is always well-formed.

/// Returns the number of UTF-16 code units of `text`.
pub fn units(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.chars().map(char::len_utf16).sum()
}

/// Returns the byte offset of the unit at `offset`; the length in bytes for the offset at the end.
///
/// `None`: the offset is inside a surrogate pair, or behind the end.
pub fn byte_at(text: &str, offset: usize) -> Option<usize> {
    if text.is_ascii() {
        return (offset <= text.len()).then_some(offset);
    }
    let mut seen = 0;
    for (byte, letter) in text.char_indices() {
        if seen >= offset {
            return (seen == offset).then_some(byte);
        }
        seen += letter.len_utf16();
    }
    (seen == offset).then_some(text.len())
}

/// Cuts `text` into parts of about `target` units, as equal as pairs allow: none empty, none longer than `max`.
///
/// A text within `max` is one part, and the empty text none. `target` is at least 1, and `max` at least 2 and `target`.
pub fn cut(text: &str, target: usize, max: usize) -> Vec<&str> {
    let total = units(text);
    if total == 0 {
        return Vec::new();
    }
    if total <= max {
        return vec![text];
    }
    // One unit less than allowed, because a part that would end inside a pair includes the whole pair.
    let count = total.div_ceil(max - 1).max((total + target / 2) / target);
    let mut cuts = Vec::with_capacity(count);
    let mut rest = text;
    let mut rest_units = total;
    for left in (2..=count).rev() {
        let wish = rest_units / left;
        if wish == 0 {
            continue;
        }
        let (byte, taken) = match byte_at(rest, wish) {
            Some(byte) => (byte, wish),
            None => (byte_at(rest, wish + 1).unwrap_or(rest.len()), wish + 1),
        };
        cuts.push(&rest[..byte]);
        rest = &rest[byte..];
        rest_units -= taken;
    }
    cuts.push(rest);
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_outside_the_first_plane_counts_two() {
        assert_eq!(units("a😀é"), 4);
        assert_eq!(units("abc"), 3);
        assert_eq!(units(""), 0);
    }

    #[test]
    fn an_offset_inside_a_pair_or_behind_the_end_has_no_byte() {
        let text = "a😀é";

        assert_eq!(byte_at(text, 0), Some(0));
        assert_eq!(byte_at(text, 1), Some(1));
        assert_eq!(byte_at(text, 2), None);
        assert_eq!(byte_at(text, 3), Some(5));
        assert_eq!(byte_at(text, 4), Some(7));
        assert_eq!(byte_at(text, 5), None);
        assert_eq!(byte_at("ab", 2), Some(2));
        assert_eq!(byte_at("ab", 3), None);
    }

    #[test]
    fn cut_text_keeps_its_pairs_and_its_bounds() {
        let text = "😀".repeat(51);

        let cuts = cut(&text, 10, 11);

        assert_eq!(cuts.concat(), text);
        assert!(cuts.iter().all(|piece| (1..=11).contains(&units(piece))));
        assert_eq!(cut("", 10, 11), Vec::<&str>::new());
        assert_eq!(cut("abc", 10, 11), vec!["abc"]);
    }
}
