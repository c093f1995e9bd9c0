//! "I'll do it": resolves a task without its own content to an earlier one.

use rustc_hash::FxHashSet;

use super::context::CONTEXT_WORDS;
use super::draft::{Draft, Here, draft, set_due};
use super::item::Owner;
use super::tracker::{REPLY_TURNS, Tracker};
use super::wording::words_of;
use crate::commitments::heads::{AnnouncedBy, Announcement};
use crate::languages::classes::Class;
use crate::languages::dates::Due as Time;

impl Tracker<'_> {
    /// Resolves a claim without content to an earlier task.
    pub(super) fn claimed(
        &mut self,
        here: Here<'_>,
        announcement: &Announcement,
        owner: Option<Owner>,
        time: Option<&Time>,
    ) {
        let is_asked = announcement.is_asked;
        let Some(owner) = owner else {
            self.asked_for(here, announcement, time);
            return;
        };
        let names_whom =
            matches!(announcement.by, AnnouncedBy::Named(_) | AnnouncedBy::Addressed(Some(_)) | AnnouncedBy::LastNamed);
        let is_theirs = |draft: &Draft| draft.item.owner.as_ref() == Some(&owner);
        let is_free = |draft: &Draft| draft.item.owner.is_none();
        // A freed task is taken by a claim without content ("I'll do it"), or by the same verb.
        let verbs = self.verbs(here, announcement.start..announcement.task.end.max(announcement.end));
        let is_specific = !self.is_empty(here, announcement.task.clone());
        // "Shall I talk to him?" does not accept a request.
        if announcement.is_offer
            && is_specific
            && announcement.by == AnnouncedBy::Speaker
            && !self.points_back(here, announcement)
        {
            return;
        }
        // "The plumber comes on Monday" does not accept a request.
        let is_own_matter = is_specific
            && owner.id.is_none()
            && matches!(announcement.by, AnnouncedBy::Named(_) | AnnouncedBy::LastNamed)
            && !self.points_back(here, announcement);
        if is_own_matter {
            self.resolved(here, announcement, Some(owner), time);
            return;
        }
        // "I need to finish her contract, I'll do that tonight".
        if let Some(at) = self.last_draft(|draft| !draft.is_dropped && draft.sentence == here.index) {
            let draft = &self.drafts[at];
            // "Send it to me and I'll look at it".
            let is_another = is_specific && verbs.is_disjoint(&draft.verbs);
            let is_others = (draft.is_asked || is_another)
                && draft.item.owner.is_some()
                && !is_theirs(draft)
                && announcement.by == AnnouncedBy::Speaker;
            if !is_others {
                if is_theirs(draft) || is_free(draft) || names_whom {
                    self.give(at, here, announcement, owner, time);
                }
                return;
            }
        }
        let recent = |draft: &Draft| {
            let turns = if draft.is_idle { REPLY_TURNS } else { 1 };
            !draft.is_dropped && draft.turn.saturating_add(turns) >= here.turn && draft.sentence < here.index
        };
        let is_same = |draft: &Draft| !is_specific || !verbs.is_disjoint(&draft.verbs);
        let index = self.index_of(&owner);
        let is_theirs_to_answer = |draft: &Draft| draft.addressed.is_none() || draft.addressed == index;
        let is_meant = |draft: &Draft| is_same(draft) || (!draft.is_freed && is_theirs_to_answer(draft));
        // "She'll restock the box this week." – … – "She'll have it done on Thursday."
        let own = self.last_draft(|draft| {
            announcement.by == AnnouncedBy::LastNamed
                && !draft.is_dropped
                && draft.turn.saturating_add(REPLY_TURNS) >= here.turn
                && is_theirs(draft)
        });
        let target = own.or_else(|| self.waiting(here).filter(|at| is_meant(&self.drafts[*at]))).or_else(|| {
            self.last_draft(|draft| {
                recent(draft)
                    && (is_theirs(draft) || is_free(draft) || names_whom)
                    && (is_same(draft) || is_free(draft))
            })
        });
        if let Some(target) = target {
            let draft = &self.drafts[target];
            let is_taken = draft.is_accepted && draft.item.owner.as_ref().is_some_and(|known| *known != owner);
            let is_meant = is_theirs_to_answer(draft);
            if !is_taken && (is_meant || !is_asked || names_whom) {
                self.give(target, here, announcement, owner, time);
                return;
            }
        }
        self.resolved(here, announcement, Some(owner), time);
    }

    /// Records a request for something mentioned before, without a named addressee.
    pub(super) fn asked_for(&mut self, here: Here<'_>, announcement: &Announcement, time: Option<&Time>) {
        let stands_for_it = self.points_back(here, announcement) || self.is_empty(here, announcement.task.clone());
        if !announcement.is_asked || !stands_for_it {
            return;
        }
        // "Yes, do that by tomorrow": addressed to the person who has just accepted it.
        let is_taken = |draft: &Draft| {
            Self::is_other(draft, here) && draft.turn.saturating_add(1) >= here.turn && draft.item.owner.is_some()
        };
        if let Some(time) = time.filter(|_| announcement.by != AnnouncedBy::Anybody)
            && self.last_draft(|draft| !draft.is_dropped && draft.is_firm && is_taken(draft)).is_some()
        {
            self.dated(here, time, is_taken);
            return;
        }
        // "We could sell cake." – "Would you do that?": addressed to the person who agrees.
        let free = |draft: &Draft| {
            !draft.is_dropped && draft.item.owner.is_none() && draft.turn.saturating_add(1) >= here.turn
        };
        match self.last_draft(free) {
            Some(at) => {
                let draft = &mut self.drafts[at];
                draft.is_asked = true;
                draft.speaker = here.speaker.map(str::to_owned);
                draft.turn = here.turn;
                draft.settled = here.index;
                self.pending = Some(at);
            }
            None => self.resolved(here, announcement, None, time),
        }
    }

    /// Sets the owner of a draft.
    pub(super) fn give(
        &mut self,
        at: usize,
        here: Here<'_>,
        announcement: &Announcement,
        owner: Owner,
        time: Option<&Time>,
    ) {
        let index = self.index_of(&owner);
        let draft = &mut self.drafts[at];
        draft.item.owner = Some(owner);
        draft.is_firm = true;
        draft.is_idle = false;
        draft.is_offered = announcement.is_offer && announcement.by == AnnouncedBy::Speaker;
        draft.is_accepted = !announcement.is_asked;
        draft.is_asked = announcement.is_asked;
        draft.is_requested |= announcement.is_asked;
        draft.addressed = index.filter(|_| announcement.is_asked);
        draft.turn = here.turn;
        draft.settled = here.index;
        if let Some(time) = time {
            set_due(draft, here, time);
        }
        if announcement.is_asked {
            self.pending = Some(at);
        }
    }

    /// "Den bestelle ich morgen": earlier words name the object. Without an object there is no item.
    pub(super) fn resolved(
        &mut self,
        here: Here<'_>,
        announcement: &Announcement,
        owner: Option<Owner>,
        time: Option<&Time>,
    ) {
        let Announcement { by, task, is_offer, is_asked, .. } = announcement;
        // "Please" alone requests nothing, and "look" alone nothing specific.
        let is_order = *is_asked && *is_offer && *by != AnnouncedBy::Anybody;
        if (*is_asked && task.is_empty()) || (is_order && !self.points_back(here, announcement)) {
            return;
        }
        let is_others = matches!(by, AnnouncedBy::Named(_) | AnnouncedBy::LastNamed);
        let context = if is_others { self.context_before(here) } else { self.context(here, announcement) };
        let Some(context) = context else {
            // "I'll talk to him tomorrow": the person is unknown.
            let is_own = *by == AnnouncedBy::Speaker && !is_offer && !self.is_empty(here, task.clone());
            if let Some(time) = time.filter(|_| is_own && self.is_long_enough(here, task.clone())) {
                let mut new = draft(here, owner, self.text_of(here, task.clone()), FxHashSet::default(), true);
                new.said = Some((here.index, words_of(here, announcement)));
                new.verbs = self.verbs(here, task.clone());
                set_due(&mut new, here, time);
                self.add(here, new, false);
            }
            return;
        };
        // "I'll take it" has no content of its own, "I'll call him" has.
        let said = if *by == AnnouncedBy::Claim { announcement.start..announcement.end } else { task.clone() };
        let takes = self.is_empty(here, said.clone());
        let is_called_for = *is_asked
            || if takes {
                // "Put me down for it" is more than "me".
                (*by == AnnouncedBy::Claim && context.is_needed && announcement.end - announcement.start > 2)
                    || context.is_asked
                    || context.deadline.is_some()
                    || (time.is_some() && context.is_others)
            } else {
                (time.is_some() && (*by == AnnouncedBy::Speaker || is_others)) || self.points_back(here, announcement)
            };
        if !is_called_for {
            return;
        }
        let words = if said.is_empty() { task.clone() } else { said };
        let text = if takes { context.text } else { format!("{} {}", self.text_of(here, words.clone()), context.text) };
        let index = owner.as_ref().and_then(|owner| self.index_of(owner));
        let mut new = draft(here, owner, text, context.terms, !is_offer && !is_asked);
        new.said = Some((here.index, words_of(here, announcement)));
        new.about = Some(context.sentence);
        new.is_asked = *is_asked;
        new.is_requested = *is_asked && matches!(by, AnnouncedBy::Addressed(_));
        new.addressed = index.filter(|_| *is_asked);
        match (time, context.deadline) {
            (Some(time), _) => set_due(&mut new, here, time),
            (None, Some((due, day))) => {
                new.item.due = Some(due);
                new.item.due_day = day;
            }
            (None, None) => {}
        }
        self.add(here, new, false);
    }

    /// "They want a new policy, we have to hand it in by the tenth": the previous statement is due on a day.
    pub(super) fn needed(&mut self, here: Here<'_>, announcement: &Announcement, time: Option<&Time>) {
        let Some(time) = time.filter(|time| time.is_deadline) else {
            // "It needs to be booked": the previous statement.
            let stands_for_it = announcement.start > 0 && self.stands_for_it(here, announcement.start - 1);
            let is_own = self.stands_for_it(here, announcement.start);
            if (stands_for_it || is_own) && !self.is_empty(here, announcement.task.clone()) {
                self.resolved(here, announcement, None, time);
            }
            return;
        };
        // "When?" – "Should be done by Friday."
        let owner = self.owner_of_speaker(here);
        let is_own = |draft: &Draft| draft.item.owner == owner && draft.turn.saturating_add(2) >= here.turn;
        if owner.is_some() && self.is_asked_when(here) {
            self.dated(here, time, is_own);
            return;
        }
        // "Things we need to fix" are named elsewhere.
        let is_relative = announcement.start.checked_sub(1).is_some_and(|before| {
            let token = &here.sentence.tokens[before];
            token.has(Class::NoTopic) && !token.has(Class::Interjection)
        });
        if is_relative {
            return;
        }
        if let Some(at) = self.last_draft(|draft| !draft.is_dropped && draft.sentence == here.index) {
            self.drafts[at].item.due.is_none().then(|| set_due(&mut self.drafts[at], here, time));
            return;
        }
        let from = announcement.start.saturating_sub(CONTEXT_WORDS);
        let terms = self.terms(here, from..announcement.start, &[]);
        if terms.len() < 2 {
            return;
        }
        let text = self.text_of(here, from..announcement.task.end);
        let mut new = draft(here, None, text, terms, true);
        new.said = Some((here.index, from..announcement.task.end));
        set_due(&mut new, here, time);
        self.add(here, new, false);
    }
}
