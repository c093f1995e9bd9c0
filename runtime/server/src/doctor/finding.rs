//! One thing that was looked at, how it is, and what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, and will not always, or not for everybody.
    Warning,
    /// Something does not work.
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

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is about, in one word.
    pub subject: String,
    /// How it is.
    pub state: State,
    /// What was found.
    pub says: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Finding {
    /// It is as it should be.
    pub fn ok(subject: &str, says: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), state: State::Ok, says: says.into(), advice: None }
    }

    /// It works for now.
    pub fn warning(subject: &str, says: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), state: State::Warning, says: says.into(), advice: Some(advice.into()) }
    }

    /// It does not work.
    pub fn problem(subject: &str, says: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Problem, ..Self::warning(subject, says, advice) }
    }
}
