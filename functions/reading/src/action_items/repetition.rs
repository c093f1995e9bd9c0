//! Repeated tasks, and tasks that answer a request: each is reported once.

use super::draft::{Draft, Here, is_same, overlap};
use super::tracker::{REPLY_TURNS, Tracker};

impl Tracker<'_> {
    /// Adds a draft unless it exists. Of the same task with and without an owner, the one with an owner stays.
    /// `points_back` is true if a pronoun of the new draft can refer to a request.
    pub(super) fn add(&mut self, here: Here<'_>, new: Draft, points_back: bool) {
        let same = self.last_draft(|known| is_same(known, &new));
        if let Some(at) = same.or_else(|| self.answered(here, &new, points_back)) {
            let known = &mut self.drafts[at];
            // The owner need not be asked again, unless by name.
            let is_asked = new.is_asked && (known.item.owner.is_none() || new.addressed.is_some());
            known.is_requested |= new.is_requested;
            // A statement with its own object says more than one that points back.
            let is_fuller = known.about.is_some() && new.about.is_none();
            if (is_fuller || new.addressed.is_some()) && new.said.is_some() {
                (known.said, known.about) = (new.said, new.about);
            }
            if new.addressed.is_some() {
                known.speaker = new.speaker;
            }
            known.item.owner = known.item.owner.take().or(new.item.owner);
            known.is_firm |= new.is_firm;
            if new.item.due.is_some()
                && (known.item.due.is_none() || new.turn > known.turn || new.sentence > known.settled)
            {
                known.item.due = new.item.due;
                known.item.due_day = new.item.due_day;
            }
            known.turn = new.turn;
            known.settled = here.index;
            known.is_asked = is_asked;
            known.addressed = new.addressed.filter(|_| is_asked).or(known.addressed);
            if known.item.owner.is_none() || is_asked {
                self.pending = Some(at);
            }
            return;
        }
        if new.item.owner.is_none() || new.is_asked {
            self.pending = Some(self.drafts.len());
        }
        self.drafts.push(new);
    }

    /// Returns the request that a draft answers in other words ("Can you ask the board?" – "Okay, I'll write to the
    /// board").
    pub(super) fn answered(&self, here: Here<'_>, new: &Draft, points_back: bool) -> Option<usize> {
        // "We need to update the plan." – … – "I'll update it.": the same verb tells it, though more was said since.
        let again = || {
            let is_meant = |known: &Draft| {
                !known.is_dropped
                    && (known.item.owner.is_none() || (known.is_asked && known.item.owner == new.item.owner))
                    && !known.verbs.is_disjoint(&new.verbs)
                    && known.turn.saturating_add(2 * REPLY_TURNS) >= here.turn
            };
            if points_back && new.item.owner.is_some() { self.last_draft(is_meant) } else { None }
        };
        let Some(pending) = self.waiting(here) else { return again() };
        let known = &self.drafts[pending];
        let is_free = known.item.owner.is_none() && Self::is_other(known, here);
        let is_own = known.item.owner == new.item.owner && known.is_accepted && known.turn == here.turn;
        let is_same_verb = !known.verbs.is_disjoint(&new.verbs);
        let is_same = overlap(&known.terms, &new.terms) > 0
            || (is_same_verb && (points_back || known.item.owner == new.item.owner));
        let is_next = known.turn.saturating_add(1) >= here.turn;
        let is_answer = if is_same {
            let is_here = new.item.owner.as_ref().is_some_and(|owner| owner.id.is_some());
            (is_free && (known.is_asked || (points_back && is_here))) || is_own
        } else {
            points_back && new.is_firm && ((is_free && is_next && !known.is_freed && known.is_firm) || is_own)
        };
        (!new.is_asked && new.item.owner.is_some() && is_answer).then_some(pending).or_else(again)
    }
}
