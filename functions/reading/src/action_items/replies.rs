//! Replies: yes, no, thanks, "I can't after all", "never mind", and their effect on earlier tasks.

use super::draft::{Draft, Here, draft, set_due};
use super::tracker::{REPLY_TURNS, Tracker};
use crate::languages::classes::Class;
use crate::languages::dates::Due as Time;
use crate::languages::meanings::Meaning;

/// Most turns between a task and its cancellation.
pub(super) const TAKEN_BACK_TURNS: usize = 12;

impl Tracker<'_> {
    /// Handles yes, no or thanks.
    pub(super) fn replied(&mut self, here: Here<'_>, times: &[Time]) {
        let tokens = &here.sentence.tokens;
        let phrases = here.phrases;
        // The longest phrase counts: "no problem" is no refusal.
        let first = {
            let mut at = 0;
            loop {
                let is_meant = |one| matches!(one, Meaning::Yes | Meaning::No | Meaning::Thanks);
                if let Some(found) = phrases.at(tokens, at, is_meant) {
                    break Some(found.meaning);
                }
                let passes = tokens.get(at).is_some_and(|token| {
                    token.has(Class::Interjection) || token.has(Class::Between) || token.has(Class::Joint)
                });
                let is_name = self.names.participant_at(tokens, at, &here.sentence.text).is_some();
                if !(passes || is_name) || at > 6 {
                    break None;
                }
                at += 1;
            }
        };
        // "Yes, but I can't".
        let replies = phrases.all(tokens, |one| matches!(one, Meaning::Yes | Meaning::No));
        let denies = replies.iter().any(|found| found.meaning == Meaning::No && found.end - found.start > 1);
        let is_no = first == Some(Meaning::No) || (here.opens_turn && denies);
        let is_yes = first == Some(Meaning::Yes) && !is_no;
        let is_thanks = first == Some(Meaning::Thanks) || phrases.has(tokens, Meaning::Thanks);
        let speaker = self.speaker_index(here);
        // Another person accepts an offer.
        if (is_yes || is_thanks) && !is_no {
            let offered = self.last_draft(|draft| {
                !draft.is_firm
                    && !draft.is_dropped
                    && !draft.is_asked
                    && !draft.is_idle
                    && draft.item.owner.is_some()
                    && Self::is_other(draft, here)
                    && draft.turn + 1 >= here.turn
            });
            if let Some(offered) = offered {
                let draft = &mut self.drafts[offered];
                draft.is_firm = true;
                draft.turn = here.turn;
                draft.settled = here.index;
                if let Some(time) = times.first().filter(|_| draft.item.due.is_none()) {
                    set_due(draft, here, time);
                }
                return;
            }
        }
        // "Shall I?" – "No, not you."
        let offered = self.last_draft(|draft| {
            draft.is_offered && !draft.is_dropped && draft.turn + 1 >= here.turn && draft.sentence < here.index
        });
        if let Some(offered) = offered.filter(|_| is_no) {
            let draft = &mut self.drafts[offered];
            draft.item.owner = None;
            draft.is_offered = false;
            return;
        }
        let Some(pending) = self.waiting(here) else { return };
        if !Self::is_other(&self.drafts[pending], here) || self.drafts[pending].is_accepted {
            return;
        }
        if is_no && !is_yes {
            let draft = &mut self.drafts[pending];
            if draft.is_asked && (draft.addressed.is_none() || draft.addressed == speaker) {
                draft.is_firm = false;
                draft.item.owner = None;
                draft.addressed = None;
            }
        } else if is_yes && self.drafts[pending].is_asked {
            let is_addressed = self.drafts[pending].addressed.is_none_or(|of| Some(of) == speaker);
            if is_addressed && self.drafts[pending].turn + REPLY_TURNS >= here.turn {
                let owner = self.owner_of_speaker(here);
                let draft = &mut self.drafts[pending];
                draft.item.owner = owner;
                draft.is_firm = true;
                draft.is_accepted = true;
                draft.speaker = here.speaker.map(str::to_owned);
                draft.turn = here.turn;
                draft.settled = here.index;
                if let Some(time) = times.first().filter(|time| draft.item.due.is_none() || time.is_deadline) {
                    set_due(draft, here, time);
                }
            }
        }
    }

    /// "I can't after all": the speaker's task waits for another person.
    pub(super) fn taken_back(&mut self, here: Here<'_>, at: usize, is_announced: bool) {
        // "I was going to print them, but I can't": the sentence itself names the task.
        if self.pending.is_some_and(|pending| self.drafts[pending].sentence == here.index) {
            return;
        }
        let terms = self.terms(here, at..here.sentence.tokens.len(), &[]);
        let owner = self.owner_of_speaker(here);
        let is_own = |draft: &Draft| {
            !draft.is_dropped && draft.item.owner == owner && draft.turn.saturating_add(TAKEN_BACK_TURNS) >= here.turn
        };
        let named = self.last_draft(|draft| is_own(draft) && !draft.terms.is_disjoint(&terms));
        let found = named.or_else(|| if terms.is_empty() { self.last_draft(is_own) } else { None });
        if let Some(found) = found {
            self.free(found, here);
        } else if !terms.is_empty() && is_announced {
            // A task that was not mentioned before can be given up too.
            let task = self.clipped_sentence(here);
            self.pending = Some(self.drafts.len());
            let mut new = draft(here, None, task, terms, false);
            new.said = Some((here.index, at..here.sentence.tokens.len()));
            self.drafts.push(new);
        }
    }

    pub(super) fn never_mind(&mut self, here: Here<'_>) {
        let terms = self.terms(here, 0..here.sentence.tokens.len(), &[]);
        let near = |draft: &Draft| {
            !draft.is_dropped
                && draft.speaker.as_deref() == here.speaker
                && draft.turn.saturating_add(REPLY_TURNS) >= here.turn
        };
        let meant = |draft: &Draft| draft.terms.intersection(&terms).count() * 2 > terms.len();
        let found = self.last_draft(|draft| near(draft) && (terms.is_empty() || meant(draft)));
        if let Some(found) = found {
            self.drafts[found].is_dropped = true;
        }
    }

    /// "I did that last week": a requested or needed task is done.
    pub(super) fn already_done(&mut self, here: Here<'_>) {
        let owner = self.owner_of_speaker(here);
        let is_meant = |draft: &Draft| {
            !draft.is_dropped
                && Self::is_other(draft, here)
                && draft.turn.saturating_add(1) >= here.turn
                && (draft.item.owner.is_none() || draft.item.owner == owner)
        };
        if let Some(at) = self.last_draft(is_meant) {
            self.drafts[at].is_dropped = true;
        }
    }

    /// A joke cancels the task of its sentence; alone, the earlier task of the same speaker.
    pub(super) fn joked(&mut self, here: Here<'_>, first_new: usize) {
        if self.drafts.len() > first_new {
            self.drafts[first_new..].iter_mut().for_each(|draft| draft.is_dropped = true);
        } else if here.sentence.tokens.len() <= 6
            && let Some(last) = self.drafts.last_mut()
            && last.speaker.as_deref() == here.speaker
            && last.sentence + 2 >= here.index
        {
            last.is_dropped = true;
        }
    }
}
