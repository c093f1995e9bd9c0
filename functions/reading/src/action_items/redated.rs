//! Corrected times: "tomorrow. Ah no, I'm away, Thursday", "when?" – "Say Friday".

use rustc_hash::FxHashSet;

use super::draft::{Here, due_of};
use super::item::ActionItem;
use super::tracker::Tracker;
use crate::commitments::clauses::Grammar;
use crate::languages::classes::Class;
use crate::languages::dates::Due as Time;
use crate::languages::meanings::Meaning;

/// Most sentences between a task and a sentence of its speaker that only tells a time.
const LATER_SENTENCES: usize = 4;

impl Tracker<'_> {
    /// Returns the items with corrected times. A sentence that only corrects a time is no item of its own.
    pub(super) fn redated(&self, items: Vec<(usize, ActionItem)>) -> Vec<ActionItem> {
        let mut used = FxHashSet::default();
        let corrected: Vec<(usize, ActionItem)> = items
            .into_iter()
            .map(|(index, mut item)| {
                if let Some((sentence, time)) = self.correction(index, &item)
                    && let Some(here) = self.here(sentence)
                {
                    let (due, day) = due_of(here, &time);
                    item.due = Some(due);
                    item.due_day = day;
                    used.insert(sentence);
                }
                (index, item)
            })
            .collect();
        corrected
            .into_iter()
            .filter(|(index, _)| !used.contains(index) || !self.only_dates(*index))
            .map(|one| one.1)
            .collect()
    }

    /// Returns the sentence and the time that replace the time of an item.
    fn correction(&self, index: usize, item: &ActionItem) -> Option<(usize, Time)> {
        let sentences = &self.text.sentences;
        let speaker = self.speaker_of(&sentences[index])?;
        let is_new = |time: &Time| time.day.is_some() && time.day != item.due_day;
        // The last sentence may be a farewell until a day.
        let last = sentences.len().saturating_sub(1).max(index + 1).min(index + LATER_SENTENCES + 1);
        let mut found = None;
        // An answer to another request has a time of its own.
        let asks = |at: usize| {
            let grammar = Grammar::of(&sentences[at], self.names);
            grammar.is_some_and(|grammar| !grammar.announcements().is_empty())
        };
        let is_own = |at: usize| self.speaker_of(&sentences[at]) == Some(speaker);
        let last = (index + 1..last).find(|at| !is_own(*at) && asks(*at)).unwrap_or(last);
        for at in (index..last).filter(|at| is_own(*at)) {
            let here = self.here(at)?;
            let times = here.phrases.calendar.all(&here.sentence.tokens, self.held);
            // "Ah no": a time behind it counts.
            let denied = if sentences[at].source == sentences[index].source { self.denied(here) } else { None };
            let denied = denied.filter(|denied| at > index || times.iter().any(|time| time.start < *denied));
            let is_meant = |time: &&Time| match denied {
                Some(denied) => time.start >= denied && is_new(time),
                None => at > index && self.only_dates(at) && is_new(time),
            };
            found = times.iter().find(is_meant).map(|time| (at, time.clone())).or(found);
        }
        found
    }

    /// Returns the end of a "no" of a sentence.
    fn denied(&self, here: Here<'_>) -> Option<usize> {
        let all = here.phrases.all(&here.sentence.tokens, |meaning| meaning == Meaning::No);
        all.first().map(|found| found.end)
    }

    /// Returns true if a sentence tells nothing but a time.
    pub(super) fn only_dates(&self, index: usize) -> bool {
        let Some(here) = self.here(index) else { return false };
        let tokens = &here.sentence.tokens;
        let times = here.phrases.calendar.all(tokens, self.held);
        let is_time = |at: usize| times.iter().any(|time| time.start <= at && at < time.end);
        let plain = [
            Class::Between,
            Class::Interjection,
            Class::Joint,
            Class::Contrary,
            Class::Empty,
            Class::Determiner,
            Class::Preposition,
            Class::Negation,
        ];
        let says = |at: usize| {
            let token = &tokens[at];
            let is_number =
                here.phrases.calendar.is_number(&token.lower) || here.phrases.calendar.is_word(&token.lower);
            let is_polite = ["oh", "thanks", "say/1", "say/4", "say/inf"].contains(&here.phrases.group(&token.lower));
            !is_time(at) && !is_number && !is_polite && !token.has_any(&plain)
        };
        !times.is_empty() && (0..tokens.len()).filter(|at| says(*at)).count() == 0 && !here.sentence.text.ends_with('?')
    }
}
