//! `Range`: one part of a content (RFC 9110 §14).

use std::ops::Range;

/// The part of a content that a request wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The whole content: no range, several ranges, or a range in another unit or form, which a server may ignore.
    Whole,
    /// This part, which is not empty.
    Part(Range<u64>),
    /// A part that the content does not have.
    Outside,
}

impl Wanted {
    /// Reads the field for a content of this length.
    pub(super) fn of(field: Option<&str>, length: u64) -> Self {
        let Some(range) = field.and_then(|field| field.trim().strip_prefix("bytes=")) else { return Wanted::Whole };
        let Some((first, last)) = range.trim().split_once('-').filter(|_| !range.contains(',')) else {
            return Wanted::Whole;
        };
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (first, last) = (first.trim(), last.trim());
        if !is_number(first) || !is_number(last) || (first.is_empty() && last.is_empty()) {
            return Wanted::Whole;
        }
        // A number beyond 64 bits is beyond every content.
        let number = |text: &str| text.parse().unwrap_or(u64::MAX);
        let part = match (first, last) {
            ("", last) => length.saturating_sub(number(last))..length,
            (first, "") => number(first)..length,
            (first, last) if number(first) > number(last) => return Wanted::Whole,
            (first, last) => number(first)..length.min(number(last).saturating_add(1)),
        };
        if part.is_empty() { Wanted::Outside } else { Wanted::Part(part) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_is_one_part_of_the_content() {
        for (field, expected) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=2-5", Wanted::Part(2..6)),
            ("bytes=2-", Wanted::Part(2..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-30", Wanted::Part(0..10)),
            ("bytes=9-99999999999999999999999", Wanted::Part(9..10)),
            ("bytes=10-", Wanted::Outside),
            ("bytes=-0", Wanted::Outside),
            ("bytes=99999999999999999999999-", Wanted::Outside),
            ("bytes=0-1,3-4", Wanted::Whole),
            ("bytes=5-2", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("items=0-1", Wanted::Whole),
        ] {
            assert_eq!(Wanted::of(Some(field), 10), expected, "{field}");
        }
        assert_eq!(Wanted::of(None, 10), Wanted::Whole);
        assert_eq!(Wanted::of(Some("bytes=0-"), 0), Wanted::Outside);
    }
}
