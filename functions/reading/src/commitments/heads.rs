//! Announcements in a sentence: the owner of the task, and the positions of its phrase and words.

use std::ops::Range;

use crate::people::Named;

/// A task announced in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    pub by: AnnouncedBy,
    /// First token of its phrase.
    pub start: usize,
    /// End of its phrase.
    pub end: usize,
    /// The tokens of the task.
    pub task: Range<usize>,
    /// Token of the main verb, if the grammar determines it.
    pub verb: Option<usize>,
    /// True if others must agree.
    pub is_offer: bool,
    /// True if the sentence requests it, or asks for an owner.
    pub is_asked: bool,
    /// True if the offer counts unless a person objects.
    pub can: bool,
    /// True for a former plan ("I was going to …"); later words say if it is still valid.
    pub is_intended: bool,
    /// True if all are asked to do it now ("let's").
    pub is_together: bool,
}

/// The form of the announcement, which determines the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnnouncedBy {
    /// "I'll …": the speaker's.
    Speaker,
    /// "Bob will …": that person's.
    Named(Named),
    /// "she'll …": the person named last.
    LastNamed,
    /// "we need to …".
    Everybody,
    /// "somebody should …".
    Somebody,
    /// "Bob, can you …": the addressed person, by name or not.
    Addressed(Option<Named>),
    /// "who takes …?"
    Anybody,
    /// "I'll do it": the speaker, for an earlier task.
    Claim,
    /// "action item: …": the task itself may name the owner.
    Label,
}

/// A phrase with its announcement, before the task around it is known.
pub(super) struct Head {
    pub(super) by: AnnouncedBy,
    pub(super) start: usize,
    /// Start of the task, unless its verb is part of the phrase.
    pub(super) end: usize,
    pub(super) has_verb: bool,
    pub(super) is_offer: bool,
    pub(super) is_asked: bool,
    pub(super) is_intended: bool,
    /// True if only a known verb of tasks makes it a task.
    pub(super) wants_known_verb: bool,
    /// True if only a time makes it a task.
    pub(super) wants_time: bool,
    /// True if only a deadline makes it a task.
    pub(super) wants_deadline: bool,
    /// True if the offer counts unless a person objects.
    pub(super) can: bool,
    /// True if it is often a step of the meeting itself.
    pub(super) is_together: bool,
    /// True for reported speech in the third person.
    pub(super) is_told: bool,
    /// True if the subject is a thing.
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
