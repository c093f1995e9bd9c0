//! The announcements of a sentence, in order. Only this file defines the order of the checks.

use super::clauses::Grammar;
use super::heads::{AnnouncedBy, Announcement, Head};
use crate::languages::classes::Class;
use crate::languages::token::Break;

impl Grammar<'_> {
    /// Returns the announcements of the sentence in order, none inside another.
    #[must_use]
    pub fn announcements(&self) -> Vec<Announcement> {
        let heads = self.heads();
        let mut found: Vec<Announcement> = Vec::new();
        let mut floor = 0;
        for (index, head) in heads.iter().enumerate() {
            let ceiling = heads.get(index + 1).map_or(self.tokens().len(), |next| self.beginning(next, head.end));
            let task = self.task(head, floor, ceiling.max(head.end));
            floor = ceiling;
            // "I'll send it, then you can read it."
            let follows = head.start > 0 && self.tokens()[head.start - 1].has(Class::Consequence);
            let is_consequence = follows && !found.is_empty() && (head.is_offer || head.is_asked);
            if !is_consequence && self.is_task(head, &task) {
                found.push(Announcement {
                    by: head.by.clone(),
                    start: head.start,
                    end: head.end,
                    verb: self.verb_place(head, &task),
                    task,
                    is_offer: head.is_offer,
                    is_asked: head.is_asked,
                    can: head.can,
                    is_intended: head.is_intended,
                    is_together: head.is_together,
                });
            }
        }
        found
    }

    pub(super) fn heads(&self) -> Vec<Head> {
        let mut heads = Vec::new();
        let mut at = 0;
        while at < self.tokens().len() {
            match self.head(at) {
                // "Pido presupuesto": a noun that looks like a verb follows a verb.
                Some(head)
                    if head.has_verb && heads.last().is_some_and(|last: &Head| self.is_object_of(last, &head)) =>
                {
                    at += 1;
                }
                Some(head) => {
                    at = head.end.max(at + 1);
                    heads.push(head);
                }
                None => at += 1,
            }
        }
        if heads.is_empty() {
            heads.extend(self.wish());
        }
        heads
    }

    pub(super) fn is_object_of(&self, last: &Head, head: &Head) -> bool {
        let token = &self.tokens()[head.start];
        last.has_verb
            && last.end == head.start
            && head.end == head.start + 1
            && head.by == AnnouncedBy::Speaker
            && token.before == Break::None
    }

    pub(super) fn head(&self, at: usize) -> Option<Head> {
        self.told(at)
            .or_else(|| self.named(at))
            .or_else(|| self.inverted(at))
            .or_else(|| self.continued(at))
            .or_else(|| self.phrase(at))
    }
}
