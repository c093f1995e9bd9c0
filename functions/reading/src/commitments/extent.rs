//! The words of a task in a sentence.

use std::ops::Range;

use super::clauses::Grammar;
use super::heads::{AnnouncedBy, Head};
use crate::languages::classes::Class;
use crate::languages::token::{Break, Token};
use crate::text::tokens::is_determined;

impl Grammar<'_> {
    /// Returns the tokens of an announced task: the words behind its phrase, or the whole clause if the verb is part of
    /// the phrase or its object precedes.
    pub(super) fn task(&self, head: &Head, floor: usize, ceiling: usize) -> Range<usize> {
        let tokens = self.tokens();
        let start = self.clause_start(head.start, floor);
        let says = |token: &Token| {
            !(token.has(Class::Between)
                || token.has(Class::Interjection)
                || token.has(Class::Joint)
                || token.has(Class::Empty)
                || token.has(Class::Pronoun)
                || token.has(Class::Determiner)
                || token.has(Class::Preposition)
                || self.phrases.calendar.is_word(&token.lower))
        };
        let named = matches!(head.by, AnnouncedBy::Named(_) | AnnouncedBy::Addressed(Some(_)) | AnnouncedBy::LastNamed);
        let end = self.clause_end(head.end, ceiling);
        // "The report I'll send by Friday", "Le budget, je vais le revoir": the object precedes.
        let is_subject_first =
            tokens[head.start].has(Class::Pronoun) || (named && !tokens[head.start].classes.is_verb());
        let verb_says =
            |at: usize| is_determined(tokens, at, self.phrases) || (says(&tokens[at]) && !tokens[at].classes.is_verb());
        let is_bare = !(head.end.min(end)..end).any(verb_says);
        let mut start = start;
        if is_bare && start == head.start && start > floor && tokens[start].before == Break::Comma {
            let before = self.clause_start(start - 1, floor);
            let is_topic = self.is_noun_phrase(before..start) && self.has_noun(before..start);
            start = if is_topic { before } else { start };
        }
        let is_topic = is_bare && self.is_noun_phrase(start..head.start);
        let is_lead = self.phrases.sets_verbs_last() || self.is_noun_phrase(start..head.start);
        let can_lead = ((!is_subject_first && is_lead) || is_topic) && head.by != AnnouncedBy::Claim;
        // "…, das leitet dann Frau Lindemann": the pronoun refers to all words before.
        let stands_for_it = head.start > start
            && tokens[head.start - 1].has(Class::Object)
            && named
            && tokens[head.start].classes.is_verb()
            && !tokens[head.start].has(Class::Pronoun);
        let start = if stands_for_it { head.start - 1 } else { start };
        let ahead = can_lead && !head.is_told && tokens[start..head.start].iter().any(says);
        let start = if ahead && head.by != AnnouncedBy::Label {
            start
        } else if head.has_verb {
            match self.verb_within(head) {
                // "Ich schicke …" begins with its verb; "schicke ich …" is one with it.
                Some(verb) if named || verb + 1 >= head.end => verb,
                _ => head.start,
            }
        } else {
            head.end
        };
        self.trimmed(start..end.max(start))
    }

    /// Returns a task without conjunctions, fillers and addressed names around it.
    pub(super) fn trimmed(&self, task: Range<usize>) -> Range<usize> {
        let tokens = self.tokens();
        let (mut start, mut end) = (task.start, task.end);
        while start < end
            && (tokens[start].has(Class::Joint)
                || (tokens[start].has(Class::Between) && tokens[start].before == Break::Comma))
        {
            start += 1;
        }
        while end > start {
            let last = &tokens[end - 1];
            let is_filler = last.has(Class::Joint)
                || last.has(Class::Interjection)
                || (last.has(Class::Between) && !self.phrases.calendar.is_word(&last.lower));
            let called = (end.saturating_sub(3).max(start)..end).find(|at| {
                self.is_called(*at)
                    && self
                        .names
                        .participant_at(tokens, *at, &self.sentence.text)
                        .is_some_and(|(_, name_end)| name_end == end)
            });
            // "Can you print that Lena", in a transcript without punctuation.
            let is_object =
                last.has(Class::Object) && self.names.participant_at(tokens, end, &self.sentence.text).is_some();
            let is_cut = end < tokens.len() && last.has(Class::Dangling) && !is_object;
            let is_noun = last.has_capital && is_determined(tokens, end - 1, self.phrases);
            let is_word = is_noun || last.has(Class::Determiner) || last.has(Class::Infinitive);
            if let Some(called) = called {
                end = called;
            } else if is_cut || (is_filler && !is_word) {
                end -= 1;
            } else {
                break;
            }
        }
        start..end
    }
}
