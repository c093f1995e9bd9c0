//! What was said before a task that names nothing by itself.

use chrono::NaiveDate;
use rustc_hash::FxHashSet;

use super::draft::{Here, due_of};
use super::tracker::Tracker;
use crate::commitments::clauses::{Grammar, is_question};
use crate::commitments::heads::Announcement;
use crate::languages::classes::Class;
use crate::languages::meanings::Meaning;
use crate::languages::token::Break;

/// How many sentences before a task may say what it is about.
pub(super) const CONTEXT_SENTENCES: usize = 3;

/// The most characters of what a task is about.
pub(super) const CONTEXT_CHARS_MAX: usize = 120;

/// How many words before a task may say what it is about.
pub(super) const CONTEXT_WORDS: usize = 10;

/// What was said before a task that names nothing.
pub(super) struct Context {
    pub(super) sentence: usize,
    pub(super) text: String,
    pub(super) terms: FxHashSet<u32>,
    pub(super) is_asked: bool,
    /// Whether it was not said in the same turn.
    pub(super) is_others: bool,
    /// Whether somebody else said that something is to be done.
    pub(super) is_needed: bool,
    /// As it was said, and its day.
    pub(super) deadline: Option<(String, Option<NaiveDate>)>,
}

/// The end of a long text: what was said last is what is meant.
pub(super) fn ending(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= CONTEXT_CHARS_MAX {
        return text.to_owned();
    }
    let cut = text.char_indices().nth(chars - CONTEXT_CHARS_MAX).map_or(0, |(at, _)| at);
    let words = text[cut..].split_once(char::is_whitespace).map_or(&text[cut..], |(_, words)| words);
    format!("…{words}")
}

impl Tracker<'_> {
    /// What was said before a task that names nothing: in the same sentence, or in one of those before it.
    pub(super) fn context(&self, here: Here<'_>, announcement: &Announcement) -> Option<Context> {
        let own = announcement.start.saturating_sub(CONTEXT_WORDS)..announcement.start;
        let terms = self.terms(here, own.clone(), &[]);
        if !terms.is_empty() {
            let text = self.text_of(here, own);
            return Some(Context {
                sentence: here.index,
                text,
                terms,
                is_asked: false,
                is_others: false,
                is_needed: false,
                deadline: None,
            });
        }
        self.context_before(here)
    }

    /// What the sentences before say that names something.
    pub(super) fn context_before(&self, here: Here<'_>) -> Option<Context> {
        let said = |wants_noun: bool| {
            (here.index.saturating_sub(CONTEXT_SENTENCES)..here.index).rev().find_map(|index| {
                let sentence = &self.text.sentences[index];
                let phrases = sentence.language.phrases()?;
                let there = Here { index, sentence, phrases, ..here };
                let terms = self.terms(there, 0..sentence.tokens.len(), &[]);
                let grammar = Grammar::of(sentence, self.names)?;
                let is_noun = terms.len() > 2 || grammar.has_noun(0..sentence.tokens.len());
                let report = sentence.tokens.iter().position(|token| token.has(Class::Report));
                let is_quoted =
                    report.is_some_and(|at| sentence.tokens[at + 1..].iter().any(|token| token.before != Break::None));
                if terms.is_empty() || is_quoted || (wants_noun && !is_noun) {
                    return None;
                }
                let times = phrases.calendar.all(&sentence.tokens, self.held);
                let deadline = times.iter().find(|time| time.is_deadline).map(|time| due_of(there, time));
                // "Number three, the maypole. It has to be down by July." says what only with the sentence before.
                let points_back = sentence.tokens.first().is_some_and(|first| first.has(Class::ThirdPronoun));
                let before = index.checked_sub(1).map(|before| &self.text.sentences[before]);
                let before = before.filter(|before| points_back && before.source == sentence.source);
                let said = before.map_or_else(String::new, |before| format!("{} ", before.text));
                let said = format!("{said}{}", sentence.text);
                Some(Context {
                    sentence: index,
                    text: ending(said.trim_end_matches(['.', '!', '?', ',', ' '])),
                    terms,
                    is_asked: is_question(&sentence.text),
                    is_others: sentence.source != here.sentence.source,
                    is_needed: self.speaker_of(sentence) != here.speaker
                        && (0..sentence.tokens.len())
                            .any(|at| phrases.at(&sentence.tokens, at, Meaning::announces).is_some()),
                    deadline,
                })
            })
        };
        said(true).or_else(|| said(false))
    }
}
