//! The classes of words.

use serde::Deserialize;
use strum::{IntoStaticStr, VariantArray};

/// A class of words. A word can have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[repr(u32)]
pub enum Class {
    /// Adverbs, fillers and pronouns that may occur between the words of a phrase, and around a task.
    Between,
    /// Words of negation.
    Negation,
    /// Words that begin a condition.
    Condition,
    /// Words that begin a condition at the start of a clause, and have another meaning elsewhere ("se", "als").
    ConditionFirst,
    /// Verbs after which a word of the class `condition` begins a question ("check if").
    Whether,
    /// Words that begin a temporal clause ("before", "until"): actions in it are no tasks.
    Temporal,
    /// Words that join two clauses.
    Joint,
    /// Words before a contrast ("but").
    Contrary,
    /// Words before a consequence ("then").
    Consequence,
    /// Words before a wish or an opinion ("that").
    Complement,
    /// Words that begin a clause outside of a task.
    Opener,
    Determiner,
    Preposition,
    /// Pronouns that can be a subject.
    Pronoun,
    /// Pronouns for a thing as an object ("it").
    Object,
    /// Verbs before another verb ("can", "will").
    Modal,
    /// Pronouns of the third person, for the person named last.
    ThirdPronoun,
    /// Verbs of telling.
    Report,
    /// Words that mark the past.
    Past,
    /// Words without content for a task.
    Empty,
    /// Words that do not end a sentence.
    Dangling,
    /// Nouns for people outside of the meeting.
    Role,
    /// Words before a surname.
    Title,
    /// Content words that are no topic.
    NoTopic,
    /// Words that are too unspecific to be a topic alone ("team"), and can be part of one.
    Vague,
    /// Words that name no person, although a verb may follow them.
    NoName,
    /// Words alone before a clause ("okay", "great").
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

    #[must_use]
    pub fn has_any(self, classes: &[Class]) -> bool {
        classes.iter().any(|class| self.has(*class))
    }

    /// Returns true if the word is a form of a verb in the file.
    #[must_use]
    pub fn is_verb(self) -> bool {
        self.0 & Classes::ALL_VERBS != 0
    }

    /// Returns each of them, in order.
    pub fn iter(self) -> impl Iterator<Item = Class> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let first = Class::VARIANTS.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(*first)
        })
    }

    /// Returns the union of the classes.
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
