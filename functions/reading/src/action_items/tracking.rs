//! Tracks the tasks of a meeting, sentence by sentence. Only this file defines the order of the steps.

use chrono::DateTime;

use super::draft::{Draft, Here};
use super::item::ActionItem;
use super::tracker::{REPLY_TURNS, Tracker};
use crate::commitments::clauses::{Grammar, is_question};
use crate::commitments::heads::{AnnouncedBy, Announcement};
use crate::languages::dates::Due as Time;
use crate::languages::meanings::Meaning;
use crate::material::Material;
use crate::model::acts::{Act, Announced, Drafted, RuleMatches, Stage};
use crate::model::likelihood::Likelihood;
use crate::model::weights::Weights;
use crate::people::Names;
use crate::text::sentences::{Sentence, Source, Text};

/// Most words between "I won't be able to …" and its verb.
pub(super) const TAKE_BACK_WORDS: usize = 6;

/// The tasks of a meeting, tracked from its first sentence to its last.
pub struct Tracked<'a>(Tracker<'a>);

impl<'a> Tracked<'a> {
    /// Tracks all sentences; `decided` are the indices of the sentences that state a decision.
    #[must_use]
    pub fn of(text: &'a Text, material: &'a Material, names: &'a Names, decided: &[usize]) -> Tracked<'a> {
        let held = material.held_ms.and_then(DateTime::from_timestamp_millis).map(|time| time.date_naive());
        let mut matches: Vec<RuleMatches> = text.sentences.iter().map(|_| RuleMatches::default()).collect();
        decided.iter().for_each(|index| matches[*index].decides = true);
        let (drafts, pending, last_named) = (Vec::new(), None, None);
        let mut tracker = Tracker { text, material, names, held, matches, drafts, pending, last_named };
        for (index, sentence) in text.sentences.iter().enumerate() {
            tracker.track(index, sentence);
        }
        tracker.record_drafts();
        Tracked(tracker)
    }

    /// Returns the findings of the rules in each sentence.
    #[must_use]
    pub fn matches(&self) -> &[RuleMatches] {
        &self.0.matches
    }

    /// Returns the action items in order, without duplicates.
    #[must_use]
    pub fn items(&self, likelihoods: &[Option<Likelihood>], weights: &Weights<1>) -> Vec<ActionItem> {
        self.0.settled(likelihoods, weights)
    }
}

impl Tracker<'_> {
    pub(super) fn track(&mut self, index: usize, sentence: &Sentence) {
        match sentence.source {
            Source::DoneTask => {}
            Source::OpenTask => self.labelled(index, sentence, &sentence.text),
            Source::Notes | Source::Turn(_) => {
                if let Some(task) = self.marked(sentence) {
                    self.labelled(index, sentence, task);
                } else if let Some(here) = Self::place(self.text, index) {
                    self.said(here);
                }
            }
        }
    }

    /// Records where each draft began and last changed. A note changes no draft of the transcript.
    fn record_drafts(&mut self) {
        for draft in &self.drafts {
            let is_noted = !matches!(self.text.sentences[draft.settled].source, Source::Turn(_));
            let stages = if is_noted || draft.settled == draft.sentence {
                &[(Stage::Whole, draft.sentence)][..]
            } else {
                &[(Stage::Begun, draft.sentence), (Stage::Settled, draft.settled)]
            };
            for (stage, index) in stages {
                let (stage, act, has_due) = (*stage, self.whose_is(draft, *index), draft.item.due.is_some());
                self.matches[*index].drafts.push(Drafted { stage, act, fate: draft.fate(), has_due });
            }
        }
    }

    /// Returns the act of a draft for the speaker of a sentence.
    pub(super) fn whose_is(&self, draft: &Draft, index: usize) -> Act {
        match &draft.item.owner {
            None => Act::Unassigned,
            Some(owner) if owner.id.as_deref() == self.speaker_of(&self.text.sentences[index]) => Act::Own,
            Some(_) => Act::Others,
        }
    }

    pub(super) fn said(&mut self, here: Here<'_>) {
        let Here { sentence, phrases, .. } = here;
        let tokens = &sentence.tokens;
        let times = self.times(here);
        let first_new = self.drafts.len();
        let grammar = Grammar::of(sentence, self.names);
        let announcements = grammar.map_or_else(Vec::new, |grammar| grammar.announcements());
        let announced =
            |one: &Announcement| Announced { whose: whose(&one.by), is_offer: one.is_offer, is_asked: one.is_asked };
        self.matches[here.index].announced = announcements.iter().map(announced).collect();
        let announcements = self.joined(here, announcements);
        let first = |meaning| (0..tokens.len()).find(|at| phrases.at(tokens, *at, |one| one == meaning).is_some());
        let joke = |at: usize| phrases.at(tokens, at, |one| one == Meaning::Joke);
        let (mut taken_back, mut never_mind, mut joke) = (None, None, (0..tokens.len()).find_map(joke));
        if here.speaker.is_some() {
            // "Sure, I'll send the invitations tonight": the time belongs to the invitations.
            let until = announcements.first().map_or(tokens.len(), |first| first.start);
            let replied: Vec<Time> = times.iter().filter(|time| time.end <= until).cloned().collect();
            self.replied(here, &replied);
            if first(Meaning::AlreadyDone).is_some() {
                self.already_done(here);
            }
            never_mind = first(Meaning::NeverMind);
            taken_back = first(Meaning::TakeBack);
        }
        if never_mind.is_some() {
            self.never_mind(here);
        }
        let is_decision = first(Meaning::Decided).is_some();
        let mut read = 0;
        for (index, announcement) in announcements.iter().enumerate() {
            if never_mind.is_some_and(|at| announcement.start < at) {
                continue;
            }
            // In the order of speech: "I can't after all, Carlos takes it".
            if joke.take_if(|joke| joke.end <= announcement.start).is_some() {
                self.joked(here, first_new);
            }
            if let Some(at) = taken_back.take_if(|at| *at <= announcement.start) {
                self.taken_back(here, at, true);
                // A task that the speaker cannot do is not the speaker's.
                let is_own = matches!(announcement.by, AnnouncedBy::Speaker | AnnouncedBy::Claim);
                if is_own && announcement.start < at + TAKE_BACK_WORDS {
                    continue;
                }
            }
            self.note_names(here, read..announcement.start);
            read = announcement.start;
            // "Then we'll do it in the hall, that's decided" is no task.
            if announcement.by == AnnouncedBy::Everybody && is_decision {
                continue;
            }
            // A time belongs to the adjacent words.
            let before = index.checked_sub(1).map_or(0, |before| announcements[before].task.end);
            let behind =
                announcements.get(index + 1).map_or(tokens.len(), |next| next.start).max(announcement.task.end);
            let all = &times;
            let times: Vec<Time> =
                times.iter().filter(|time| time.start >= before && time.end <= behind).cloned().collect();
            let times = if times.is_empty() { self.shared(here, &announcements[index..], all) } else { times };
            self.announced(here, announcement, &times);
        }
        if announcements.is_empty() {
            self.added(here, &times);
        }
        if let Some(at) = taken_back {
            self.taken_back(here, at, !announcements.is_empty());
        }
        if joke.is_some() {
            self.joked(here, first_new);
        }
        // An accepted proposal is a decision and has no owner.
        let asks_consent = first(Meaning::Consent).is_some() && is_question(&sentence.text);
        if first(Meaning::Agreed).is_some() || is_decision || asks_consent {
            let agreed = |draft: &Draft| {
                draft.is_proposal
                    && draft.item.owner.is_none()
                    && draft.item.due.is_none()
                    && draft.turn.saturating_add(REPLY_TURNS) >= here.turn
                    && draft.sentence < here.index
            };
            if let Some(at) = self.last_draft(agreed) {
                self.drafts[at].is_dropped = true;
            }
        }
        // Agreement to a decision is no task.
        if asks_consent {
            self.pending = None;
        }
        self.note_names(here, read..tokens.len());
    }
}

fn whose(by: &AnnouncedBy) -> &'static str {
    match by {
        AnnouncedBy::Speaker => "own",
        AnnouncedBy::Named(_) => "named",
        AnnouncedBy::LastNamed => "last named",
        AnnouncedBy::Everybody => "everybody's",
        AnnouncedBy::Somebody => "somebody's",
        AnnouncedBy::Addressed(_) => "addressed",
        AnnouncedBy::Anybody => "anybody's",
        AnnouncedBy::Claim => "claim",
        AnnouncedBy::Label => "label",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Chunk, Person};
    use crate::model::acts::Fate;

    /// Returns the findings of the rules in each sentence of a talk: stage, owner, outcome.
    fn matches(lines: &[(&str, &str)]) -> Vec<Vec<(Stage, Act, Fate)>> {
        let person = |name: &str| Person { id: name.to_lowercase(), name: name.to_owned(), interests: Vec::new() };
        let chunks = Chunk::of_talk(lines, Some("en"));
        let material = Material { chunks, people: vec![person("Ada"), person("Bob")], ..Material::default() };
        let (text, names) = (Text::of(&material), Names::of(&material.people));
        let read = Tracked::of(&text, &material, &names, &[]);
        let told = |matches: &RuleMatches| matches.drafts.iter().map(|one| (one.stage, one.act, one.fate)).collect();
        read.matches().iter().map(told).collect()
    }

    #[test]
    fn a_promise_is_a_hint_where_it_is_made() {
        let found = matches(&[("Ada", "I'll send the contract by Friday."), ("Bob", "My train was late.")]);
        assert_eq!(found, [vec![(Stage::Whole, Act::Own, Fate::Firm)], vec![]]);
    }

    #[test]
    fn a_request_that_is_accepted_is_a_hint_in_both_sentences() {
        let found = matches(&[("Ada", "Could you draft the release notes?"), ("Bob", "Sure, by Friday.")]);
        let (asked, accepted) = ((Stage::Begun, Act::Others, Fate::Firm), (Stage::Settled, Act::Own, Fate::Firm));
        assert_eq!(found, [vec![asked], vec![accepted]]);
    }

    #[test]
    fn retracted_joke_is_dropped() {
        let found = matches(&[("Ada", "I'll send the contract by Friday."), ("Ada", "Just kidding.")]);
        assert_eq!(found[0][0].2, Fate::Dropped, "{found:?}");
    }

    /// Returns owners and tasks that are found in a sentence of Ada's, and in a line of the notes.
    fn found(said: &str, noted: &str) -> Vec<(Option<String>, String)> {
        let chunks = Chunk::of_talk(&[("Bob", "The engine was discussed at length today."), ("Ada", said)], Some("en"));
        let person = |name: &str| Person { id: name.to_lowercase(), name: name.to_owned(), interests: Vec::new() };
        let people = vec![person("Ada"), person("Bob")];
        let material = Material { chunks, people, notes: noted.to_owned(), ..Material::default() };
        let items = crate::findings::Findings::of(&material, 3).items;
        items.into_iter().map(|item| (item.owner.map(|owner| owner.name), item.task)).collect()
    }

    #[test]
    fn label_marks_a_task_as_it_is_written() {
        let unowned = |task: &str| vec![(None, task.to_owned())];
        for said in [
            "todo: call the vendor",
            "TODO: call the vendor.",
            "Action item: call the vendor",
            "To do - call the vendor",
        ] {
            assert_eq!(found(said, ""), unowned("call the vendor"), "{said}");
            assert_eq!(found("That is all.", said), unowned("call the vendor"), "{said} in the notes");
        }
        for said in
            ["Todo Bob: call the vendor", "Todo for Bob: call the vendor", "Action item: Bob to call the vendor"]
        {
            assert_eq!(found(said, ""), [(Some("Bob".to_owned()), "call the vendor".to_owned())], "{said}");
        }
        assert_eq!(
            found("Action: I'll call the vendor.", ""),
            [(Some("Ada".to_owned()), "call the vendor".to_owned())]
        );
    }

    #[test]
    fn state_of_a_person_is_no_task() {
        for said in ["Bob leads the marketing team.", "Carl likes cats.", "Marketing owns the launch."] {
            assert_eq!(found(said, ""), [], "{said}");
        }
        assert_eq!(found("Bob books the room.", ""), [(Some("Bob".to_owned()), "book the room".to_owned())]);
    }
}
