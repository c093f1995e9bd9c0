//! The owner of a task, and the person named last.

use std::ops::Range;

use super::draft::Here;
use super::item::Owner;
use super::tracker::Tracker;
use crate::commitments::heads::AnnouncedBy;
use crate::languages::classes::Class;
use crate::languages::token::Break;
use crate::material::Person;
use crate::people::Named;
use crate::text::lines::capitalized;
use crate::text::sentences::{Sentence, Source};

/// The group of names in the files of senses.
pub(super) const NAME: &str = "name";

/// Most words between a subject and its verb of telling.
const TOLD_WORDS: usize = 5;

pub(super) fn owner_of(person: &Person) -> Owner {
    Owner { id: Some(person.id.clone()), name: person.name.clone() }
}

impl Tracker<'_> {
    /// Returns the owner of a task; None if the owner cannot be determined and there is no item.
    pub(super) fn whose(&self, here: Here<'_>, by: &AnnouncedBy) -> Option<(Option<Owner>, Option<usize>)> {
        Some(match by {
            AnnouncedBy::Speaker | AnnouncedBy::Claim => (self.owner_of_speaker(here), None),
            AnnouncedBy::Named(named) => (self.owner(named), None),
            AnnouncedBy::LastNamed => match &self.last_named {
                Some((named, turn)) if turn.saturating_add(2) >= here.turn => (self.owner(named), None),
                _ => return None,
            },
            AnnouncedBy::Addressed(Some(named)) => {
                let index = if let Named::Participant(index) = named { Some(*index) } else { None };
                (self.owner(named), index)
            }
            AnnouncedBy::Addressed(None) => {
                let other = self.only_other(here);
                (other.and_then(|index| self.owner(&Named::Participant(index))), other)
            }
            AnnouncedBy::Everybody | AnnouncedBy::Somebody | AnnouncedBy::Anybody | AnnouncedBy::Label => (None, None),
        })
    }

    /// Returns the other one of two people.
    pub(super) fn only_other(&self, here: Here<'_>) -> Option<usize> {
        let speaker = here.speaker?;
        match &self.material.people[..] {
            [first, second] if first.id == speaker && second.id != speaker => Some(1),
            [first, second] if second.id == speaker && first.id != speaker => Some(0),
            _ => None,
        }
    }

    pub(super) fn speaker_of(&self, sentence: &Sentence) -> Option<&str> {
        let Source::Turn(turn) = sentence.source else { return None };
        self.text.turns.get(turn).map(|turn| turn.speaker_id.as_str())
    }

    /// Returns the index of an owner who is a participant.
    pub(super) fn index_of(&self, owner: &Owner) -> Option<usize> {
        self.material.people.iter().position(|person| Some(&person.id) == owner.id.as_ref())
    }

    pub(super) fn speaker_index(&self, here: Here<'_>) -> Option<usize> {
        let speaker = here.speaker?;
        self.material.people.iter().position(|person| person.id == speaker)
    }

    pub(super) fn owner_of_speaker(&self, here: Here<'_>) -> Option<Owner> {
        let turn = self.text.turns.get(here.turn)?;
        let person = self.material.people.iter().find(|person| person.id == turn.speaker_id);
        Some(
            person
                .map_or_else(|| Owner { id: Some(turn.speaker_id.clone()), name: turn.speaker_name.clone() }, owner_of),
        )
    }

    pub(super) fn owner(&self, named: &Named) -> Option<Owner> {
        match named {
            Named::Participant(index) => self.material.people.get(*index).map(owner_of),
            Named::Other(name) => Some(Owner { id: None, name: capitalized(name) }),
        }
    }

    /// Returns true if a verb of telling follows a subject: "(Toni) hat mir geschrieben".
    fn tells(&self, here: Here<'_>, from: usize) -> bool {
        let clause = here.sentence.tokens.iter().skip(from).enumerate();
        let mut clause = clause.take_while(|(at, token)| *at == 0 || !token.is_after_break()).map(|(_, token)| token);
        let is_verb = clause.next().is_some_and(|next| {
            !next.is_after_break()
                && (next.has(Class::Report)
                    || next.has(Class::Past)
                    || here.phrases.group(&next.lower).starts_with("be/"))
        });
        is_verb && here.sentence.tokens[from..].iter().take(TOLD_WORDS).any(|token| token.has(Class::Report))
    }

    /// Remembers people who were named besides the speakers, for "she'll send it".
    pub(super) fn note_names(&mut self, here: Here<'_>, words: Range<usize>) {
        let tokens = &here.sentence.tokens;
        let mut at = words.start;
        while at < words.end {
            if let Some((named, end)) = self.names.at(tokens, at, &here.sentence.text, here.phrases) {
                let is_speaker = matches!(&named, Named::Participant(index) if self.material.people.get(*index).map(|person| person.id.as_str()) == here.speaker);
                // "Priti from support usually writes those": the first word has a capital anyway.
                let is_subject = is_subject_behind(here, at, end);
                let is_noun = matches!(named, Named::Other(_))
                    && !tokens[at].has(Class::Title)
                    && ((here.phrases.capital_nouns && !self.tells(here, end)) || (at == 0 && !is_subject));
                // "The daughter of Mr Pohl" is about the daughter.
                let is_attribute = at > 1
                    && tokens[at].before == Break::None
                    && tokens[at - 1].has(Class::Preposition)
                    && tokens[at - 2].has(Class::Role);
                if !is_speaker && !is_noun && !is_attribute {
                    self.last_named = Some((named, here.turn));
                }
                at = end;
                continue;
            }
            // "Der Toni hat mir geschrieben".
            let is_plain = tokens[at].is_unlisted();
            let is_told = here.phrases.capital_nouns
                && tokens[at].has_capital
                && matches!(here.phrases.group(&tokens[at].lower), "" | "name")
                && self.tells(here, at + 1);
            if is_plain && is_told {
                let said = here.sentence.text[tokens[at].place.clone()].to_owned();
                self.last_named = Some((Named::Other(said), here.turn));
            }
            // "My husband is an engineer" is about the husband.
            let is_told_of = at > 0
                && tokens[at - 1].has(Class::Empty)
                && !tokens[at - 1].has(Class::Determiner)
                && !tokens[at - 1].has(Class::Preposition)
                && tokens[at].before == Break::None;
            // "Kelly from marketing" is Kelly.
            let is_added = at > 0 && tokens[at].before == Break::None && tokens[at - 1].has(Class::Preposition);
            if tokens[at].has(Class::Role) && !is_told_of && !is_added && !is_attribute(here, at) {
                // "The court reporter".
                let is_part = |start: usize| {
                    let before = &tokens[start - 1];
                    tokens[start].before == Break::None
                        && before.is_unlisted()
                        && before.lower.chars().all(char::is_alphabetic)
                };
                let mut start = at;
                while start > 0 && at - start < 2 && is_part(start) {
                    start -= 1;
                }
                let is_whole = start > 0 && tokens[start - 1].has(Class::Determiner);
                // "Send it to the inspector. She'll …": the acting person has a name.
                let governor = start.checked_sub(2).filter(|_| is_whole).map(|before| &tokens[before]);
                let is_object = governor.is_some_and(|before| before.has(Class::Preposition));
                let has_name = self.last_named.as_ref().is_some_and(|(named, turn)| {
                    let is_name = match named {
                        Named::Participant(_) => true,
                        Named::Other(name) => name.starts_with(char::is_uppercase),
                    };
                    is_name && turn.saturating_add(2) >= here.turn
                });
                if is_object && has_name {
                    at += 1;
                    continue;
                }
                let start = if is_whole { start } else { at };
                let said = &here.sentence.text[tokens[start].place.start..tokens[at].place.end];
                let named = self.names.of_role(tokens, at, &here.sentence.text, here.phrases);
                self.last_named = Some((named.unwrap_or_else(|| Named::Other(said.to_owned())), here.turn));
            }
            at += 1;
        }
    }
}

/// Returns true if a first word with a capital is the name of a subject, by the word behind it.
pub(super) fn is_subject_behind(here: Here<'_>, at: usize, end: usize) -> bool {
    let Some(next) = here.sentence.tokens.get(end).filter(|next| next.before == Break::None) else { return false };
    let is_noun = here.phrases.sense(&here.sentence.tokens[at].lower).is_some_and(|sense| sense.group != NAME);
    let follows = [Class::Preposition, Class::Modal, Class::Third, Class::Report];
    next.has(Class::Between) || (!is_noun && next.has_any(&follows))
}

/// "An estate car": returns true if a role only describes the noun behind it.
pub(super) fn is_attribute(here: Here<'_>, at: usize) -> bool {
    let next = here.sentence.tokens.get(at + 1).filter(|next| next.before == Break::None && !next.has_capital);
    next.is_some_and(|next| next.is_unlisted() && here.phrases.form(&next.lower).is_none())
}
