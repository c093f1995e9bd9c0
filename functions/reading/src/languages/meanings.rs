//! The meanings of phrases and pronouns.

use serde::Deserialize;
use strum::IntoStaticStr;

/// The referent of a pronoun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pronoun {
    /// "I", "my".
    Speaker,
    /// "You".
    Addressed,
    /// "We".
    Everybody,
    /// "It", "that".
    Thing,
    /// "Somebody", "who".
    Somebody,
}

/// The meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// The speaker accepts the previous task.
    Claim,
    /// The speaker accepts the following task.
    Speaker,
    /// The speaker can do it: the speaker's task unless a person objects.
    SpeakerCan,
    /// The speaker offers it.
    SpeakerOffers,
    /// The speaker planned it; later words say if the plan is still valid.
    Intended,
    /// The speaker does the following: with a time it is a task.
    SpeakerSoon,
    /// A task of all.
    Everybody,
    /// All are asked to do it now, which is often a step of the meeting itself ("let's").
    Together,
    /// A proposal to all.
    EverybodyMaybe,
    /// A task whose owner is unknown yet.
    Somebody,
    /// Behind a name: a task of that person.
    Person,
    /// Behind a name: that person could do it.
    PersonOffers,
    /// Behind a name: that person planned it.
    PersonIntended,
    /// Behind a trade: its person comes, if there is a time.
    PersonComes,
    /// A request to the addressed person.
    Request,
    /// The same, if the sentence is a question.
    RequestInQuestion,
    /// Makes a request of a few words without a verb ("a second reminder, please").
    Please,
    /// A question for an owner.
    Volunteer,
    /// A task without an owner; the phrase is the verb of its sentence.
    Need,
    /// The same, if there is a deadline.
    NeedSoon,
    /// Behind a name: a state of that person, and no task.
    State,
    /// "Action item:".
    Label,
    /// "Open question:".
    QuestionLabel,
    Yes,
    No,
    Thanks,
    /// The speaker gives up a task.
    TakeBack,
    /// The previous statement does not count.
    NeverMind,
    /// The requested task is done.
    AlreadyDone,
    /// "By when?"
    When,
    Joke,
    /// A condition that is only polite.
    PoliteCondition,
    Habit,
    /// Behind the words of a commitment: it does not count.
    Talk,
    /// Behind the words of a commitment: it counts, although it looks like talk.
    TaskAnyway,
    /// Introductory words before a clause ("I think").
    LeadIn,
    /// Words that begin another clause.
    Clause,
    /// A hope, a doubt, a guess: no commitment follows.
    Hope,
    /// A decision is stated.
    Decided,
    /// The topic is closed, unless a person accepts a task with the same words ("okay, one week then").
    Concluded,
    /// The discussion is decided, if there was a proposal or a question ("so we take the bus").
    Resolved,
    /// The previous proposal is decided.
    Agreed,
    /// A general decision, which may also describe a habit ("from now on").
    Henceforth,
    /// A question tag ("right?").
    Tag,
    /// A request for agreement.
    Consent,
    Proposal,
    /// Its sentence states no decision.
    Undecided,
    Greeting,
}

impl Meaning {
    /// Returns true if it follows a name and describes that person's action.
    #[must_use]
    pub fn is_person(self) -> bool {
        matches!(self, Meaning::Person | Meaning::PersonOffers | Meaning::PersonIntended | Meaning::PersonComes)
    }

    /// Returns true if a task may follow.
    #[must_use]
    pub fn announces(self) -> bool {
        matches!(
            self,
            Meaning::Speaker
                | Meaning::SpeakerSoon
                | Meaning::SpeakerCan
                | Meaning::SpeakerOffers
                | Meaning::Intended
                | Meaning::Everybody
                | Meaning::Together
                | Meaning::EverybodyMaybe
                | Meaning::Somebody
                | Meaning::Request
                | Meaning::RequestInQuestion
                | Meaning::Volunteer
                | Meaning::Claim
                | Meaning::Need
                | Meaning::NeedSoon
        )
    }
}

/// A phrase that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub meaning: Meaning,
    /// Its tokens.
    pub start: usize,
    pub end: usize,
    /// True if it contains a form of a verb: the task is then its whole clause.
    pub has_verb: bool,
    /// True if the file has all its words, so that it contains nothing specific to a meeting.
    pub is_fixed: bool,
}
