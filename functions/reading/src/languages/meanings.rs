//! The meanings of phrases and pronouns.

use serde::Deserialize;
use strum::IntoStaticStr;

/// Whom or what a pronoun stands for.
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

/// What a phrase means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// The speaker takes on what was spoken of just before.
    Claim,
    /// The speaker takes on what follows.
    Speaker,
    /// The speaker says that they can do it: it is theirs unless somebody objects.
    SpeakerCan,
    /// The speaker offers it.
    SpeakerOffers,
    /// The speaker was to do it: what follows says whether that is still so.
    Intended,
    /// The speaker does what follows: if a time stands beside it, it is still to be done.
    SpeakerSoon,
    /// It is everybody's.
    Everybody,
    /// Everybody is called to it at once, which is often a step of the meeting itself ("let's").
    Together,
    /// It is proposed for everybody.
    EverybodyMaybe,
    /// It is somebody's, who is still to be found.
    Somebody,
    /// Behind a name: that person's.
    Person,
    /// Behind a name: that person could do it.
    PersonOffers,
    /// Behind a name: that person was to do it.
    PersonIntended,
    /// Behind somebody's trade: they come, if a time stands beside it.
    PersonComes,
    /// The one addressed is asked for it.
    Request,
    /// The same, if the sentence is a question.
    RequestInQuestion,
    /// What makes a request of a few words without a verb ("a second reminder, please").
    Please,
    /// Somebody is asked for who takes it.
    Volunteer,
    /// Something is to be done, by nobody in particular; the phrase is the verb of its sentence.
    Need,
    /// The same, if a day until which stands beside it.
    NeedSoon,
    /// "Action item:".
    Label,
    /// "Open question:".
    QuestionLabel,
    Yes,
    No,
    Thanks,
    /// What was taken on is not done by the speaker after all.
    TakeBack,
    /// What was said last does not count.
    NeverMind,
    /// What is asked for is done already.
    AlreadyDone,
    /// "By when?"
    When,
    Joke,
    /// A condition that is only polite.
    PoliteCondition,
    Habit,
    /// Behind the words of a commitment: it is none.
    Talk,
    /// Behind the words of a commitment: it is one, although it looks like talk.
    TaskAnyway,
    /// Words before a clause that do not belong to it ("I think").
    LeadIn,
    /// Words with which another clause begins.
    Clause,
    /// A hope, a doubt, a guess: what follows is no commitment.
    Hope,
    /// A decision is told.
    Decided,
    /// What was talked about is closed, unless somebody takes something on with the same words ("okay, one week then").
    Concluded,
    /// What was discussed is decided, if a proposal or a question stands before it ("so we take the bus").
    Resolved,
    /// What was proposed just before is decided.
    Agreed,
    /// A decision for all times to come, which may tell what is always done ("from now on").
    Henceforth,
    /// What makes a statement a question at its end ("right?").
    Tag,
    /// The others are asked whether they agree to what was said just before.
    Consent,
    Proposal,
    /// A sentence with it tells no decision.
    Undecided,
    Greeting,
}

impl Meaning {
    /// Whether it says behind a name what that person does.
    #[must_use]
    pub fn is_person(self) -> bool {
        matches!(self, Meaning::Person | Meaning::PersonOffers | Meaning::PersonIntended | Meaning::PersonComes)
    }

    /// Whether a task may follow.
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
    /// The tokens that it covers.
    pub start: usize,
    pub end: usize,
    /// Whether a form of a verb is part of it: the task is then its whole clause.
    pub has_verb: bool,
    /// Whether all its words stand in the file, so that it says nothing of a meeting's matter.
    pub is_fixed: bool,
}
