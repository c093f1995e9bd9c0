//! The classes of words.

use serde::Deserialize;
use strum::{IntoStaticStr, VariantArray};

/// A class of words. A word can be of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[repr(u32)]
pub enum Class {
    /// Adverbs, fillers and pronouns that may stand between the words of a phrase, and around a task.
    Between,
    /// Words by which a sentence denies what it says.
    Negation,
    /// Words that begin a condition.
    Condition,
    /// Words that begin one where a clause begins, and mean something else elsewhere ("se", "als").
    ConditionFirst,
    /// Verbs after which a word of the class `condition` only asks ("check if").
    Whether,
    /// Words that begin a clause of time ("before", "until"): what somebody does in it is no task.
    Temporal,
    /// Words that join two clauses.
    Joint,
    /// Words behind which the opposite follows ("but").
    Contrary,
    /// Words behind which a consequence follows ("then").
    Consequence,
    /// Words behind which somebody's wish or opinion follows ("that").
    Complement,
    /// Words that begin a clause that belongs to no task any more.
    Opener,
    Determiner,
    Preposition,
    /// Pronouns that can be a subject.
    Pronoun,
    /// Pronouns that stand for a thing that was spoken of, as what is done something with ("it").
    Object,
    /// Verbs behind which another verb stands ("can", "will").
    Modal,
    /// A third person's pronoun, which stands for the one who was named last.
    ThirdPronoun,
    /// Verbs by which somebody's words are told.
    Report,
    /// Words that put a sentence into the past.
    Past,
    /// Words that say nothing of what is to be done.
    Empty,
    /// Words that a sentence does not end with.
    Dangling,
    /// Nouns for people outside of the meeting.
    Role,
    /// What stands before a surname.
    Title,
    /// Words that are no topic, although they mean something.
    NoTopic,
    /// Words that say too little to be a topic alone ("team"), and can be part of one.
    Vague,
    /// Words that name no person, although a verb may follow them.
    NoName,
    /// Words that stand alone before a clause ("okay", "great").
    Interjection,
    Infinitive,
    /// "I send".
    Me,
    /// "She sends".
    Third,
    /// "Send!"
    Order,
    /// "You send".
    You,
    /// "We send".
    We,
    /// "I shall send", in one word.
    MeLater,
    ThirdLater,
    WeLater,
    /// "Sending".
    Going,
    /// "Printed".
    Done,
}

impl Class {
    /// True if it is a form of a verb.
    pub(super) fn is_verb(self) -> bool {
        bit(self) & Classes::ALL_VERBS != 0
    }
}

/// Classes of one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Classes(u64);

impl Classes {
    const ALL_VERBS: u64 = bit(Class::Infinitive)
        | bit(Class::Me)
        | bit(Class::Third)
        | bit(Class::Order)
        | bit(Class::You)
        | bit(Class::We)
        | bit(Class::MeLater)
        | bit(Class::ThirdLater)
        | bit(Class::WeLater)
        | bit(Class::Going)
        | bit(Class::Done);

    #[must_use]
    pub fn has(self, class: Class) -> bool {
        self.0 & bit(class) != 0
    }

    /// Whether the word is a form of a verb of the file.
    #[must_use]
    pub fn is_verb(self) -> bool {
        self.0 & Classes::ALL_VERBS != 0
    }

    /// Each of them, in order.
    pub fn iter(self) -> impl Iterator<Item = Class> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let first = Class::VARIANTS.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(*first)
        })
    }

    /// Returns the classes of both words together.
    #[must_use]
    pub fn and(self, other: Classes) -> Classes {
        Classes(self.0 | other.0)
    }

    pub(super) fn add(&mut self, class: Class) {
        self.0 |= bit(class);
    }

    pub(super) fn remove_verbs(&mut self) {
        self.0 &= !Classes::ALL_VERBS;
    }
}

const fn bit(class: Class) -> u64 {
    1 << class as u32
}
