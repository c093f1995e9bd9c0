//! Filters for completed calls.

use std::time::Duration;

use super::record::CallRecord;
use convoke_core::clock::Millis;
use convoke_core::error::Code;

/// A filter for completed calls. An absent member matches all calls.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A pattern for paths: `*` matches any characters. Without `*`, it is a prefix.
    pub function: Option<String>,
    /// A text in the path, the arguments, the error, the log lines or the caller, ignoring case.
    pub text: Option<String>,
    /// The caller: a subject, the name of a deploy key, `scheduler`, or `anonymous` for a call without an identity.
    pub caller: Option<String>,
    /// Calls that ended at this time or later.
    pub since: Option<Millis>,
    /// Calls that ended before this time.
    pub before: Option<Millis>,
    /// Their outcome.
    pub outcome: Option<Wanted>,
    /// One call, and the calls that it made.
    pub request_id: Option<String>,
    /// Subject of their identity.
    pub subject: Option<String>,
    /// Calls that took longer than this.
    pub slower_than: Option<Duration>,
}

/// The outcomes that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Success.
    Ok,
    /// Any error.
    Error,
    /// An error by a rule: a missing right, an invalid argument, a state that does not allow the call.
    Refused,
    /// An error of the server, of a function's code, or of an external service.
    Failed,
    /// This code.
    Code(Code),
}

impl std::str::FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let upper = text.to_ascii_uppercase();
        match upper.as_str() {
            "OK" => Ok(Self::Ok),
            "ERROR" => Ok(Self::Error),
            "REFUSED" => Ok(Self::Refused),
            "FAILED" => Ok(Self::Failed),
            _ => match Code::ALL.iter().find(|code| code.as_str() == upper) {
                Some(code) => Ok(Self::Code(*code)),
                None => Err(format!(
                    "{text:?} is not an outcome: use ok, error, refused, failed, or a code such as {} or {}",
                    Code::Forbidden,
                    Code::Internal
                )),
            },
        }
    }
}

impl Filter {
    pub(super) fn admits(&self, entry: &CallRecord) -> bool {
        let outcome = match self.outcome {
            None => true,
            Some(Wanted::Ok) => entry.outcome.is_none(),
            Some(Wanted::Error) => entry.outcome.is_some(),
            Some(Wanted::Refused) => entry.refused,
            Some(Wanted::Failed) => entry.outcome.is_some() && !entry.refused,
            Some(Wanted::Code(code)) => entry.outcome == Some(code),
        };
        outcome
            && self.function.as_deref().is_none_or(|pattern| matches(pattern, &entry.function))
            && self.request_id.as_deref().is_none_or(|id| id == &*entry.request_id)
            && self.subject.as_deref().is_none_or(|subject| entry.subject.as_deref() == Some(subject))
            && self.slower_than.is_none_or(|bound| entry.elapsed > bound)
            && self.since.is_none_or(|since| entry.time >= since)
            && self.before.is_none_or(|before| entry.time < before)
            && self.caller.as_deref().is_none_or(|caller| is_of(entry, caller))
            && self.text.as_deref().is_none_or(|text| has(entry, text))
    }
}

fn is_of(entry: &CallRecord, caller: &str) -> bool {
    match (&entry.subject, &entry.deploy_key) {
        _ if caller == "scheduler" && entry.scheduled => true,
        (None, None) => caller == "anonymous" && !entry.scheduled,
        (subject, key) => [subject, key].into_iter().any(|name| name.as_deref() == Some(caller)),
    }
}

/// Returns true if an operator sees the text in a call. A secret that was removed cannot be found.
fn has(entry: &CallRecord, text: &str) -> bool {
    let text = text.to_lowercase();
    let has = |within: &str| within.to_lowercase().contains(&text);
    has(&entry.function)
        || [&entry.subject, &entry.deploy_key, &entry.error].into_iter().flatten().any(|part| has(part))
        || entry.log_lines.iter().any(has)
        || entry.arguments.as_ref().is_some_and(|arguments| has(&arguments.shown()))
}

/// Returns true if a path matches a pattern. The pattern may also have the form of the generic routes,
/// `module/path:function`.
fn matches(pattern: &str, path: &str) -> bool {
    let pattern = pattern.replace(':', "/");
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        // Without a star, the pattern is a prefix.
        return true;
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_without_a_star_is_a_prefix_and_a_star_matches_anything() {
        for (pattern, path, fits) in [
            ("users", "users/queries/getCurrentUser", true),
            ("users/queries:get", "users/queries/getCurrentUser", true),
            ("queries", "users/queries/getCurrentUser", false),
            ("*", "users/queries/getCurrentUser", true),
            ("*/getCurrentUser", "users/queries/getCurrentUser", true),
            ("*/getCurrent", "users/queries/getCurrentUser", false),
            ("users/*/get*User", "users/queries/getCurrentUser", true),
            ("users/*x*", "users/queries/getCurrentUser", false),
            ("a*ab", "aab", true),
            ("ab*b", "ab", false),
            ("", "anything", true),
        ] {
            assert_eq!(matches(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn outcome_is_a_code_in_any_case() {
        assert_eq!("forbidden".parse(), Ok(Wanted::Code(Code::Forbidden)));
        assert_eq!("ok".parse(), Ok(Wanted::Ok));
        assert_eq!("failed".parse(), Ok(Wanted::Failed));
        let refused = "nothing".parse::<Wanted>().unwrap_err();
        assert!(refused.contains("such as FORBIDDEN"), "{refused}");
    }

    #[test]
    fn filter_distinguishes_rejections_failures_and_callers() {
        let record = |outcome: &str, more: &str| -> CallRecord {
            let json = format!(
                r#"{{"time":5,"requestId":"r","function":"notes/add","outcome":"{outcome}","durationMs":1.5{more}}}"#
            );
            serde_json::from_str(&json).unwrap()
        };
        let refused = record("FORBIDDEN", r#","refused":true,"subject":"ada","arguments":{"title":"Größe"}"#);
        let failed = record("INTERNAL", r#","deployKey":"ci","error":"disk gone","logLines":["[INFO] Half way"]"#);
        let scheduled = record("OK", r#","scheduled":true"#);
        let admitted = |filter: Filter| [&refused, &failed, &scheduled].map(|record| filter.admits(record));
        let ended = |wanted| Filter { outcome: Some(wanted), ..Filter::default() };
        assert_eq!(admitted(ended(Wanted::Refused)), [true, false, false]);
        assert_eq!(admitted(ended(Wanted::Failed)), [false, true, false]);
        assert_eq!(admitted(ended(Wanted::Error)), [true, true, false]);
        let by = |caller: &str| Filter { caller: Some(caller.to_owned()), ..Filter::default() };
        assert_eq!(admitted(by("ada")), [true, false, false]);
        assert_eq!(admitted(by("ci")), [false, true, false]);
        assert_eq!(admitted(by("scheduler")), [false, false, true]);
        assert_eq!(admitted(by("anonymous")), [false, false, false]);
        let with = |text: &str| Filter { text: Some(text.to_owned()), ..Filter::default() };
        assert_eq!(admitted(with("GRÖSSE")), [false, false, false]);
        assert_eq!(admitted(with("GRÖßE")), [true, false, false]);
        assert_eq!(admitted(with("DISK")), [false, true, false]);
        assert_eq!(admitted(with("half")), [false, true, false]);
        assert_eq!(admitted(Filter { since: Some(Millis(6)), ..Filter::default() }), [false; 3]);
        assert_eq!(admitted(Filter { before: Some(Millis(6)), ..Filter::default() }), [true; 3]);
        let slow = Filter { slower_than: Some(Duration::from_millis(1)), ..Filter::default() };
        assert_eq!(admitted(slow), [true; 3]);
    }
}
