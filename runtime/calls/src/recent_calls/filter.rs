//! Which finished calls an operator looks for.

use std::time::Duration;

use super::record::CallRecord;
use convoke_core::clock::Millis;
use convoke_core::error::Code;

/// The calls that an operator looks for; a member that is absent admits all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A pattern of paths: `*` stands for any characters; without one, it is how the path begins.
    pub function: Option<String>,
    /// A text in the path, the arguments, the error, the log lines or the caller, in any case of letters.
    pub text: Option<String>,
    /// The caller: a subject, the name of a deploy key, `scheduler`, or `anonymous` for a call without an identity.
    pub caller: Option<String>,
    /// Calls that ended then or later.
    pub since: Option<Millis>,
    /// Calls that ended before.
    pub before: Option<Millis>,
    /// How they ended.
    pub outcome: Option<Wanted>,
    /// One call, and what it made.
    pub request_id: Option<String>,
    /// The subject of the identity that they ran as.
    pub subject: Option<String>,
    /// Those that took longer.
    pub slower_than: Option<Duration>,
}

/// How a call is to have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Without an error.
    Ok,
    /// In any error.
    Error,
    /// In an error that a rule demands: a right that is missing, an argument that does not fit, a state that forbids it.
    Refused,
    /// In an error of the server, of a function's code, or of a service outside.
    Failed,
    /// In this one.
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
                    "{text:?} is no outcome: ok, error, refused, failed, or a code such as {} or {}",
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

/// Returns whether a text stands in what an operator sees of a call: a secret that was removed cannot be searched for.
fn has(entry: &CallRecord, text: &str) -> bool {
    let text = text.to_lowercase();
    let has = |within: &str| within.to_lowercase().contains(&text);
    has(&entry.function)
        || [&entry.subject, &entry.deploy_key, &entry.error].into_iter().flatten().any(|part| has(part))
        || entry.log_lines.iter().any(has)
        || entry.arguments.as_ref().is_some_and(|arguments| has(&arguments.shown()))
}

/// Returns whether a path fits a pattern. A function may also be named as on the generic routes, `module/path:function`.
fn matches(pattern: &str, path: &str) -> bool {
    let pattern = pattern.replace(':', "/");
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        // Without a star it is a beginning.
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
    fn a_pattern_without_a_star_is_a_beginning_and_a_star_stands_for_anything() {
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
    fn an_outcome_is_a_code_in_any_case() {
        assert_eq!("forbidden".parse(), Ok(Wanted::Code(Code::Forbidden)));
        assert_eq!("ok".parse(), Ok(Wanted::Ok));
        assert_eq!("failed".parse(), Ok(Wanted::Failed));
        let refused = "nothing".parse::<Wanted>().unwrap_err();
        assert!(refused.contains("such as FORBIDDEN"), "{refused}");
    }

    #[test]
    fn refusals_and_failures_are_told_apart_and_callers_by_their_names() {
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
