//! Sentences that only look like tasks: negations, conditions, habits, hopes, the past, talk about the meeting.

use std::ops::Range;

use super::clauses::Grammar;
use super::heads::{AnnouncedBy, Head};
use crate::languages::classes::Class;
use crate::languages::dates::Due;
use crate::languages::meanings::Meaning;
use crate::languages::token::Token;
use crate::text::tokens::is_determined;

/// Number of words before an announcement that are searched for a condition.
pub(super) const CONDITION_WORDS: usize = 14;

/// Most words between the start of a temporal clause and a subject.
pub(super) const TEMPORAL_WORDS: usize = 4;

impl Grammar<'_> {
    pub(super) fn is_task(&self, head: &Head, task: &Range<usize>) -> bool {
        if head.by == AnnouncedBy::Label {
            return true;
        }
        let is_anyway = !head.is_together && self.says_of_itself(head, task, Meaning::TaskAnyway);
        let is_claim = head.by == AnnouncedBy::Claim;
        if !is_anyway && !is_claim && !head.is_need && self.says_of_itself(head, task, Meaning::Talk) {
            return false;
        }
        if head.wants_known_verb && !is_anyway && !self.has_known_verb(head, task) {
            return false;
        }
        if head.wants_time && !self.has_time(head.start..task.end) {
            return false;
        }
        let until = |due: &Due| due.is_deadline;
        if head.wants_deadline && !self.times(task.start.min(head.start)..task.end).iter().any(until) {
            return false;
        }
        // "She wants us to shorten it" is a wish and no task of the subject.
        let is_wish = !head.is_told
            && matches!(head.by, AnnouncedBy::Named(_) | AnnouncedBy::LastNamed)
            && !self.tokens()[head.end - 1].has(Class::Going)
            && self.tokens().get(head.end).is_some_and(|token| token.has(Class::Complement));
        if is_wish {
            return false;
        }
        let whose = !matches!(head.by, AnnouncedBy::Addressed(_) | AnnouncedBy::Anybody);
        if head.has_verb && !is_claim && whose && self.is_past(task) {
            return false;
        }
        if self.tells_how_it_is(head, task) || self.is_temporal(head) {
            return false;
        }
        let is_none = self.is_denied(head, task)
            || self.is_conditional(head.start, task)
            || self.is_habit(head, task)
            || self.is_told(head)
            || (whose && self.meets(Meaning::Hope, head.start.saturating_sub(8)..head.start));
        !is_none
    }

    /// Returns true if a phrase of this meaning is at the position of the verb: with its subject, alone, or at the end
    /// of the clause, as in German and Dutch.
    pub(super) fn says_of_itself(&self, head: &Head, task: &Range<usize>, meaning: Meaning) -> bool {
        let verb = self.verb(head);
        let first = if head.has_verb { head.start } else { head.end };
        let is_last = self.phrases.sets_verbs_last() && !head.has_verb && task.end > first + 1;
        let leads = head.is_together || self.tokens()[head.start].has(Class::Pronoun);
        // "Ti chiamo quando arrivo": with the pronoun before its verb.
        let is_clitic = |token: &Token| token.has(Class::Between) && token.has(Class::Dangling);
        let clitic = head.start.checked_sub(1).filter(|before| {
            !self.tokens()[head.start].has(Class::Pronoun)
                && is_clitic(&self.tokens()[*before])
                && !self.tokens()[head.start].is_after_break()
        });
        (leads && self.meets(meaning, head.start..head.start + 1))
            || clitic.is_some_and(|before| self.meets(meaning, before..before + 1))
            || self.meets(meaning, first..verb + 1)
            || (is_last && self.meets(meaning, task.end - 1..task.end))
    }

    pub(super) fn is_past(&self, task: &Range<usize>) -> bool {
        self.tokens()[task.clone()].iter().any(|token| token.has(Class::Past))
    }

    pub(super) fn is_denied(&self, head: &Head, task: &Range<usize>) -> bool {
        let tokens = self.tokens();
        let place = head.start..head.end;
        let reach = if self.phrases.sets_verbs_last() {
            task.end
        } else if self.phrases.denies_before {
            head.end
        } else {
            (head.end + 2).min(task.end.max(head.end))
        };
        // "No tengo que …": the negation precedes, whatever is in between.
        let mut from = head.start;
        while from > 0 && !tokens[from].is_after_break() && tokens[from - 1].has(Class::Between) {
            from -= 1;
        }
        // "Not yet, I'll do it tomorrow", written without a comma: a subject begins a new clause.
        let is_subject = tokens[head.start].has(Class::Pronoun) && !tokens[head.start].has(Class::Object);
        if is_subject {
            from = head.start;
        } else if from > 0 && !tokens[from].is_after_break() {
            from -= 1;
        }
        let reach = reach.min(tokens.len());
        // "Vergiss nicht …" is a request.
        (from..reach).any(|at| {
            let is_own = place.contains(&at) && head.is_asked;
            tokens[at].has(Class::Negation) && !is_own
        })
    }

    pub(super) fn is_conditional(&self, start: usize, task: &Range<usize>) -> bool {
        let tokens = self.tokens();
        let end = task.end.max(start + 1);
        let from = start.saturating_sub(CONDITION_WORDS);
        let begins = |at: usize| {
            at == 0
                || tokens[at].is_after_break()
                || tokens[at - 1].has_any(&[
                    Class::Joint,
                    Class::Interjection,
                    Class::Between,
                    Class::Complement,
                    Class::Opener,
                    Class::Contrary,
                ])
        };
        let is_condition = |at: usize| {
            (tokens[at].has(Class::Condition) || (tokens[at].has(Class::ConditionFirst) && begins(at)))
                && self.phrases.at(tokens, at, |meaning| meaning == Meaning::PoliteCondition).is_none()
                && !self.asks_whether(at)
                // "Se ne occupa Marco".
                && self.phrases.at(tokens, at, Meaning::is_person).is_none()
        };
        // "I'll call him if it breaks again."
        (from..start).chain(end.min(start + 1)..tokens.len().min(end + 1)).any(is_condition)
    }

    /// "Before the roofers come": an action of another person in a temporal clause.
    pub(super) fn is_temporal(&self, head: &Head) -> bool {
        let tokens = self.tokens();
        let is_others = matches!(head.by, AnnouncedBy::Named(_) | AnnouncedBy::LastNamed | AnnouncedBy::Everybody);
        let from = head.start.saturating_sub(TEMPORAL_WORDS);
        let start = (from + 1..=head.start).rev().find(|at| tokens[*at].is_after_break()).unwrap_or(from);
        is_others && tokens[start..head.start].iter().any(|token| token.has(Class::Temporal))
    }

    /// Returns true if the clause describes a habit.
    pub(super) fn is_habit(&self, head: &Head, task: &Range<usize>) -> bool {
        let tokens = self.tokens();
        let mut start = head.start.min(task.start);
        let floor = start.saturating_sub(CONDITION_WORDS);
        while start > floor && !tokens[start].is_after_break() {
            start -= 1;
        }
        let mut end = task.end.max(head.end);
        let ceiling = tokens.len().min(end + CONDITION_WORDS);
        while end < ceiling && !tokens[end].is_after_break() {
            end += 1;
        }
        self.meets(Meaning::Habit, start..end)
    }

    /// "Dominic tells everybody that": an action without time and object is a habit. "Pete leads the team" is a state.
    pub(super) fn tells_how_it_is(&self, head: &Head, task: &Range<usize>) -> bool {
        let tokens = self.tokens();
        let Some(verb) = tokens.get(self.verb(head)).filter(|_| head.has_verb) else { return false };
        let is_habit = || {
            verb.has(Class::Third)
                && !verb.has(Class::ThirdLater)
                && !verb.has(Class::Empty)
                && !task.clone().any(|at| is_determined(tokens, at, self.phrases))
        };
        matches!(head.by, AnnouncedBy::Named(_) | AnnouncedBy::LastNamed)
            && head.end <= head.start + 2
            && (self.meets(Meaning::State, head.start..head.end) || is_habit())
            && !self.has_time(head.start..task.end)
    }
}
