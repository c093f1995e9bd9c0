//! State that passes from sentence to sentence.

use chrono::NaiveDate;

use super::draft::{Draft, Here, set_due};
use crate::languages::dates::Due as Time;
use crate::material::Material;
use crate::model::acts::RuleMatches;
use crate::people::{Named, Names};
use crate::text::sentences::{Source, Text};

/// Most turns after which a request can be accepted, or a task given up.
pub(super) const REPLY_TURNS: usize = 3;

/// Number of recent drafts that are searched.
pub(super) const COMPARED_MAX: usize = 100;

pub(super) struct Tracker<'a> {
    pub(super) text: &'a Text,
    pub(super) material: &'a Material,
    pub(super) names: &'a Names,
    pub(super) held: Option<NaiveDate>,
    /// Findings of the rules in each sentence.
    pub(super) matches: Vec<RuleMatches>,
    pub(super) drafts: Vec<Draft>,
    /// The draft that waits for an owner.
    pub(super) pending: Option<usize>,
    /// Another person who was named, and the turn.
    pub(super) last_named: Option<(Named, usize)>,
}

impl Tracker<'_> {
    /// Returns the position of a sentence; None if its language has no phrases.
    pub(super) fn here(&self, index: usize) -> Option<Here<'_>> {
        Self::place(self.text, index)
    }

    /// The same, without a borrow of the tracker.
    pub(super) fn place(text: &Text, index: usize) -> Option<Here<'_>> {
        let sentence = &text.sentences[index];
        let phrases = sentence.language.phrases()?;
        let turn = if let Source::Turn(turn) = sentence.source { turn } else { usize::MAX };
        let speaker = text.turns.get(turn).map(|turn| turn.speaker_id.as_str());
        let opens_turn = index.checked_sub(1).is_none_or(|before| text.sentences[before].source != sentence.source);
        Some(Here { index, sentence, phrases, turn, speaker, opens_turn })
    }

    /// Returns the newest matching draft.
    pub(super) fn last_draft(&self, fits: impl Fn(&Draft) -> bool) -> Option<usize> {
        let from = self.drafts.len().saturating_sub(COMPARED_MAX);
        self.drafts[from..].iter().rposition(fits).map(|at| from + at)
    }

    /// Returns the draft that waits for an answer, if this can be one.
    pub(super) fn waiting(&self, here: Here<'_>) -> Option<usize> {
        let pending = self.pending?;
        let draft = &self.drafts[pending];
        let is_near = draft.turn.saturating_add(REPLY_TURNS) >= here.turn;
        (is_near && !draft.is_dropped).then_some(pending)
    }

    pub(super) fn is_other(draft: &Draft, here: Here<'_>) -> bool {
        draft.speaker.as_deref() != here.speaker
    }

    /// Sets the date of the last matching draft, unless it has one.
    pub(super) fn dated(&mut self, here: Here<'_>, time: &Time, fits: impl Fn(&Draft) -> bool) {
        if let Some(at) = self.last_draft(|draft| !draft.is_dropped && draft.is_firm && fits(draft))
            && self.drafts[at].item.due.is_none()
        {
            set_due(&mut self.drafts[at], here, time);
        }
    }

    /// Frees a draft for another owner.
    pub(super) fn free(&mut self, at: usize, here: Here<'_>) {
        let draft = &mut self.drafts[at];
        draft.item.owner = None;
        draft.addressed = None;
        draft.is_firm = false;
        draft.is_asked = false;
        draft.is_accepted = false;
        draft.is_freed = true;
        draft.turn = here.turn;
        draft.settled = here.index;
        draft.sentence = here.index;
        self.pending = Some(at);
    }
}
