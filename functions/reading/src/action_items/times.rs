//! Times that several tasks share, or that follow later.

use std::ops::Range;

use super::draft::{Draft, Here};
use super::tracker::Tracker;
use crate::commitments::heads::{AnnouncedBy, Announcement};
use crate::languages::classes::Class;
use crate::languages::dates::Due as Time;
use crate::languages::meanings::Meaning;

/// Most words of a sentence that adds a date to the previous statement.
pub(super) const DATED_WORDS_MAX: usize = 10;

/// Most words of a question for a date, and of its answer.
pub(super) const ANSWER_WORDS_MAX: usize = 8;

impl Tracker<'_> {
    /// Returns the time of the speaker's next task, if it is joined to this one: "I change the sign and post it
    /// tomorrow".
    pub(super) fn shared(&self, here: Here<'_>, announcements: &[Announcement], times: &[Time]) -> Vec<Time> {
        let [this, next, ..] = announcements else { return Vec::new() };
        let between = this.task.end.min(next.start)..next.start;
        let is_joined = here.sentence.tokens[between].iter().any(|token| token.has(Class::Joint));
        let is_same = this.by == AnnouncedBy::Speaker && next.by == this.by && this.is_offer == next.is_offer;
        if !is_same || !is_joined || next.start > this.task.end + 2 {
            return Vec::new();
        }
        times.iter().filter(|time| time.start >= next.start && time.end <= next.task.end).cloned().collect()
    }

    /// "I'll write it. You'll have it by Friday." – "When?" – "Tomorrow.": handles a later date.
    pub(super) fn added(&mut self, here: Here<'_>, times: &[Time]) {
        let owner = self.owner_of_speaker(here);
        let is_own = |draft: &Draft| draft.item.owner.is_some() && draft.item.owner == owner;
        if let Some(time) = times.iter().find(|time| time.is_deadline) {
            // "The text will be ready by Wednesday" may follow the others' agreement.
            let turns = if here.sentence.tokens.len() <= DATED_WORDS_MAX { 2 } else { 0 };
            self.dated(here, time, |draft| is_own(draft) && draft.turn.saturating_add(turns) >= here.turn);
        }
        let is_short = here.sentence.tokens.len() <= ANSWER_WORDS_MAX;
        if let Some(time) = times.first().filter(|_| is_short && here.opens_turn && self.is_asked_when(here)) {
            self.dated(here, time, |draft| is_own(draft) && draft.turn.saturating_add(2) >= here.turn);
        }
    }

    /// Returns true if the previous sentence asks for a date.
    pub(super) fn is_asked_when(&self, here: Here<'_>) -> bool {
        let before = here.index.checked_sub(1).map(|before| &self.text.sentences[before]);
        before.is_some_and(|before| {
            before.tokens.len() <= ANSWER_WORDS_MAX
                && before.language.phrases().is_some_and(|phrases| phrases.has(&before.tokens, Meaning::When))
        })
    }

    /// "I'll call him tomorrow and ask for an offer": a task without its own time belongs to the speaker's previous
    /// one.
    pub(super) fn joined(&self, here: Here<'_>, announcements: Vec<Announcement>) -> Vec<Announcement> {
        let tokens = &here.sentence.tokens;
        let has_time = |words: Range<usize>| !here.phrases.calendar.all(&tokens[words], None).is_empty();
        // "I'll collect them and hand them out": the second task has the object of the first.
        let goes_on = |task: Range<usize>| {
            let from = task.start.saturating_sub(1);
            (from..task.end).any(|at| self.stands_for_it(here, at)) || self.terms(here, task, &[]).is_empty()
        };
        let mut joined: Vec<Announcement> = Vec::new();
        for announcement in announcements {
            let belongs = |last: &&mut Announcement| {
                last.by == AnnouncedBy::Speaker
                    && announcement.by == AnnouncedBy::Speaker
                    && last.is_offer == announcement.is_offer
                    && announcement.start > last.task.start
                    && announcement.start <= last.task.end + 2
                    && tokens[last.task.end..announcement.start].iter().any(|token| token.has(Class::Joint))
                    && (self.terms(here, last.task.clone(), &[]).is_empty() || goes_on(announcement.task.clone()))
                    && !(has_time(last.start..last.task.end) && has_time(announcement.start..announcement.task.end))
                    && !tokens[announcement.start].has(Class::Pronoun)
            };
            match joined.last_mut().filter(belongs) {
                Some(last) => last.task.end = announcement.task.end,
                None => joined.push(announcement),
            }
        }
        joined
    }
}
