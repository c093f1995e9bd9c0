//! Dialogue acts of a sentence, and the matches of the rules, which are features of the classifier.

use std::fmt;

use strum::IntoStaticStr;

/// A dialogue act. A sentence can perform several, each with its own likelihood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Act {
    /// The speaker accepts a task.
    Own,
    /// A task without an owner.
    Unassigned,
    /// A task of another person.
    Others,
    Decision,
    /// Only looks like a task: a habit, a condition, a joke, a quotation.
    NoTask,
}

impl Act {
    /// All acts, in the order of the columns of the weights.
    pub const ALL: [Act; 5] = [Act::Own, Act::Unassigned, Act::Others, Act::Decision, Act::NoTask];
}

/// The findings of the rules in one sentence.
#[derive(Debug, Default)]
pub struct RuleMatches {
    /// True if its words state a decision.
    pub decides: bool,
    /// Tasks announced by its words.
    pub announced: Vec<Announced>,
    /// Tasks of the meeting that began or last changed in it.
    pub drafts: Vec<Drafted>,
}

/// A task that the words of one sentence announce.
#[derive(Debug)]
pub struct Announced {
    /// The owner according to these words.
    pub whose: &'static str,
    pub is_offer: bool,
    pub is_asked: bool,
}

impl fmt::Display for Announced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (offer, asked) = (if self.is_offer { "?" } else { "" }, if self.is_asked { "!" } else { "" });
        write!(f, "{}{offer}{asked}", self.whose)
    }
}

/// A task tracked over sentences.
#[derive(Debug)]
pub struct Drafted {
    pub stage: Stage,
    /// The act of the task in its final state, for the speaker of the sentence.
    pub act: Act,
    pub fate: Fate,
    pub has_due: bool,
}

/// The part of a task that a sentence states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Stage {
    /// All of it.
    Whole,
    /// Its beginning; a later sentence settles it.
    Begun,
    /// Its last change.
    Settled,
}

/// The state of a task after the meeting, by the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Fate {
    /// Has an owner, or is needed.
    Firm,
    /// Asked for or proposed, without an owner.
    Open,
    Dropped,
}
