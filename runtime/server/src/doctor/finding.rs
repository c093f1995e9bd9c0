//! A finding: a check, its result, and advice.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// No problem.
    Ok,
    /// It works now, but may fail later or for some users.
    Warning,
    /// It does not work.
    Problem,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Problem => "problem",
        })
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The subject, in one word.
    pub subject: String,
    /// The result.
    pub state: State,
    /// The finding, in words.
    pub says: String,
    /// The advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Finding {
    /// Creates a finding without a problem.
    pub fn ok(subject: &str, says: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), state: State::Ok, says: says.into(), advice: None }
    }

    /// Creates a warning.
    pub fn warning(subject: &str, says: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), state: State::Warning, says: says.into(), advice: Some(advice.into()) }
    }

    /// Creates a problem.
    pub fn problem(subject: &str, says: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Problem, ..Self::warning(subject, says, advice) }
    }
}
