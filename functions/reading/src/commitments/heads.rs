//! What a sentence announces: whose task, where its phrase and its words stand.

use std::ops::Range;

use crate::people::Named;

/// A task as a sentence announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    pub by: AnnouncedBy,
    /// The token with which its phrase begins.
    pub start: usize,
    /// Where its phrase ends.
    pub end: usize,
    /// The tokens of the task.
    pub task: Range<usize>,
    /// The token of the verb that says what is to be done, where the grammar tells it.
    pub verb: Option<usize>,
    /// Whether others have to agree before it is one.
    pub is_offer: bool,
    /// Whether the sentence asks for it, or who takes it.
    pub is_asked: bool,
    /// Whether an offer counts unless somebody objects.
    pub can: bool,
    /// Whether it was to be done ("I was going to …"): what follows says whether it still is.
    pub is_intended: bool,
    /// Whether all are called to it at once ("let's").
    pub is_together: bool,
}

/// How a task is announced, which says whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnnouncedBy {
    /// "I'll …": the speaker's.
    Speaker,
    /// "Bob will …": that person's.
    Named(Named),
    /// "she'll …": theirs who were named last.
    LastNamed,
    /// "we need to …".
    Everybody,
    /// "somebody should …".
    Somebody,
    /// "Bob, can you …": theirs who are addressed, by name or not.
    Addressed(Option<Named>),
    /// "who takes …?"
    Anybody,
    /// "I'll do it": the speaker's, and the task is what was spoken of before.
    Claim,
    /// "action item: …": the task itself may say whose.
    Label,
}

/// A phrase with what it announces, before the task around it is known.
pub(super) struct Head {
    pub(super) by: AnnouncedBy,
    pub(super) start: usize,
    /// Where the task begins, unless its verb is part of the phrase.
    pub(super) end: usize,
    pub(super) has_verb: bool,
    pub(super) is_offer: bool,
    pub(super) is_asked: bool,
    pub(super) is_intended: bool,
    /// Whether only a verb that is known for tasks makes it one.
    pub(super) wants_known_verb: bool,
    /// Whether only a time beside it makes it one.
    pub(super) wants_time: bool,
    /// Whether only a day until which makes it one.
    pub(super) wants_deadline: bool,
    /// Whether it is offered so that it counts unless somebody objects.
    pub(super) can: bool,
    /// Whether it is often a step of the meeting itself.
    pub(super) is_together: bool,
    /// Whether somebody's words are told, in the third person.
    pub(super) is_told: bool,
    /// Whether it is said of a thing, which neither talks nor leaves.
    pub(super) is_need: bool,
}

impl Head {
    pub(super) fn new(by: AnnouncedBy, start: usize, end: usize, has_verb: bool) -> Head {
        Head {
            by,
            start,
            end,
            has_verb,
            is_offer: false,
            is_asked: false,
            is_intended: false,
            wants_known_verb: false,
            wants_time: false,
            wants_deadline: false,
            can: false,
            is_together: false,
            is_told: false,
            is_need: false,
        }
    }
}
