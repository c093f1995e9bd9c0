//! What a sentence can tell, and what the rules find in it: how far these are to be trusted is learned.

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
    /// Whose what is announced in it is, and how.
    pub announced: Vec<String>,
    /// The tasks that begin or are settled in it.
    pub drafts: Vec<Drafted>,
}

/// A task that the rules find.
#[derive(Debug)]
pub struct Drafted {
    pub stage: Stage,
    /// Whose it is for who speaks.
    pub telling: Telling,
    pub fate: Fate,
    pub has_due: bool,
}

/// What of a task is said in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Stage {
    /// All of it.
    Whole,
    Begun,
    Settled,
}

/// What becomes of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Fate {
    Told,
    /// Asked for or proposed, and nobody takes it.
    Open,
    Dropped,
}
