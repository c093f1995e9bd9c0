//! Conditional and partial requests for a file (RFC 9110 §13, §14).

use std::fs::Metadata;
use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::header::HeaderValue;

/// The validators of a file.
pub(super) struct Validators {
    /// The entity tag: size and time of the last change, and the coding.
    pub(super) tag: String,
    pub(super) modified: Option<SystemTime>,
}

impl Validators {
    /// `coding` is the coding of the file's bytes, if any.
    pub(super) fn of(metadata: &Metadata, coding: Option<&str>) -> Self {
        let modified = metadata.modified().ok();
        let nanos = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default().as_nanos();
        let coding = coding.map(|coding| format!("-{coding}")).unwrap_or_default();
        Self { tag: format!("\"{nanos:x}-{:x}{coding}\"", metadata.len()), modified }
    }

    pub(super) fn last_modified(&self) -> Option<HeaderValue> {
        HeaderValue::try_from(httpdate::fmt_http_date(self.modified?)).ok()
    }

    /// Returns true if the client has this version. `If-None-Match` takes precedence over `If-Modified-Since`.
    pub(super) fn is_known(
        &self,
        if_none_match: Option<&HeaderValue>,
        if_modified_since: Option<&HeaderValue>,
    ) -> bool {
        match if_none_match {
            Some(tags) => tags.to_str().is_ok_and(|tags| {
                // The comparison is weak: the listener weakens the tag of a response that it compresses.
                tags.trim() == "*" || tags.split(',').any(|tag| tag.trim().trim_start_matches("W/") == self.tag)
            }),
            None => if_modified_since.is_some_and(|since| self.is_not_modified_since(since)),
        }
    }

    /// Returns true if a range may be served: `If-Range` is absent or names this version.
    pub(super) fn allows_range(&self, if_range: Option<&HeaderValue>) -> bool {
        let Some(given) = if_range else { return true };
        let Ok(text) = given.to_str() else { return false };
        match text.starts_with('"') {
            true => text == self.tag,
            false => self.last_modified().is_some_and(|own| own == text),
        }
    }

    fn is_not_modified_since(&self, since: &HeaderValue) -> bool {
        let since = since.to_str().ok().and_then(|since| httpdate::parse_http_date(since).ok());
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        since.zip(self.modified).is_some_and(|(since, modified)| seconds(modified) <= seconds(since))
    }
}

/// The part of a file that a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The whole file. A server may ignore a range (RFC 9110 §14.2): one that is invalid, or several at once.
    Whole,
    Bytes(RangeInclusive<u64>),
    /// The range lies outside of the file.
    Outside,
}

impl Part {
    pub(super) fn of(range: Option<&HeaderValue>, bytes: u64) -> Self {
        let range = range.and_then(|range| range.to_str().ok());
        let Some(Ok(parsed)) = range.map(http_range_header::parse_range_header) else { return Part::Whole };
        // An empty file has no part.
        if parsed.ranges.len() != 1 || bytes == 0 {
            return Part::Whole;
        }
        match parsed.validate(bytes).as_deref() {
            Ok([one]) => Part::Bytes(one.clone()),
            Ok(_) => Part::Whole,
            Err(_) => Part::Outside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_valid_range_is_served_and_others_are_ignored_or_outside() {
        for (range, expected) in [
            ("bytes=0-9", Part::Bytes(0..=9)),
            ("bytes=90-", Part::Bytes(90..=99)),
            ("bytes=-10", Part::Bytes(90..=99)),
            ("bytes=0-0", Part::Bytes(0..=0)),
            ("bytes=100-", Part::Outside),
            ("bytes=100-200", Part::Outside),
            ("bytes=0-1,5-6", Part::Whole),
            ("bytes=", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("lines=0-9", Part::Whole),
        ] {
            assert_eq!(Part::of(Some(&HeaderValue::from_static(range)), 100), expected, "{range}");
        }
        assert_eq!(Part::of(None, 100), Part::Whole);
        for range in ["bytes=90-200", "bytes=0-200"] {
            let part = Part::of(Some(&HeaderValue::from_static(range)), 100);
            assert!(matches!(&part, Part::Bytes(bytes) if *bytes.end() == 99), "{range}: {part:?}");
        }
        assert_eq!(Part::of(Some(&HeaderValue::from_static("bytes=0-")), 0), Part::Whole);
    }
}
