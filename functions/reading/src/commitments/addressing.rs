//! Addressed people, and requests to them: orders, questions, wishes without a verb.

use super::clauses::Grammar;
use super::heads::{AnnouncedBy, Head};
use crate::languages::classes::Class;
use crate::languages::meanings::{Found, Meaning};
use crate::languages::token::{Break, Token};
use crate::people::Named;

impl Grammar<'_> {
    /// Returns the person whom the sentence addresses: before a comma at its beginning, between two commas, or behind
    /// one at its end.
    pub(super) fn addressee(&self) -> Option<Named> {
        self.called().map(|(named, _)| named)
    }

    /// Returns the addressed person, and the end of the name.
    pub(super) fn called(&self) -> Option<(Named, usize)> {
        let tokens = self.tokens();
        let leads = [Class::Between, Class::Interjection, Class::Joint];
        let begins =
            |at: usize| at < 4 && tokens[..at].iter().all(|token| token.has_any(&leads) || token.has(Class::Title));
        (0..tokens.len()).find_map(|at| {
            let (named, end) = self.names.participant_at(tokens, at, &self.sentence.text)?;
            let is_last = end == tokens.len() && self.is_called(at);
            let is_broken = tokens.get(end).is_some_and(Token::is_after_break);
            let is_inside = is_broken && tokens[at].before == Break::Comma;
            ((is_broken && begins(at)) || is_inside || is_last).then_some((named, end))
        })
    }

    /// Returns true if a name at the end is an address: behind a comma, or, in a transcript without punctuation, behind
    /// a word that governs no name ("can you sort that devon").
    pub(super) fn is_called(&self, at: usize) -> bool {
        let token = &self.tokens()[at];
        let governs = |before: &Token| {
            before.classes.is_verb() || before.has_any(&[Class::Preposition, Class::Joint, Class::Modal])
        };
        let is_free = at > 0 && !governs(&self.tokens()[at - 1]) && self.is_without_capitals();
        token.is_after_break() || is_free
    }

    /// Finds an address with a request or an order behind it.
    pub(super) fn vocative(&self, at: usize, after: usize, by: &AnnouncedBy) -> Option<Head> {
        let AnnouncedBy::Named(named) = by else { return None };
        let tokens = self.tokens();
        if tokens[at].has(Class::Role) && !matches!(named, Named::Participant(_)) {
            return None;
        }
        let mut next = after;
        while tokens.get(next).is_some_and(|token| {
            (token.has(Class::Between) || token.has(Class::Interjection)) && !token.has(Class::Order)
        }) && self.phrases.at(tokens, next, |meaning| meaning == Meaning::Please).is_none()
        {
            next += 1;
        }
        let token = tokens.get(next)?;
        let asked = self
            .phrases
            .at(tokens, next, |meaning| self.is_request(meaning))
            .filter(|found| !self.is_only_please(found));
        let addressed = AnnouncedBy::Addressed(Some(named.clone()));
        if let Some(found) = asked {
            return Some(Head { is_asked: true, ..Head::new(addressed, at, found.end, found.has_verb) });
        }
        // "A second reminder, please": a capitalized noun is no person.
        if self
            .phrases
            .at(tokens, next, |meaning| meaning == Meaning::Please)
            .is_some_and(|found| found.end == tokens.len())
        {
            return None;
        }
        let is_called = tokens[after..=next].iter().any(Token::is_after_break);
        let is_third = token.has(Class::Third) && !is_called;
        let is_participant = matches!(named, Named::Participant(_));
        let is_order =
            token.has(Class::Order) && !token.has(Class::Modal) && !is_third && (is_called || is_participant);
        is_order.then(|| Head { is_asked: true, ..Head::new(addressed, at, next + 1, true) })
    }

    /// Finds an order at the beginning of a sentence ("forward it to them"), which is a request if a person accepts it.
    pub(super) fn order(&self, at: usize) -> Option<Head> {
        let tokens = self.tokens();
        let leads =
            |token: &Token| token.has(Class::Interjection) || token.has(Class::Joint) || token.has(Class::Between);
        let is_bound = |token: &Token| token.has(Class::Determiner) || token.has(Class::Dangling);
        let is_first = tokens[..at].iter().all(leads) && !(at > 0 && is_bound(&tokens[at - 1]));
        let is_order = |token: &&Token| token.has(Class::Order) && !token.has(Class::Between);
        // "Get it checked, will you?"
        let is_asking = self.is_question() && !self.is_tagged();
        let token = tokens.get(at).filter(|token| is_order(token) && is_first && !is_asking)?;
        let follows = tokens.get(at + 1).is_some_and(|next| next.before == Break::None);
        (follows && !token.has(Class::Interjection)).then(|| Head {
            is_offer: true,
            is_asked: true,
            ..Head::new(AnnouncedBy::Addressed(self.addressee()), at, at + 1, true)
        })
    }

    /// "Bob, a second reminder, please.": finds a request without a verb to an addressed person.
    pub(super) fn wish(&self) -> Option<Head> {
        let tokens = self.tokens();
        let please = self.phrases.all(tokens, |meaning| meaning == Meaning::Please).pop()?;
        let is_last = please.end + 1 >= tokens.len();
        let (named, end) = self.called()?;
        let (from, until) = if end <= please.start { (end, please.start) } else { (0, please.start) };
        let is_wish = is_last && !self.is_question() && self.has_noun(from..until);
        is_wish.then(|| Head { is_asked: true, ..Head::new(AnnouncedBy::Addressed(Some(named)), from, until, true) })
    }

    pub(super) fn is_request(&self, meaning: Meaning) -> bool {
        meaning == Meaning::Request || (meaning == Meaning::RequestInQuestion && self.is_question())
    }

    /// Returns true if a phrase is only a "please" without a request.
    pub(super) fn is_only_please(&self, found: &Found) -> bool {
        let tokens = self.tokens();
        let is_over = tokens.get(found.end).is_none_or(|next| next.is_after_break() || next.has(Class::Pronoun));
        let is_please = |please: Found| please.start == found.start && please.end == found.end;
        is_over && self.phrases.at(tokens, found.start, |meaning| meaning == Meaning::Please).is_some_and(is_please)
    }
}
