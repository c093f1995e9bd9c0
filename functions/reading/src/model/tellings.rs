//! What a sentence can tell, and what the rules find in it: how far these are to be trusted is learned.

use std::fmt;

use strum::IntoStaticStr;

/// What a sentence can tell, each with a likelihood of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Telling {
    /// Here it is settled that the speaker does something.
    Own,
    /// Something is to be done, and nobody takes it.
    Nobodys,
    /// Something is somebody else's.
    Others,
    Decision,
    /// It sounds like a task and is none: a habit, a condition, a joke, what somebody else said once.
    Nothing,
}

impl Telling {
    /// All of them, in the order of the columns of the weights.
    pub const ALL: [Telling; 5] =
        [Telling::Own, Telling::Nobodys, Telling::Others, Telling::Decision, Telling::Nothing];
}

/// What the rules find in one sentence.
#[derive(Debug, Default)]
pub struct Hints {
    /// True if it tells a decision by its words.
    pub decides: bool,
    /// The tasks that its words announce.
    pub announced: Vec<Announced>,
    /// The tasks of the meeting that begin in it, or that it changed last.
    pub drafts: Vec<Drafted>,
}

/// A task that the words of one sentence announce.
#[derive(Debug)]
pub struct Announced {
    /// Whose it is by these words.
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

/// A task that is followed from sentence to sentence.
#[derive(Debug)]
pub struct Drafted {
    pub stage: Stage,
    /// Whose it is in the end, for who speaks here.
    pub telling: Telling,
    pub fate: Fate,
    pub has_due: bool,
}

/// What of a task a sentence says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Stage {
    /// All of it.
    Whole,
    /// Its beginning; another one settles it.
    Begun,
    /// The last word on it.
    Settled,
}

/// What became of a task, by the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Fate {
    /// Somebody's, or needed.
    #[strum(serialize = "told")]
    Firm,
    /// Asked for or proposed, and nobody takes it.
    Open,
    Dropped,
}
