//! The things and people for which the pronouns of a task stand.

use std::ops::Range;

use super::item::Owner;
use super::owners::{NAME, is_attribute, is_subject_behind};
use super::tracker::Tracker;
use super::words::Clause;
use crate::languages::classes::Class;
use crate::languages::meanings::Pronoun;
use crate::languages::phrases::Phrases;
use crate::languages::token::{Break, Token};
use crate::model::referents::NounPhrase;
use crate::people::Named;
use crate::text::noun_phrases::{noun_phrases, stands_for_noun};

/// Number of earlier sentences that may introduce the noun of "a new one".
const ONE_SENTENCES: usize = 5;
/// Number of earlier sentences that are searched for the person of a pronoun.
const PERSON_SENTENCES: usize = 4;
/// The same for a person without a name.
const MENTIONED_SENTENCES: usize = 8;

impl Tracker<'_> {
    /// Orders the possible objects of an English task by its pronouns.
    pub(super) fn prefer_meant(&self, index: usize, own: &Clause, likely: &mut Vec<(NounPhrase, f64)>) {
        // "A new one": rather a thing that was introduced as one of several.
        let sentence = &self.text.sentences[own.sentence];
        let stands = |at| sentence.language.phrases().is_some_and(|phrases| stands_for_noun(sentence, phrases, at));
        let is_one = own.words.clone().any(stands) && !own.words.clone().any(|at| self.is_definite(index, at));
        if is_one {
            likely.sort_by_key(|(place, _)| !(self.is_indefinite(place) && place.sentence + ONE_SENTENCES >= index));
        }
        // "Run it" needs a thing.
        if own.words.clone().any(|at| sentence.tokens[at].lower == "it") {
            likely.retain(|(place, _)| !self.is_relative(place));
        }
    }

    /// "A banner".
    fn is_indefinite(&self, place: &NounPhrase) -> bool {
        let first = &self.text.sentences[place.sentence].tokens[place.words.start];
        first.lower == "a" || first.lower == "an"
    }

    /// "The old one", "that one".
    fn is_definite(&self, index: usize, at: usize) -> bool {
        matches!(self.text.sentences[index].tokens[at].lower.as_str(), "the" | "that" | "this" | "those" | "these")
    }

    /// Returns true if a pronoun behind a preposition ends the words ("talk to the company about that").
    pub(super) fn stands_last(&self, clause: &Clause) -> bool {
        let Some(here) = self.here(clause.sentence) else { return false };
        let Some(last) = clause.words.clone().last().filter(|last| *last > clause.words.start) else { return false };
        here.sentence.tokens[last - 1].has(Class::Preposition) && self.stands_for_it(here, last)
    }

    /// "Call her": returns the name of the absent person who was named last, if a pronoun stands for a person.
    pub(super) fn person(&self, clause: &Clause, owner: Option<&Owner>) -> Option<String> {
        self.person_pronouns(clause).first()?;
        let from = clause.sentence.saturating_sub(PERSON_SENTENCES);
        (from..=clause.sentence).rev().find_map(|index| {
            let end = if index == clause.sentence { clause.words.start } else { usize::MAX };
            self.absent_in(index, end, owner)
        })
    }

    /// "Her daughter", "the student nurses": returns the person who was mentioned last before a clause, and the sentence.
    pub(super) fn mentioned(&self, clause: &Clause, owner: Option<&Owner>) -> Option<(String, usize)> {
        let from = clause.sentence.saturating_sub(MENTIONED_SENTENCES);
        (from..=clause.sentence).rev().find_map(|index| {
            let here = self.here(index)?;
            let end = if index == clause.sentence { clause.words.start } else { usize::MAX };
            let is_link = |at: &usize| here.sentence.tokens[*at].has(Class::Preposition);
            let head = |words: Range<usize>| words.start..words.clone().skip(1).find(is_link).unwrap_or(words.end);
            let nouns = noun_phrases(here.sentence).into_iter().filter(|words| words.end <= end);
            let places = nouns.map(|words| NounPhrase { sentence: index, words: head(words) });
            let is_meant =
                |place: &NounPhrase| self.is_person(here, place) && !self.is_owner(index, &place.words, owner);
            let person = places.filter(is_meant).find_map(|place| self.noun(&place));
            let person = person.or_else(|| self.absent_in(index, end, owner))?;
            Some((person, index))
        })
    }

    /// Returns the last name of an absent person in a sentence before a token.
    fn absent_in(&self, index: usize, end: usize, owner: Option<&Owner>) -> Option<String> {
        let here = self.here(index)?;
        let tokens = &here.sentence.tokens;
        (0..tokens.len().min(end)).rev().find_map(|at| {
            let sense = here.phrases.sense(&tokens[at].lower);
            let is_known = sense.is_some_and(|sense| sense.group == NAME);
            let is_person = tokens[at].has(Class::Title) || sense.is_none_or(|_| is_known);
            // "What about Danny?": behind a preposition, only a known name is a person.
            let alone = || {
                let name = Named::Other(here.sentence.text[tokens[at].place.clone()].to_owned());
                (tokens[at].has_capital && is_known).then_some((name, at + 1))
            };
            let is_role = tokens[at].has(Class::Role) && !is_attribute(here, at) && at > 0;
            if is_role && matches!(tokens[at - 1].lower.as_str(), "the" | "a" | "an" | "our") {
                return Some(format!("the {}", &here.sentence.text[tokens[at].place.clone()]));
            }
            let (named, end) = self.names.at(tokens, at, &here.sentence.text, here.phrases).or_else(alone)?;
            let Named::Other(name) = named else { return None };
            let is_owner = owner.is_some_and(|owner| owner.name == name);
            let is_whole = !tokens.get(end).is_some_and(|next| next.before == Break::None && next.has_capital);
            let is_sure = at > 0 || is_known || is_subject_behind(here, at, end);
            (is_person && is_sure && is_whole && !is_owner && name.chars().any(char::is_lowercase)).then_some(name)
        })
    }

    /// Returns the pronouns of some words that stand for people: "call her", "let them know". In English only.
    pub(super) fn person_pronouns(&self, clause: &Clause) -> Vec<usize> {
        let sentence = &self.text.sentences[clause.sentence];
        let Some(here) = self.here(clause.sentence) else { return Vec::new() };
        let nouns = noun_phrases(sentence);
        let is_person = |at: &usize| {
            let token = &sentence.tokens[*at];
            let verb = at.checked_sub(1).map(|before| sentence.tokens[before].lower.as_str()).unwrap_or_default();
            let group = here.phrases.sense(verb).map_or("", |sense| sense.group);
            let talks = verb == "let" || verb == "give" || group.starts_with("contact/") || group.starts_with("say/");
            // "Send them a mail."
            let receives = group.starts_with("give/") && nouns.iter().any(|place| place.start == at + 1);
            let is_them = token.lower == "them" && (talks || receives);
            // "Her two references", "her first day".
            let is_possessive = nouns.iter().any(|place| place.contains(at))
                || sentence.tokens.get(at + 1).is_some_and(|next| here.phrases.group(&next.lower) == "ordinal");
            let is_single = matches!(token.lower.as_str(), "him" | "her");
            is_them || (is_single && !is_possessive && self.stands_for_it(here, *at))
        };
        clause.words.clone().filter(is_person).collect()
    }

    /// Returns true if a noun phrase names a person.
    pub(super) fn is_somebody(&self, place: &NounPhrase) -> bool {
        let last = place.words.end - 1;
        let is_named = self.text.sentences[place.sentence].tokens[last].has_capital && last > 0;
        is_named || self.here(place.sentence).is_some_and(|there| self.is_person(there, place))
    }

    /// "Your flatmate".
    pub(super) fn is_relative(&self, place: &NounPhrase) -> bool {
        let sentence = &self.text.sentences[place.sentence];
        let tokens = &sentence.tokens[place.words.clone()];
        let is_own = sentence.language.phrases().is_some_and(|phrases| is_possessive(&tokens[0], phrases));
        is_own && tokens.get(1).is_some_and(|next| next.has(Class::Role))
    }
}

/// Returns true for "my", "your", "our".
pub(super) fn is_possessive(token: &Token, phrases: &Phrases) -> bool {
    let is_present = [Pronoun::Speaker, Pronoun::Addressed, Pronoun::Everybody];
    token.has(Class::Determiner) && phrases.pronoun(&token.lower).is_some_and(|who| is_present.contains(&who))
}
