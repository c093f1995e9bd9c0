//! Times that several tasks share, or that follow later.

use std::ops::Range;

use super::draft::{Draft, Here, due_of};
use super::tracker::{REPLY_TURNS, Tracker};
use crate::commitments::heads::{AnnouncedBy, Announcement};
use crate::languages::classes::Class;
use crate::languages::dates::Due as Time;
use crate::languages::meanings::Meaning;

/// Most words of a sentence that adds a date to the previous statement.
pub(super) const DATED_WORDS_MAX: usize = 10;

/// Most words between a verb of telling and its time.
pub(super) const TOLD_WORDS: usize = 2;

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

    /// Returns the times of a sentence that can be those of a task. In English, without a time of telling ("she told me
    /// this morning"), a period ("the third to the fifth") and a denied time ("not before Monday").
    pub(super) fn times(&self, here: Here<'_>) -> Vec<Time> {
        let tokens = &here.sentence.tokens;
        let all = here.phrases.calendar.all(tokens, self.held);
        if here.phrases.code != "en" {
            return all;
        }
        let is_past = |at: usize| {
            let is_subject = at > 0 && tokens[at - 1].is_plain_pronoun();
            is_subject && here.phrases.sense(&tokens[at].lower).is_some_and(|sense| sense.group.ends_with("/past"))
        };
        let is_said = |at: usize| tokens[at].has(Class::Report) || is_past(at);
        let is_of_telling = |time: &Time| {
            let from = time.start.saturating_sub(TOLD_WORDS);
            !time.is_deadline && (from..time.start).any(is_said) && !tokens[time.start].is_after_break()
        };
        let joins = |one: &Time, next: &Time| {
            next.start <= one.end + 1 && (one.end..=next.start).any(|at| tokens[at].lower == "to")
        };
        let ends = |time: &Time| {
            time.start >= 2
                && tokens[time.start - 1].lower == "to"
                && here.phrases.calendar.is_word(&tokens[time.start - 2].lower)
        };
        let is_of_period = |time: &Time| ends(time) || all.iter().any(|other| joins(time, other) || joins(other, time));
        // "Saturday's pick up".
        let is_owner = |time: &Time| tokens.get(time.end).is_some_and(|next| next.lower == "'s");
        let is_denied =
            |time: &Time| (time.start.saturating_sub(1)..time.start).any(|at| tokens[at].has(Class::Negation));
        // "The night before".
        let is_vague = |time: &Time| {
            time.day.is_none()
                && time.end == time.start + 2
                && tokens[time.start].lower == "the"
                && !here.phrases.calendar.is_number(&tokens[time.start + 1].lower)
                && ["morning", "afternoon", "evening", "night"].contains(&tokens[time.start + 1].lower.as_str())
        };
        let is_meant = |time: &&Time| {
            !is_vague(time) && !is_of_telling(time) && !is_of_period(time) && !is_denied(time) && !is_owner(time)
        };
        all.iter().filter(is_meant).cloned().collect()
    }

    /// "By the tenth. Bob, could you count them?": returns the time before a request, said alone.
    pub(super) fn time_before(&self, here: Here<'_>) -> Option<(String, Option<chrono::NaiveDate>)> {
        let before = self.here(here.index.checked_sub(1)?)?;
        let is_near = before.sentence.source == here.sentence.source;
        let time = self.times(before).into_iter().next().filter(|time| is_near && time.is_deadline)?;
        self.only_dates(before.index).then(|| due_of(before, &time))
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
            // "When do you need it?" – "On Monday.": the task of the person who asks, or of an absent one.
            let is_others = |draft: &Draft| draft.item.owner.is_some() && draft.item.due.is_none();
            self.dated(here, time, |draft| is_others(draft) && draft.turn.saturating_add(REPLY_TURNS) >= here.turn);
        }
        // "By Friday, please": the person who asks, or who agrees, says nothing else.
        if let Some(time) = times.first().filter(|_| self.only_dates(here.index)) {
            self.dated(here, time, |draft| draft.item.owner.is_some() && draft.turn.saturating_add(1) >= here.turn);
        }
        // "Could you write it? Let's say by the tenth.": the person who asks adds a date.
        if let Some(time) = times.iter().find(|time| time.is_deadline) {
            self.dated(here, time, |draft| draft.is_asked && draft.turn == here.turn);
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
