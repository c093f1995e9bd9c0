//! The words of a task: terms, verbs, and references to earlier words.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::draft::{Here, UNKNOWN_VERB};
use super::item::Owner;
use super::tracker::Tracker;
use crate::commitments::heads::Announcement;
use crate::languages::classes::Class;
use crate::languages::dates::Due as Time;
use crate::languages::token::{Break, Token};
use crate::text::lines::clipped;
use crate::text::noun_phrases::word_at;
use crate::text::sentences::WordClass;
use crate::text::tokens::{is_determined, tokens};

/// Words of a sentence that can name a task.
#[derive(Clone)]
pub(super) struct Clause {
    pub(super) sentence: usize,
    pub(super) words: Range<usize>,
    /// True if they accept an earlier task.
    pub(super) is_claim: bool,
    /// True if they say nothing else.
    pub(super) is_bare: bool,
}

impl Clause {
    /// Words that name a task themselves.
    pub(super) fn naming(sentence: usize, words: Range<usize>) -> Self {
        Self { sentence, words, is_claim: false, is_bare: false }
    }
}

impl Tracker<'_> {
    /// Returns the terms of some tokens that distinguish a task.
    pub(super) fn terms(&self, here: Here<'_>, tokens: Range<usize>, times: &[Time]) -> FxHashSet<u32> {
        let all = &here.sentence.tokens;
        let says = |at: &usize| {
            let token: &Token = &all[*at];
            let is_time = times.iter().any(|time| time.start <= *at && *at < time.end);
            let plain = [
                Class::Between,
                Class::Interjection,
                Class::Joint,
                Class::Empty,
                Class::Pronoun,
                Class::Determiner,
                Class::Preposition,
                Class::Negation,
                Class::Report,
                Class::Opener,
            ];
            let is_plain = token.has_any(&plain);
            let is_noun =
                is_determined(all, *at, here.phrases) || (here.phrases.capital_nouns && token.has_capital && *at > 0);
            let is_date = here.phrases.calendar.is_word(&token.lower);
            !is_time && !is_plain && !is_date && (is_noun || !token.classes.is_verb())
        };
        let words = &here.sentence.words;
        let mut terms = FxHashSet::default();
        let mut last = None;
        for at in tokens.filter(says) {
            let place = &all[at].place;
            let Some(word) = word_at(words, place) else {
                continue;
            };
            // Lists of stop words contain nouns too ("room", "page"): they count behind an article.
            let is_noun = is_determined(all, at, here.phrases) || last == at.checked_sub(1);
            let says = word.class != WordClass::Stop || (is_noun && word.surface.chars().count() > 2);
            if says && !self.text.names.contains(&word.term) {
                terms.insert(word.term);
                last = Some(at);
            }
        }
        terms
    }

    /// Returns the verbs among some tokens. A form that is recognized only by its ending is identified by its term.
    pub(super) fn verbs(&self, here: Here<'_>, tokens: Range<usize>) -> FxHashSet<u32> {
        let later = [Class::MeLater, Class::ThirdLater, Class::WeLater];
        here.sentence.tokens[tokens]
            .iter()
            .filter_map(|token| {
                here.phrases.verb(&token.lower).or_else(|| {
                    let is_later = token.has_any(&later);
                    let word = word_at(&here.sentence.words, &token.place).filter(|_| is_later)?;
                    Some(word.term | UNKNOWN_VERB)
                })
            })
            .collect()
    }

    pub(super) fn bytes(&self, here: Here<'_>, tokens: Range<usize>) -> Range<usize> {
        let all = &here.sentence.tokens;
        match (all.get(tokens.start), tokens.end.checked_sub(1).and_then(|last| all.get(last))) {
            (Some(first), Some(last)) if tokens.start < tokens.end => first.place.start..last.place.end,
            _ => 0..0,
        }
    }

    pub(super) fn text_of(&self, here: Here<'_>, tokens: Range<usize>) -> String {
        here.sentence.text[self.bytes(here, tokens)].to_owned()
    }

    pub(super) fn clipped_sentence(&self, here: Here<'_>) -> String {
        clipped(here.sentence.text.trim_end_matches(['.', '!', ' ']), 160)
    }

    /// Returns true if a task has not even a verb that says something ("do it").
    pub(super) fn is_empty(&self, here: Here<'_>, task: Range<usize>) -> bool {
        here.sentence.tokens[task].iter().all(|token| {
            token.has(Class::Empty)
                || token.has(Class::Between)
                || token.has(Class::Pronoun)
                || token.has(Class::Determiner)
                || here.phrases.calendar.is_word(&token.lower)
        })
    }

    pub(super) fn has_known_verb(&self, here: Here<'_>, task: Range<usize>) -> bool {
        here.sentence.tokens[task].iter().any(|token| token.classes.is_verb())
    }

    /// Returns true if a task names a person besides its owner ("call Bob").
    pub(super) fn names_another(&self, here: Here<'_>, task: Range<usize>, owner: Option<&Owner>) -> bool {
        let tokens = &here.sentence.tokens;
        task.into_iter().any(|at| {
            let named = self.names.participant_at(tokens, at, &here.sentence.text);
            named.is_some_and(|(named, _)| self.owner(&named).as_ref() != owner)
        })
    }

    /// A task has two words at least; the first can be an article that is part of its phrase.
    pub(super) fn is_long_enough(&self, here: Here<'_>, task: Range<usize>) -> bool {
        let is_determined = |at: usize| is_determined(&here.sentence.tokens, at, here.phrases);
        here.speaker.is_none() || task.len() >= 2 || (task.len() == 1 && is_determined(task.start))
    }

    /// Returns true if a pronoun of a task stands for something that was said before.
    pub(super) fn points_back(&self, here: Here<'_>, announcement: &Announcement) -> bool {
        let from = announcement.start.saturating_sub(2).min(announcement.task.start);
        here.sentence.tokens[from..announcement.task.end].iter().any(|token| token.has(Class::Object))
    }

    /// Returns true if a word stands for a thing that was spoken of: a pronoun, and no article before its noun.
    pub(super) fn stands_for_it(&self, here: Here<'_>, at: usize) -> bool {
        let tokens = &here.sentence.tokens;
        let token = &tokens[at];
        let is_article = token.has(Class::Determiner)
            && tokens.get(at + 1).is_some_and(|next| {
                let is_verb = next.classes.is_verb() && !(here.phrases.capital_nouns && next.has_capital);
                let is_other = [Class::Modal, Class::Between, Class::Preposition, Class::Pronoun, Class::Negation];
                // "I'll call her tomorrow."
                let is_time = here.phrases.calendar.is_word(&next.lower);
                // "Can you print that Lena", in a transcript without punctuation.
                let is_name = self.names.participant_at(tokens, at + 1, &here.sentence.text).is_some();
                next.before == Break::None && !is_verb && !is_time && !is_name && !next.has_any(&is_other)
            });
        token.has(Class::Object) && !is_article
    }
}

/// "They'll get the accounts from me": returns true if some words name the speaker as the source. In English only.
pub(super) fn gives_speaker(here: Here<'_>, mut words: Range<usize>) -> bool {
    let tokens = &here.sentence.tokens;
    words.any(|at| at > 0 && tokens[at].lower == "me" && tokens[at - 1].lower == "from")
}

/// Returns true if a task says what is done to what: a verb and pronouns alone tell a reader nothing.
pub(super) fn says_what(here: Here<'_>, task: &str) -> bool {
    let plain = [
        Class::Pronoun,
        Class::Object,
        Class::Determiner,
        Class::Preposition,
        Class::Between,
        Class::Negation,
        Class::Interjection,
    ];
    let tokens = tokens(task, here.phrases);
    let verb = if here.phrases.sets_verbs_last() { tokens.len().saturating_sub(1) } else { 0 };
    let says = |token: &Token| token.has_capital || !token.has_any(&plain);
    let is_verb = |token: &Token| token.classes.is_verb() || here.phrases.form(&token.lower).is_some();
    tokens.iter().enumerate().any(|(at, token)| says(token) && (at != verb || !is_verb(token)))
}
