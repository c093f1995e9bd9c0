//! The statements before a task that has no content of its own.

use chrono::NaiveDate;
use rustc_hash::FxHashSet;

use super::draft::{Here, due_of};
use super::tracker::Tracker;
use crate::commitments::clauses::{Grammar, is_question};
use crate::commitments::heads::Announcement;
use crate::languages::classes::Class;
use crate::languages::meanings::Meaning;
use crate::languages::token::Break;

/// Number of earlier sentences that may name the object of a task.
pub(super) const CONTEXT_SENTENCES: usize = 3;

/// Longest object of a task, in characters.
pub(super) const CONTEXT_CHARS_MAX: usize = 120;

/// Number of earlier words that may name the object of a task.
pub(super) const CONTEXT_WORDS: usize = 10;

/// The context of a task without content.
pub(super) struct Context {
    pub(super) sentence: usize,
    pub(super) text: String,
    pub(super) terms: FxHashSet<u32>,
    pub(super) is_asked: bool,
    /// True if it is from another turn.
    pub(super) is_others: bool,
    /// True if another speaker said that something is to be done.
    pub(super) is_needed: bool,
    /// Deadline as it was said, and its day.
    pub(super) deadline: Option<(String, Option<NaiveDate>)>,
}

/// Returns the end of a long text, because the last words matter most.
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
    /// Returns the context of a task without content: in the same sentence, or in an earlier one.
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

    /// Returns the context of the earlier sentences.
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
                // "Number three, the maypole. It has to be down by July." names the object only in the sentence before.
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
