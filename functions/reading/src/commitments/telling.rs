//! Reported speech: announcements of another person in the third person, and quotations.

use super::clauses::Grammar;
use super::heads::{AnnouncedBy, Head};
use crate::languages::classes::Class;
use crate::languages::meanings::Meaning;
use crate::languages::token::Token;
use crate::people::Named;

/// Most words between a verb of telling and its clause, and between its subject and it.
pub(super) const TOLD_WORDS: usize = 7;

impl Grammar<'_> {
    /// "The fitter says that he comes on Friday", "el técnico ha dicho que pasará el jueves": finds a reported
    /// announcement.
    pub(super) fn told(&self, at: usize) -> Option<Head> {
        let tokens = self.tokens();
        if !tokens[at].has(Class::Complement) || tokens[at].is_after_stop() {
            return None;
        }
        let report = (at.saturating_sub(TOLD_WORDS)..at).rev().find(|at| tokens[*at].has(Class::Report))?;
        if tokens[report + 1..at].iter().any(Token::is_after_stop) || self.is_first_person_before(report) {
            return None;
        }
        // "dass er …", "que nos …"
        let mut next = at + 1;
        while tokens.get(next).is_some_and(|token| token.has(Class::ThirdPronoun) || token.has(Class::Between)) {
            next += 1;
        }
        let end = self.clause_end(at + 1, tokens.len());
        let (start, has_verb) = if self.phrases.sets_verbs_last() {
            let subject = tokens.get(at + 1)?;
            let is_subject =
                subject.has(Class::ThirdPronoun) || (subject.has(Class::Pronoun) && subject.has(Class::Object));
            let is_past = tokens[at..end].iter().any(|token| token.has(Class::Past) || token.has(Class::Negation));
            if !is_subject || is_past {
                return None;
            }
            (at + 2, false)
        } else {
            let found = self.phrases.at(tokens, next, Meaning::is_person);
            let token = tokens.get(next).filter(|token| !token.is_after_stop())?;
            match found {
                Some(found) => (found.end, true),
                None if token.has(Class::ThirdLater) || token.has(Class::Third) => (next + 1, true),
                None => return None,
            }
        };
        let by = self.teller(report).map_or(AnnouncedBy::LastNamed, AnnouncedBy::Named);
        let is_later = has_verb && tokens[start - 1].has(Class::ThirdLater);
        Some(Head { wants_time: !is_later, is_told: true, ..Head::new(by, next.min(start), start, has_verb) })
    }

    /// Returns the subject of a verb of telling: the noun or name before it. In "the owner of the hall" it is the
    /// owner.
    pub(super) fn teller(&self, report: usize) -> Option<Named> {
        let tokens = self.tokens();
        let mut found = None;
        for at in (report.saturating_sub(TOLD_WORDS)..report).rev() {
            let token = &tokens[at];
            if let Some((named, _)) = self.names.participant_at(tokens, at, &self.sentence.text) {
                return Some(named);
            }
            let is_word = token.is_unlisted()
                && token.lower.chars().count() > 2
                && token.lower.chars().all(char::is_alphabetic)
                && !self.phrases.calendar.is_word(&token.lower);
            if token.has(Class::Role) {
                return Some(self.as_said(at..self.role_end(at).min(report)));
            }
            if is_word {
                found = Some(self.as_said(at..at + 1));
            }
            let is_governing = token.has(Class::Preposition) || token.has(Class::Determiner);
            let is_over = token.has(Class::ThirdPronoun) || token.is_after_stop();
            if is_over || (found.is_some() && !is_word && !is_governing) {
                return found;
            }
            // Behind a preposition, the noun only describes another one.
            let is_governed = at > 0 && tokens[at - 1].has(Class::Preposition);
            if is_word && !is_governed && !(at > 0 && tokens[at - 1].has(Class::Determiner)) {
                return found;
            }
            if found.is_some() && token.has(Class::Determiner) && !is_governed && !token.has(Class::Preposition) {
                return found;
            }
        }
        found
    }

    /// Returns true if the speaker reports own words.
    pub(super) fn is_first_person_before(&self, report: usize) -> bool {
        (report.saturating_sub(2)..=report).any(|at| self.is_first_person(at)) || self.tokens()[report].has(Class::Me)
    }

    /// Returns true if the words are another person's, or reported.
    pub(super) fn is_told(&self, head: &Head) -> bool {
        let tokens = self.tokens();
        let from = head.start.saturating_sub(10);
        // "She says she'll send it" counts as her own announcement; a quotation has "I".
        let is_indirect = |at: usize| {
            head.by == AnnouncedBy::LastNamed
                && at + TOLD_WORDS >= head.start
                && !tokens[at + 1..head.start + 1].iter().any(Token::is_after_stop)
        };
        if !head.is_told && self.is_quoted(head) {
            return true;
        }
        !head.is_told
            && (from..head.start).any(|at| {
                let is_own = at > 0 && self.is_first_person(at - 1);
                tokens[at].has(Class::Report) && !is_own && !is_indirect(at)
            })
    }

    /// "A client wrote to us: I'll pay in hens": finds words of another person behind a colon.
    pub(super) fn is_quoted(&self, head: &Head) -> bool {
        let tokens = self.tokens();
        let is_colon = |at: usize| {
            let before = &self.sentence.text[..tokens[at].place.start];
            before.trim_end_matches([' ', '"', '«', '“', '„', '\'']).ends_with(':')
        };
        let Some(colon) = (1..=head.start).rev().find(|at| tokens[*at].is_after_stop() && is_colon(*at)) else {
            return false;
        };
        let others = [Class::Past, Class::Report, Class::ThirdPronoun, Class::Role];
        let is_others = tokens[..colon].iter().any(|token| token.has_any(&others));
        matches!(head.by, AnnouncedBy::Speaker | AnnouncedBy::Claim) && is_others
    }
}
