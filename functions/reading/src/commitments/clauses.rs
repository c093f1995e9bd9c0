//! Clauses of a sentence: their bounds, questions, and words.
//!
//! Defines [`Grammar`]; the other modules add methods to it.

use std::ops::Range;

use super::heads::Head;
use crate::languages::classes::Class;
use crate::languages::dates::Due;
use crate::languages::meanings::Meaning;
use crate::languages::phrases::Phrases;
use crate::languages::token::{Break, Token};
use crate::people::Names;
use crate::text::sentences::{Sentence, WordClass};
use crate::text::tokens::is_determined;

/// Finds announcements in sentences.
#[derive(Debug, Clone, Copy)]
pub struct Grammar<'a> {
    pub names: &'a Names,
    pub sentence: &'a Sentence,
    pub phrases: &'static Phrases,
}

/// Most words of a task.
pub(super) const TASK_WORDS_MAX: usize = 32;

/// Returns true if a sentence ends as a question, in any script.
#[must_use]
pub fn is_question(sentence: &str) -> bool {
    sentence.trim_end_matches(|c: char| c.is_whitespace() || "\"'”’»)".contains(c)).ends_with(['?', '？', '؟'])
}

impl<'a> Grammar<'a> {
    /// Returns the grammar of a sentence; none if its language has no phrases.
    #[must_use]
    pub fn of(sentence: &'a Sentence, names: &'a Names) -> Option<Grammar<'a>> {
        Some(Grammar { names, sentence, phrases: sentence.language.phrases()? })
    }

    pub(super) fn tokens(&self) -> &'a [Token] {
        &self.sentence.tokens
    }

    /// Returns true if the sentence ends as a question.
    #[must_use]
    pub fn is_question(&self) -> bool {
        is_question(&self.sentence.text)
    }

    /// Returns true if the sentence is a statement or an order with a final question tag.
    pub(super) fn is_tagged(&self) -> bool {
        let tokens = self.tokens();
        self.phrases
            .all(tokens, |meaning| matches!(meaning, Meaning::Tag | Meaning::Consent))
            .iter()
            .any(|found| found.end == tokens.len() && found.start > 0)
    }

    /// Returns true if the sentence is written as a statement.
    pub(super) fn is_told_only(&self) -> bool {
        self.sentence.text.trim_end().ends_with(['.', '!'])
    }

    /// Returns true if the transcript has no capitals.
    pub(super) fn is_without_capitals(&self) -> bool {
        !self.tokens().iter().any(|token| token.has_capital && token.lower != "i")
    }

    /// Returns true if a word is not a stop word.
    pub(super) fn says_something(&self, at: usize) -> bool {
        let place = &self.tokens()[at].place;
        let words = &self.sentence.words;
        let word = words.get(words.partition_point(|word| word.place.start < place.start));
        word.is_some_and(|word| word.place.start < place.end && word.class == WordClass::Content)
    }

    /// Returns true if a phrase of this meaning begins at one of these positions.
    pub(super) fn meets(&self, meaning: Meaning, places: Range<usize>) -> bool {
        places.into_iter().any(|at| self.phrases.at(self.tokens(), at, |one| one == meaning).is_some())
    }

    pub(super) fn has_time(&self, words: Range<usize>) -> bool {
        !self.times(words).is_empty()
    }

    pub(super) fn times(&self, words: Range<usize>) -> Vec<Due> {
        self.tokens().get(words).map_or_else(Vec::new, |words| self.phrases.calendar.all(words, None))
    }

    /// Returns true if there is a word with an article, or a capitalized noun.
    #[must_use]
    pub fn has_noun(&self, mut words: Range<usize>) -> bool {
        let tokens = self.tokens();
        words.any(|at| {
            let token = &tokens[at];
            (is_determined(tokens, at, self.phrases) || (self.phrases.capital_nouns && token.has_capital && at > 0))
                && !token.has(Class::Object)
                && !token.has(Class::Empty)
                && !token.has(Class::NoTopic)
                && !self.phrases.calendar.is_word(&token.lower)
        })
    }

    /// Returns true if some words can be the object of a clause: neither a clause themselves nor a negation.
    pub(super) fn is_noun_phrase(&self, words: Range<usize>) -> bool {
        let other = [Class::Pronoun, Class::Modal, Class::Negation, Class::Condition, Class::Report];
        let is_plain = |token: &Token| !token.has_any(&other);
        let tokens = &self.tokens()[words];
        // "Io le firme le raccolgo".
        let is_subject =
            matches!(tokens, [first, second, ..] if first.has(Class::Pronoun) && second.has(Class::Determiner));
        tokens.len() <= 6 && tokens.iter().skip(usize::from(is_subject)).all(is_plain)
    }

    /// Returns true if a specific noun phrase precedes a token in its clause.
    pub(super) fn has_topic_before(&self, at: usize) -> bool {
        let start = self.clause_start(at, 0);
        self.is_noun_phrase(start..at) && self.has_noun(start..at)
    }

    /// Returns true if a pronoun precedes a verb as its subject.
    pub(super) fn has_pronoun_before(&self, at: usize) -> bool {
        let mut before = self.tokens()[..at].iter().rev().skip_while(|token| token.has(Class::Between));
        before.next().is_none_or(|token| token.is_plain_pronoun())
    }

    /// Returns true if a clause begins with a token, as far as the words show it.
    pub(super) fn begins_clause(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let leads =
            [Class::Joint, Class::Interjection, Class::Opener, Class::Contrary, Class::Between, Class::Preposition];
        at == 0 || tokens[at].is_after_break() || tokens[at - 1].has_any(&leads)
    }

    /// Returns true if a chunk looks like a sentence.
    pub(super) fn begins_anew(&self, at: usize) -> bool {
        let (before, token) = (&self.tokens()[at - 1], &self.tokens()[at]);
        let leads = token.has(Class::Pronoun) || token.has(Class::Interjection) || token.has(Class::Joint);
        let is_noun_phrase = token.has(Class::Determiner) && !before.classes.is_verb();
        token.before == Break::Pause && (leads || is_noun_phrase)
    }

    /// Returns the start of the clause of a head behind another head: behind punctuation, or with introductory words.
    pub(super) fn beginning(&self, head: &Head, floor: usize) -> usize {
        let tokens = self.tokens();
        let begins = |at: &usize| tokens[*at].is_after_break() || tokens[at - 1].has(Class::Joint);
        if let Some(broken) = (floor + 1..=head.start).rev().find(begins) {
            return broken;
        }
        let mut start = head.start;
        while start > floor && tokens[start - 1].has(Class::Interjection) {
            start -= 1;
        }
        start
    }

    /// Returns the start of the clause of a token: behind punctuation or a conjunction.
    pub(super) fn clause_start(&self, at: usize, floor: usize) -> usize {
        let tokens = self.tokens();
        let mut start = at;
        while start > floor && !tokens[start].is_after_break() && !tokens[start - 1].has(Class::Joint) {
            start -= 1;
        }
        // "I think", "okay so".
        while start < at {
            let leads =
                |meaning| matches!(meaning, Meaning::LeadIn | Meaning::Yes | Meaning::Thanks | Meaning::Greeting);
            if let Some(found) = self.phrases.at(tokens, start, leads)
                && found.end <= at
            {
                start = found.end;
            } else if tokens[start].has(Class::Interjection) || tokens[start].has(Class::Joint) {
                start += 1;
            } else {
                break;
            }
        }
        start
    }

    pub(super) fn clause_end(&self, from: usize, ceiling: usize) -> usize {
        let tokens = self.tokens();
        let last = ceiling.min(from + TASK_WORDS_MAX);
        for at in from + 1..last {
            let token = &tokens[at];
            if token.is_after_stop() || token.has(Class::Opener) || token.has(Class::Contrary) || self.begins_anew(at) {
                return at;
            }
            // "…, he needs it", "übernehmen, der kennt sich aus".
            let is_subject = token.is_plain_pronoun();
            let is_noun = tokens.get(at + 1).is_some_and(|next| next.has_capital);
            let is_over = self.phrases.sets_verbs_last()
                && !token.has(Class::Complement)
                && (tokens[at - 1].has(Class::Infinitive) || (token.has(Class::Object) && !is_noun));
            if token.before == Break::Comma && (is_subject || is_over) {
                return at;
            }
            let begins = self.phrases.at(tokens, at, |meaning| meaning == Meaning::Clause).is_some();
            if begins {
                return if tokens[at - 1].has(Class::Joint) { at - 1 } else { at };
            }
            let is_condition =
                (token.has(Class::Condition) || token.has(Class::ConditionFirst)) && !self.asks_whether(at);
            if is_condition && token.is_after_break() {
                return at;
            }
        }
        // A token behind a full stop inside the first position of the task.
        if tokens.get(from).is_some_and(Token::is_after_stop) { from } else { last.max(from) }
    }

    pub(super) fn asks_whether(&self, at: usize) -> bool {
        self.tokens()[at.saturating_sub(3)..at].iter().any(|token| token.has(Class::Whether))
    }

    pub(super) fn is_first_person(&self, at: usize) -> bool {
        let tokens = self.tokens();
        (at.saturating_sub(1)..=at)
            .any(|at| matches!(tokens[at].lower.as_str(), "i" | "ich" | "je" | "j'" | "yo" | "eu" | "io" | "ik"))
    }
}
