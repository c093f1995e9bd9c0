//! A draft of an item, its position, and the equality of two drafts.

use std::ops::Range;

use chrono::NaiveDate;
use rustc_hash::FxHashSet;

use super::item::{ActionItem, Owner};
use crate::languages::classes::Class;
use crate::languages::dates::Due as Time;
use crate::languages::phrases::Phrases;
use crate::model::acts::Fate;
use crate::text::lines::uncapitalized;
use crate::text::sentences::{Sentence, normalized};

/// Distinguishes the term of a verb from the number of one.
pub(super) const UNKNOWN_VERB: u32 = 1 << 31;

/// The position of a sentence.
#[derive(Clone, Copy)]
pub(super) struct Here<'t> {
    pub(super) index: usize,
    pub(super) sentence: &'t Sentence,
    pub(super) phrases: &'static Phrases,
    pub(super) turn: usize,
    /// None in the notes.
    pub(super) speaker: Option<&'t str>,
    /// True for the first sentence of its turn.
    pub(super) opens_turn: bool,
}

/// A draft of an item.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) item: ActionItem,
    /// The sentence and its words that name the task; None for notes.
    pub(super) said: Option<(usize, Range<usize>)>,
    /// An earlier sentence that names the object.
    pub(super) about: Option<usize>,
    /// Normalized task, to recognize repetitions.
    pub(super) normal: String,
    /// Terms that distinguish it from others.
    pub(super) terms: FxHashSet<u32>,
    /// Its verbs, by their numbers in the language.
    pub(super) verbs: FxHashSet<u32>,
    /// True if a label or a check box marks it: it becomes an item as it is written.
    pub(super) is_marked: bool,
    /// True if it becomes an item without confirmation.
    pub(super) is_firm: bool,
    pub(super) is_dropped: bool,
    /// The addressee, if there is one: no other person can accept it.
    pub(super) addressed: Option<usize>,
    /// True if a plain yes accepts it.
    pub(super) is_asked: bool,
    /// True if the speaker offered to do it and there is no answer yet.
    pub(super) is_offered: bool,
    /// True if "you", with or without a name, was asked to do it.
    pub(super) is_requested: bool,
    /// True if a person accepted it.
    pub(super) is_accepted: bool,
    /// True if its owner gave it up.
    pub(super) is_freed: bool,
    /// True for a report, which no thanks turn into a task.
    pub(super) is_idle: bool,
    /// True for a proposal to all, on which they may agree.
    pub(super) is_proposal: bool,
    /// The speaker.
    pub(super) speaker: Option<String>,
    pub(super) turn: usize,
    pub(super) sentence: usize,
    /// The last sentence that changed it.
    pub(super) settled: usize,
}

impl Draft {
    /// Returns true if it becomes an item without confirmation.
    pub(super) fn is_told(&self) -> bool {
        self.fate() == Fate::Firm
    }

    /// Returns its outcome.
    pub(super) fn fate(&self) -> Fate {
        match (self.is_dropped, self.is_firm) {
            (true, _) => Fate::Dropped,
            (false, true) => Fate::Firm,
            (false, false) => Fate::Open,
        }
    }
}

pub(super) fn draft(here: Here<'_>, owner: Option<Owner>, task: String, terms: FxHashSet<u32>, is_firm: bool) -> Draft {
    Draft {
        normal: normalized(&task),
        item: ActionItem { owner, task, due: None, due_day: None, evidence: vec![here.sentence.text.clone()] },
        said: None,
        about: None,
        terms,
        verbs: FxHashSet::default(),
        is_marked: false,
        is_firm,
        is_dropped: false,
        addressed: None,
        is_asked: false,
        is_offered: false,
        is_requested: false,
        is_accepted: false,
        is_freed: false,
        is_idle: false,
        is_proposal: false,
        speaker: here.speaker.map(str::to_owned),
        turn: here.turn,
        sentence: here.index,
        settled: here.index,
    }
}

/// Returns a time as it was said, without the capital of its sentence's beginning, and its day.
pub(super) fn due_of(here: Here<'_>, time: &Time) -> (String, Option<NaiveDate>) {
    let tokens = &here.sentence.tokens;
    // "Encomendo-as hoje".
    let is_hung = |at: &usize| *at + 1 < time.end && here.sentence.text[..tokens[*at].place.start].ends_with('-');
    let start = (time.start..time.end).find(|at| !is_hung(at)).unwrap_or(time.start);
    let first = &tokens[start];
    let due = &here.sentence.text[first.place.start..tokens[time.end - 1].place.end];
    let leads = [Class::Preposition, Class::Between, Class::Determiner, Class::Temporal];
    // In English and German, names of days have a capital.
    let has_small_days = !here.phrases.capital_nouns && here.phrases.code != "en";
    let is_small = start == 0
        && (first.has_any(&leads)
            || here.phrases.calendar.is_number(&first.lower)
            || (has_small_days && here.phrases.calendar.is_word(&first.lower)));
    (if is_small { uncapitalized(due) } else { due.to_owned() }, time.day)
}

pub(super) fn set_due(draft: &mut Draft, here: Here<'_>, time: &Time) {
    let (due, day) = due_of(here, time);
    draft.item.due = Some(due);
    draft.item.due_day = day;
}

pub(super) fn overlap(one: &FxHashSet<u32>, other: &FxHashSet<u32>) -> usize {
    one.intersection(other).count()
}

/// Returns true if two drafts are the same task: nearly the same words, and compatible owners.
pub(super) fn is_same(known: &Draft, new: &Draft) -> bool {
    if known.is_dropped
        || !(known.item.owner == new.item.owner || known.item.owner.is_none() || new.item.owner.is_none())
    {
        return false;
    }
    if known.normal == new.normal {
        return true;
    }
    let fewer = known.terms.len().min(new.terms.len());
    let shared = overlap(&known.terms, &new.terms);
    let more = known.terms.len().max(new.terms.len());
    // Several things can be done with one report: fewer common words are sufficient only with the same verb.
    let is_same_verb = known.verbs.is_empty() || new.verbs.is_empty() || !known.verbs.is_disjoint(&new.verbs);
    fewer > 0
        && ((is_same_verb && shared * 4 >= more * 3)
            || (is_same_verb && shared * 4 >= fewer * 3 && (fewer > 1 || more <= 3)))
}
