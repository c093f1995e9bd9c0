//! The rule that no request fits two routes.
//!
//! A segment of a path is a text, a parameter `{name}` with a text before and after it, or at the end `{*name}`, which
//! matches one or more segments. The functions are `const`, so that the attribute checks the routes of one crate at
//! compile time, and the registry checks those of all crates at start.

/// Returns true if some path fits both patterns.
pub const fn overlaps(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let (mut at, mut other_at) = (1, 1);
    loop {
        let (end, other_end) = (segment_end(one, at), segment_end(other, other_at));
        if is_rest(one, at) || is_rest(other, other_at) {
            return true;
        }
        if !segments_overlap(one, at, end, other, other_at, other_end) {
            return false;
        }
        match (end == one.len(), other_end == other.len()) {
            (true, true) => return true,
            (false, false) => (at, other_at) = (end + 1, other_end + 1),
            (true, false) | (false, true) => return false,
        }
    }
}

const fn segment_end(pattern: &[u8], from: usize) -> usize {
    position(pattern, from, pattern.len(), b'/')
}

const fn is_rest(pattern: &[u8], at: usize) -> bool {
    at + 1 < pattern.len() && pattern[at] == b'{' && pattern[at + 1] == b'*'
}

const fn segments_overlap(one: &[u8], start: usize, end: usize, other: &[u8], from: usize, to: usize) -> bool {
    let (open, other_open) = (position(one, start, end, b'{'), position(other, from, to, b'{'));
    match (open < end, other_open < to) {
        (false, false) => end - start == to - from && is_same(one, start, other, from, end - start),
        (true, false) => fits(one, start, open, end, other, from, to),
        (false, true) => fits(other, from, other_open, to, one, start, end),
        (true, true) => {
            let (close, other_close) = (position(one, open, end, b'}') + 1, position(other, other_open, to, b'}') + 1);
            let before = shorter(open - start, other_open - from);
            let after = shorter(end - close, to - other_close);
            is_same(one, start, other, from, before) && is_same(one, end - after, other, to - after, after)
        }
    }
}

/// Returns true if a text fits a segment with a parameter, whose braces begin at `open`. A parameter is never empty.
const fn fits(one: &[u8], start: usize, open: usize, end: usize, text: &[u8], from: usize, to: usize) -> bool {
    let close = position(one, open, end, b'}') + 1;
    let (before, after) = (open - start, end - close);
    to - from > before + after
        && is_same(one, start, text, from, before)
        && is_same(one, end - after, text, to - after, after)
}

const fn is_same(one: &[u8], from: usize, other: &[u8], other_from: usize, count: usize) -> bool {
    let mut at = 0;
    while at < count {
        if one[from + at] != other[other_from + at] {
            return false;
        }
        at += 1;
    }
    true
}

const fn position(text: &[u8], from: usize, to: usize, byte: u8) -> usize {
    let mut at = from;
    while at < to && text[at] != byte {
        at += 1;
    }
    at
}

const fn shorter(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_overlap_if_one_path_fits_both() {
        for (one, other) in [
            ("/a", "/a"),
            ("/a/{x}", "/a/b"),
            ("/a/{x}", "/a/{y}"),
            ("/a/{x}.ics", "/a/{y}"),
            ("/a/{x}.ics", "/a/b.ics"),
            ("/a/b-{x}", "/a/{y}.ics"),
            ("/{*rest}", "/a/b/c"),
            ("/a/{*rest}", "/{x}/b"),
            ("/", "/"),
        ] {
            assert!(overlaps(one, other) && overlaps(other, one), "{one} {other}");
        }
    }

    #[test]
    fn patterns_without_a_common_path_do_not_overlap() {
        for (one, other) in [
            ("/a", "/b"),
            ("/a", "/a/b"),
            ("/a", "/a/"),
            ("/", "/a"),
            ("/a/{x}", "/a"),
            ("/a/{x}", "/b/{x}"),
            ("/a/{x}.ics", "/a/{x}.json"),
            ("/a/{x}.ics", "/a/.ics"),
            ("/a/b-{x}", "/a/c-{x}"),
            ("/a/{*rest}", "/b/c"),
        ] {
            assert!(!overlaps(one, other) && !overlaps(other, one), "{one} {other}");
        }
    }
}
