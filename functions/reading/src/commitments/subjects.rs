//! Named subjects of a task: before or behind the verb, by name, by role, or by a pronoun.

use std::ops::Range;

use super::clauses::Grammar;
use super::heads::{AnnouncedBy, Head};
use super::telling::TOLD_WORDS;
use crate::languages::classes::Class;
use crate::languages::meanings::Meaning;
use crate::languages::token::{Break, Token};
use crate::people::Named;

/// Most words of a role ("the technical services").
pub(super) const ROLE_WORDS_MAX: usize = 3;

impl Grammar<'_> {
    /// "Bob will …", "Bob, can you …", "Bob, send …".
    pub(super) fn named(&self, at: usize) -> Option<Head> {
        let tokens = self.tokens();
        let (by, after, is_known) =
            if let Some((named, end)) = self.names.at(tokens, at, &self.sentence.text, self.phrases) {
                let is_known = matches!(named, Named::Participant(_)) || tokens[at].has(Class::Title);
                (AnnouncedBy::Named(named), end, is_known)
            } else if tokens[at].has(Class::ThirdPronoun) {
                // "Il faut …" has no owner.
                if self.phrases.at(tokens, at, Meaning::announces).is_some() {
                    return None;
                }
                (AnnouncedBy::LastNamed, at + 1, false)
            } else if self.is_demonstrative(at) {
                (AnnouncedBy::LastNamed, at + 1, false)
            } else if tokens[at].has(Class::Role) || self.is_lone_subject(at) {
                let end = self.role_end(at);
                (AnnouncedBy::Named(self.as_said(at..end)), end, false)
            } else {
                return None;
            };
        let governs = |token: &Token| token.has(Class::Preposition) && !self.phrases.articles.contains(&token.lower);
        let is_object = at > 0 && tokens[at].before == Break::None && governs(&tokens[at - 1]);
        if is_object {
            return None;
        }
        if let Some(head) = self.vocative(at, after, &by) {
            return Some(head);
        }
        if self.is_question() {
            return None;
        }
        let verb = self.verb_behind(after)?;
        let found = self.phrases.at(tokens, verb, Meaning::is_person);
        // "Ask our broker for two quotes": a subject is followed by a verb.
        if found.is_none() && tokens[at].has(Class::Role) && !self.can_be_subject(at) {
            return None;
        }
        let token = &tokens[verb];
        let is_finite = self.is_finite(token);
        let (end, has_verb, meaning) = match found {
            Some(found) if found.meaning == Meaning::PersonComes && !tokens[at].has(Class::Role) => return None,
            Some(found) => (found.end, found.has_verb, found.meaning),
            None if is_finite => (verb + 1, true, Meaning::Person),
            None => return None,
        };
        Some(Head {
            is_offer: meaning == Meaning::PersonOffers,
            is_intended: meaning == Meaning::PersonIntended,
            wants_known_verb: !is_known && meaning != Meaning::PersonComes,
            wants_time: meaning == Meaning::PersonComes,
            ..Head::new(by, at, end, has_verb)
        })
    }

    /// "Meine Tochter studiert Grafik, die macht uns die Plakate": an article used as a pronoun.
    pub(super) fn is_demonstrative(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let token = &tokens[at];
        let behind_role = tokens[at.saturating_sub(TOLD_WORDS)..at].iter().any(|token| token.has(Class::Role));
        self.phrases.sets_verbs_last()
            && token.has(Class::Object)
            && token.has(Class::Determiner)
            && behind_role
            && tokens.get(at + 1).is_some_and(|next| {
                next.before == Break::None
                    && !next.has_capital
                    && next.has(Class::Third)
                    && !next.has(Class::Infinitive)
            })
    }

    /// Returns true if a noun, with or without an article, begins a clause.
    pub(super) fn can_be_subject(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let is_determined = at > 0 && tokens[at].before == Break::None && tokens[at - 1].has(Class::Determiner);
        let start = if is_determined { at - 1 } else { at };
        let leads = [Class::Joint, Class::Interjection, Class::Opener, Class::Contrary, Class::Between];
        start == 0
            || tokens[start].is_after_break()
            || tokens[start - 1].has_any(&leads)
            // In a transcript without punctuation, a clause may begin anywhere.
            || (is_determined && self.is_without_capitals() && !tokens[start - 1].has(Class::Preposition))
    }

    /// Returns true if a word can only be a name, although the transcript has no capitals: it begins a clause without
    /// an article, is in no class, and is followed by an announcement.
    pub(super) fn is_lone_subject(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let token = &tokens[at];
        let leads = |token: &Token| {
            token.has_any(&[Class::Joint, Class::Interjection, Class::Opener, Class::Contrary, Class::Between])
        };
        let begins = at == 0 || token.is_after_break() || leads(&tokens[at - 1]);
        let is_word = token.is_unlisted()
            && token.lower.chars().count() > 2
            && token.lower.chars().all(char::is_alphabetic)
            && !self.phrases.calendar.is_word(&token.lower);
        begins
            && is_word
            && self.is_without_capitals()
            && self.says_something(at)
            && tokens.get(at + 1).is_some_and(|next| next.before == Break::None)
            && self.phrases.at(tokens, at + 1, |meaning| meaning == Meaning::Person).is_some()
    }

    /// Returns a role as it is said, or the name beside it.
    pub(super) fn as_said(&self, words: Range<usize>) -> Named {
        let tokens = self.tokens();
        let named = self.names.of_role(tokens, words.end - 1, &self.sentence.text, self.phrases);
        if let Some(named) = named {
            return named;
        }
        Named::Other(self.sentence.text[tokens[words.start].place.start..tokens[words.end - 1].place.end].to_owned())
    }

    /// Returns the end of a role: "l'ufficio legale", "les services techniques".
    pub(super) fn role_end(&self, at: usize) -> usize {
        let tokens = self.tokens();
        let is_part = |next: &Token| {
            (next.is_unlisted() || next.has(Class::Role))
                && next.before == Break::None
                && !next.has_capital
                && next.lower.chars().all(char::is_alphabetic)
        };
        let further = tokens[at + 1..].iter().take(ROLE_WORDS_MAX - 1).take_while(|next| is_part(next)).count();
        // Only words followed by a verb belong to the subject.
        (1..=further).rev().map(|more| at + 1 + more).find(|end| self.verb_at(*end).is_some()).unwrap_or(at + 1)
    }

    /// "Das übernimmt Peter", "lo hace Carlos", "das kann Peter übernehmen".
    pub(super) fn inverted(&self, at: usize) -> Option<Head> {
        let tokens = self.tokens();
        let token = &tokens[at];
        if self.is_question() {
            return None;
        }
        let is_person = |meaning| matches!(meaning, Meaning::Person | Meaning::PersonOffers | Meaning::PersonIntended);
        let found =
            self.phrases.at(tokens, at, is_person).filter(|found| !found.has_verb && self.phrases.sets_verbs_last());
        let is_finite = token.has(Class::Third) || token.has(Class::ThirdLater);
        let (verb_end, has_verb, meaning) = match found {
            _ if is_finite => (at + 1, true, Meaning::Person),
            Some(found) => (found.end, false, found.meaning),
            None => return None,
        };
        let mut next = verb_end;
        while tokens.get(next).is_some_and(|token| token.has(Class::Between) && !token.has_capital) {
            next += 1;
        }
        let next_token = tokens.get(next).filter(|token| token.before == Break::None)?;
        // "Ci pensa Marco": in these languages the whole phrase precedes the name.
        if !has_verb && !self.phrases.sets_verbs_last() && verb_end == at + 1 {
            return None;
        }
        let (named, end) = match self.names.at(tokens, next, &self.sentence.text, self.phrases) {
            // In a language with capitalized nouns, they follow verbs too.
            Some((Named::Other(_), end))
                if self.phrases.capital_nouns
                    && !next_token.has(Class::Title)
                    && !(has_verb && self.is_followed_by_apposition(end)) =>
            {
                return None;
            }
            Some(found) => found,
            None if next_token.has(Class::Determiner) => {
                tokens.get(next + 1).filter(|token| token.has(Class::Role))?;
                (self.as_said(next + 1..next + 2), next + 2)
            }
            None => return None,
        };
        let is_known = matches!(named, Named::Participant(_)) || next_token.has(Class::Title);
        // "The sheets are ordered the publisher sends them": the name begins a new clause.
        if !is_known && self.verb_at(end).is_some() {
            return None;
        }
        Some(Head {
            is_offer: meaning == Meaning::PersonOffers,
            is_intended: meaning == Meaning::PersonIntended,
            wants_known_verb: !is_known,
            ..Head::new(AnnouncedBy::Named(named), at, end, has_verb)
        })
    }

    pub(super) fn is_followed_by_apposition(&self, at: usize) -> bool {
        let tokens = self.tokens();
        tokens.get(at).is_none_or(|token| {
            token.before != Break::None || token.has(Class::Preposition) || token.has(Class::Between)
        })
    }
}
