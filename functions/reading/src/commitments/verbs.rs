//! The main verb of a task, and the verb of a subject.

use std::ops::Range;

use super::clauses::Grammar;
use super::heads::{AnnouncedBy, Head};
use crate::languages::classes::Class;
use crate::languages::meanings::Meaning;
use crate::languages::token::Token;
use crate::people::Named;
use crate::text::tokens::is_determined;

/// Most words between a name and its verb ("Paul from support will").
pub(super) const APPOSITION_MAX: usize = 4;

impl Grammar<'_> {
    /// Returns the position of the main verb.
    pub(super) fn verb(&self, head: &Head) -> usize {
        let tokens = self.tokens();
        if head.has_verb {
            return self.verb_within(head).unwrap_or(head.start);
        }
        let mut at = head.end;
        while tokens.get(at).is_some_and(|token| token.has(Class::Between) && !token.classes.is_verb()) {
            at += 1;
        }
        at
    }

    /// Returns the position of a task's verb if its phrase has none: directly behind it, or at the end.
    pub(super) fn verb_place(&self, head: &Head, task: &Range<usize>) -> Option<usize> {
        let first = self.verb(head);
        let place = if self.phrases.sets_verbs_last() { task.end.checked_sub(1)? } else { first };
        let token = self.tokens().get(place)?;
        let is_small = !(self.phrases.capital_nouns && token.has_capital);
        (!head.has_verb && task.contains(&place) && is_small && !is_determined(self.tokens(), place, self.phrases))
            .then_some(place)
    }

    /// Returns the verb in a phrase: one of the file, or a word of no class at its position.
    pub(super) fn verb_within(&self, head: &Head) -> Option<usize> {
        let tokens = self.tokens();
        let known = |at: &usize| tokens[*at].classes.is_verb() && !tokens[*at].has(Class::Pronoun);
        let unknown = |at: &usize| head.wants_time && tokens[*at].is_unlisted();
        // "Valérie de la paie prépare": attributes precede the verb of a name.
        let is_named = matches!(head.by, AnnouncedBy::Named(_)) && !tokens[head.start].classes.is_verb();
        let found = if is_named { (head.start..head.end).rfind(known) } else { (head.start..head.end).find(known) };
        found.or_else(|| (head.start..head.end).find(unknown))
    }

    pub(super) fn has_known_verb(&self, head: &Head, task: &Range<usize>) -> bool {
        let tokens = self.tokens();
        let verb = self.verb(head);
        if head.has_verb {
            // "Das übernimmt Peter": the object was named before.
            let around = head.start.saturating_sub(2)..task.end.max(head.end);
            if tokens[verb].has(Class::Empty) && tokens[around].iter().any(|token| token.has(Class::Object)) {
                return true;
            }
            let is_later = tokens[head.start..head.end].iter().any(|token| token.has(Class::ThirdLater));
            // "Der Kunde ruft uns an" describes a state; with a time it describes the future.
            let is_soon = self.has_time(task.clone());
            return is_later
                || is_soon
                || matches!(head.by, AnnouncedBy::Named(Named::Other(_)) if tokens[head.start].has_capital && !self.phrases.capital_nouns);
        }
        let stands = |token: &Token| token.has(Class::Infinitive) || self.phrases.can_be_infinitive(&token.lower);
        // German and Dutch have the verb at the end of the clause.
        tokens.get(verb).is_some_and(stands)
            || (self.phrases.sets_verbs_last()
                && tokens[task.clone()].iter().skip(1).any(|token| !token.has_capital && token.has(Class::Infinitive)))
    }

    /// Returns the verb of a subject that ends at a token, with only fillers in between.
    pub(super) fn verb_at(&self, at: usize) -> Option<usize> {
        let tokens = self.tokens();
        let is_between = |token: &Token| token.has(Class::Between) && !token.has(Class::Third);
        let at = at + tokens.iter().skip(at).take_while(|token| is_between(token)).count();
        let token = tokens.get(at).filter(|token| !token.is_after_break())?;
        let is_verb = token.has(Class::Third)
            || token.has(Class::ThirdLater)
            || self.phrases.at(tokens, at, Meaning::is_person).is_some();
        is_verb.then_some(at)
    }

    /// Returns true for a verb in the third person, also one of which only the meaning is known.
    pub(super) fn is_finite(&self, token: &Token) -> bool {
        let is_known = |token: &Token| match self.phrases.group(&token.lower) {
            // In a language with capitalized nouns, few other small words have this ending.
            "" => self.phrases.capital_nouns && token.lower.ends_with('t') && token.lower.len() > 3,
            group => group.ends_with("/3"),
        };
        let is_unlisted = token.is_unlisted() && !token.has_capital;
        token.has(Class::Third) || token.has(Class::ThirdLater) || (is_unlisted && is_known(token))
    }

    /// Returns the possible positions of a name's verb: behind it, or behind its attributes ("Paul from support").
    pub(super) fn verb_behind(&self, at: usize) -> Option<usize> {
        let tokens = self.tokens();
        let skip = |from: usize| {
            let is_between = |token: &Token| token.has(Class::Between) && !token.has(Class::Third);
            from + tokens.iter().skip(from).take_while(|token| is_between(token)).count()
        };
        let is_verb = |at: usize| {
            tokens.get(at).is_some_and(|token| self.is_finite(token))
                || self.phrases.at(tokens, at, Meaning::is_person).is_some()
        };
        let at = skip(at);
        if is_verb(at) {
            return Some(at);
        }
        if !tokens.get(at)?.has(Class::Preposition) || tokens[at].is_after_break() {
            return None;
        }
        // A pronoun begins a new clause, and so does an article without a preposition.
        let is_own = |at: usize| {
            let (token, before) = (&tokens[at], &tokens[at - 1]);
            (token.is_plain_pronoun())
                || (token.has(Class::Determiner)
                    && !token.has(Class::Preposition)
                    && !before.has(Class::Preposition)
                    && !before.has(Class::Determiner))
        };
        let end = (at + 1..tokens.len()).find(|at| is_own(*at)).unwrap_or(tokens.len());
        // "Valérie de la paie": a noun that looks like a verb.
        let is_noun = |at: usize| tokens[at - 1].has(Class::Determiner) && tokens[at - 2].has(Class::Preposition);
        (at + 2..=at + APPOSITION_MAX).map(skip).find(|behind| *behind < end && !is_noun(*behind) && is_verb(*behind))
    }
}
