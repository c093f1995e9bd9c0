//! An item that may still change, where it was said, and when two of them are one task.

use std::ops::Range;

use chrono::NaiveDate;
use rustc_hash::FxHashSet;

use super::item::{ActionItem, Owner};
use crate::languages::dates::Due as Time;
use crate::languages::phrases::Phrases;
use crate::model::acts::Fate;
use crate::text::sentences::{Sentence, normalized};

/// What tells the term of a verb from the number of one.
pub(super) const UNKNOWN_VERB: u32 = 1 << 31;

/// Where a sentence was said.
#[derive(Clone, Copy)]
pub(super) struct Here<'t> {
    pub(super) index: usize,
    pub(super) sentence: &'t Sentence,
    pub(super) phrases: &'static Phrases,
    pub(super) turn: usize,
    /// None in the notes.
    pub(super) speaker: Option<&'t str>,
    /// Whether it is the first of its turn.
    pub(super) opens_turn: bool,
}

/// An item that may still change.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) item: ActionItem,
    /// The sentence and the words in it that say the task; None of what the notes hold.
    pub(super) said: Option<(usize, Range<usize>)>,
    /// A sentence before that says what it is about.
    pub(super) about: Option<usize>,
    /// The task by which repetitions are known.
    pub(super) normal: String,
    /// Terms that tell it from others.
    pub(super) terms: FxHashSet<u32>,
    /// Its verbs, by the numbers of its language.
    pub(super) verbs: FxHashSet<u32>,
    /// Whether it is one without another word.
    pub(super) is_firm: bool,
    pub(super) is_dropped: bool,
    /// Who is asked, if somebody is: nobody else can accept it.
    pub(super) addressed: Option<usize>,
    /// Whether a plain yes accepts it.
    pub(super) is_asked: bool,
    /// Whether somebody asked whether they should do it, and nobody has answered yet.
    pub(super) is_offered: bool,
    /// Whether somebody accepted it.
    pub(super) is_accepted: bool,
    /// Whether it was somebody's who passed it on.
    pub(super) is_freed: bool,
    /// Whether it is told of, and no thanks make it a task.
    pub(super) is_idle: bool,
    /// Whether all were proposed to do it, on which they may agree.
    pub(super) is_proposal: bool,
    /// Who said it.
    pub(super) speaker: Option<String>,
    pub(super) turn: usize,
    pub(super) sentence: usize,
    /// The sentence that changed it last.
    pub(super) settled: usize,
}

impl Draft {
    /// Whether it becomes an item without another word.
    pub(super) fn is_told(&self) -> bool {
        self.fate() == Fate::Firm
    }

    /// What became of it.
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
        is_firm,
        is_dropped: false,
        addressed: None,
        is_asked: false,
        is_offered: false,
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

pub(super) fn due_of(here: Here<'_>, time: &Time) -> (String, Option<NaiveDate>) {
    let tokens = &here.sentence.tokens;
    let place = tokens[time.start].place.start..tokens[time.end - 1].place.end;
    (here.sentence.text[place].to_owned(), time.day)
}

pub(super) fn set_due(draft: &mut Draft, here: Here<'_>, time: &Time) {
    let (due, day) = due_of(here, time);
    draft.item.due = Some(due);
    draft.item.due_day = day;
}

pub(super) fn overlap(one: &FxHashSet<u32>, other: &FxHashSet<u32>) -> usize {
    one.intersection(other).count()
}

/// Whether two drafts are of one task: the same words, or nearly, and owners that can be the same.
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
    // Two things can be done with one report: only with the same verb are fewer words enough.
    let is_same_verb = known.verbs.is_empty() || new.verbs.is_empty() || !known.verbs.is_disjoint(&new.verbs);
    fewer > 0
        && ((is_same_verb && shared * 4 >= more * 3)
            || (is_same_verb && shared * 4 >= fewer * 3 && (fewer > 1 || more <= 3)))
}
