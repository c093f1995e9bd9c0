//! The effect of one announcement of a sentence on the drafts.

use rustc_hash::FxHashSet;

use super::draft::{Draft, Here, UNKNOWN_VERB, draft, is_same, set_due};
use super::item::Owner;
use super::tracker::Tracker;
use super::wording::words_of;
use super::words::gives_speaker;
use crate::commitments::clauses::{Grammar, is_question};
use crate::commitments::heads::{AnnouncedBy, Announcement};
use crate::languages::classes::Class;
use crate::languages::dates::Due as Time;
use crate::languages::meanings::Meaning;
use crate::languages::phrases::Phrases;
use crate::people::{Named, Names};
use crate::text::noun_phrases::word_at;
use crate::text::sentences::Sentence;

/// Most words between a task and a later time that belongs to it.
pub(super) const BEHIND_WORDS: usize = 8;

impl Tracker<'_> {
    pub(super) fn announced(&mut self, here: Here<'_>, announcement: &Announcement, times: &[Time]) {
        let Announcement { by, task, is_offer, is_asked, .. } = announcement;
        // "They'll get the accounts from me" is the speaker's task.
        let is_receiver = matches!(by, AnnouncedBy::Named(_) | AnnouncedBy::LastNamed);
        let by = if is_receiver && gives_speaker(here, task.clone()) { &AnnouncedBy::Speaker } else { by };
        if *by == AnnouncedBy::Label {
            let place = self.bytes(here, task.clone());
            self.labelled(here.index, here.sentence, &here.sentence.text[place]);
            return;
        }
        let within = |time: &&Time| time.start < task.end && time.end > task.start;
        let inside = times.iter().filter(within).find(|time| time.is_deadline).or_else(|| times.iter().find(within));
        // "By Friday, I'll send it."
        let ahead = times.iter().rfind(|time| time.end <= task.start && task.start - time.end <= 4);
        let behind = times.iter().find(|time| time.start >= task.end && time.start - task.end <= BEHIND_WORDS);
        // A distant time belongs to the next task, to which this one is joined.
        let time = inside.or(ahead).or(behind).or(times.first());
        let mut terms = self.terms(here, task.clone(), times);
        // A verb that is in no file is as unspecific as any other.
        let verb = announcement.verb.and_then(|verb| word_at(&here.sentence.words, &here.sentence.tokens[verb].place));
        if let Some(verb) = verb {
            terms.remove(&verb.term);
        }
        let Some((owner, addressed)) = self.whose(here, by) else {
            // "It has to be out by the tenth": the date of the previous statement.
            if let Some(time) = time.filter(|time| time.is_deadline && terms.is_empty()) {
                self.dated(here, time, |draft| draft.turn == here.turn && !Self::is_other(draft, here));
            }
            return;
        };
        let is_passed_on = announcement.is_intended && self.is_passed_on(here, task.end);
        if is_passed_on && let Some(verb) = verb.filter(|_| terms.is_empty()) {
            terms.insert(verb.term);
        }
        let is_bare = self.is_passing_on(here, announcement)
            || (terms.is_empty() && !self.names_another(here, task.clone(), owner.as_ref()));
        // "I wanted to call them tomorrow" is an action; without a time it is only a report.
        let is_idle =
            announcement.is_intended && !is_passed_on && *by == AnnouncedBy::Speaker && (is_bare || time.is_none());
        if is_idle && is_bare {
            return;
        }
        if is_bare && *by == AnnouncedBy::Everybody {
            self.needed(here, announcement, time);
            return;
        }
        if is_bare && *by == AnnouncedBy::Somebody {
            self.resolved(here, announcement, None, time);
            return;
        }
        if is_bare || *by == AnnouncedBy::Claim {
            self.claimed(here, announcement, owner, time);
            return;
        }
        if !self.is_long_enough(here, task.clone()) {
            return;
        }
        let text = self.text_of(here, task.clone());
        if is_passed_on {
            self.passed_on(here, owner, announcement, text, terms);
            return;
        }
        let is_promise =
            announcement.can && !is_question(&here.sentence.text) && self.has_known_verb(here, task.clone());
        let mut new = draft(here, owner, text, terms, (!is_offer || is_promise) && !is_idle);
        new.said = Some((here.index, words_of(here, announcement)));
        new.is_idle = is_idle;
        new.is_proposal = (*is_offer || announcement.is_together) && *by == AnnouncedBy::Everybody;
        new.verbs = self.verbs(here, task.clone());
        // A verb that is in no file is identified by its term.
        new.verbs.extend(verb.filter(|_| new.verbs.is_empty()).map(|verb| verb.term | UNKNOWN_VERB));
        new.addressed = addressed;
        new.is_asked = *is_asked;
        new.is_requested = *is_asked && matches!(by, AnnouncedBy::Addressed(_));
        if let Some(time) = time {
            set_due(&mut new, here, time);
            // An offer with a date is a promise.
            new.is_firm |= *by == AnnouncedBy::Speaker && !here.sentence.text.trim_end().ends_with('?');
        }
        if let Some((due, day)) = self.time_before(here).filter(|_| *is_asked && time.is_none()) {
            (new.item.due, new.item.due_day) = (Some(due), day);
        }
        if *is_asked && new.addressed.is_none() && !self.has_known_verb(here, task.clone()) {
            new.is_firm = false;
        }
        let points_back = self.points_back(here, announcement);
        self.add(here, new, points_back);
    }

    /// "Das übernimmt Peter aus der IT": the task is named before, and the person behind.
    pub(super) fn is_passing_on(&self, here: Here<'_>, announcement: &Announcement) -> bool {
        let tokens = &here.sentence.tokens;
        let stands_for_it = |at: usize| tokens[at].has(Class::Object) && !tokens[announcement.start].is_after_break();
        let before = announcement.task.start.min(announcement.start)..announcement.start;
        matches!(announcement.by, AnnouncedBy::Named(_))
            && self.terms(here, before, &[]).is_empty()
            && tokens[announcement.start].has(Class::Empty)
            && tokens[announcement.start].classes.is_verb()
            && announcement.start.checked_sub(1).is_some_and(stands_for_it)
    }

    /// Returns true if a "but" follows what the speaker was going to do.
    pub(super) fn is_passed_on(&self, here: Here<'_>, from: usize) -> bool {
        let tokens = &here.sentence.tokens;
        let says = |meaning| (from..tokens.len()).any(|at| here.phrases.at(tokens, at, |one| one == meaning).is_some());
        (from.saturating_sub(1)..tokens.len()).any(|at| tokens[at].has(Class::Contrary)) || says(Meaning::TakeBack)
    }

    /// Frees what the speaker was going to do for another owner, whether it was mentioned before or not.
    pub(super) fn passed_on(
        &mut self,
        here: Here<'_>,
        owner: Option<Owner>,
        announcement: &Announcement,
        text: String,
        terms: FxHashSet<u32>,
    ) {
        let mut new = draft(here, owner, text, terms, false);
        new.said = Some((here.index, words_of(here, announcement)));
        new.verbs = self.verbs(here, announcement.task.clone());
        let at = self.last_draft(|known| is_same(known, &new)).unwrap_or_else(|| {
            self.drafts.push(new);
            self.drafts.len() - 1
        });
        self.free(at, here);
    }

    /// Returns the task of a sentence that begins with "action item:" or "todo:", unless the task says whose it is:
    /// "action: I'll call them" is read as a promise.
    pub(super) fn marked<'t>(&self, sentence: &'t Sentence) -> Option<&'t str> {
        let own = sentence.language.phrases();
        let english = Phrases::english();
        // A sentence of an unknown language has no tokens. "TODO" is said in all languages.
        let read = [own, Some(english)].into_iter().flatten();
        let task = read.filter_map(|phrases| label_end(phrases, self.names, &sentence.text)).next()?;
        let grammar = Grammar::of(sentence, self.names);
        let is_owned = grammar.is_some_and(|grammar| {
            grammar.announcements().iter().any(|one| match &one.by {
                AnnouncedBy::Named(named) | AnnouncedBy::Addressed(Some(named)) => {
                    matches!(named, Named::Participant(_))
                }
                AnnouncedBy::Speaker => true,
                _ => false,
            })
        });
        (!is_owned).then(|| &sentence.text[task..])
    }

    /// Adds a task marked by a label or a check box; a name at its beginning is its owner.
    pub(super) fn labelled(&mut self, index: usize, sentence: &Sentence, said: &str) {
        let phrases = sentence.language.phrases().unwrap_or_else(Phrases::english);
        let task = said.trim_matches(|c: char| c.is_whitespace() || ",:;.!–—-@".contains(c));
        let tokens = crate::text::tokens::tokens(task, phrases);
        let named = self.names.participant_at(&tokens, 0, task);
        let (owner, rest) = match named {
            Some((named, end)) => {
                let verb = phrases.at(&tokens, end, |meaning| meaning == Meaning::Person);
                let end = verb.filter(|found| !found.has_verb).map_or(end, |found| found.end);
                // "Bob to send".
                let end = if tokens.get(end).is_some_and(|token| token.lower == "to") { end + 1 } else { end };
                (self.owner(&named), tokens.get(end).map_or("", |token| &task[token.place.start..]))
            }
            None => (None, task),
        };
        if rest.is_empty() {
            return;
        }
        let tokens = crate::text::tokens::tokens(rest, phrases);
        let time = phrases.calendar.all(&tokens, self.held).into_iter().next();
        let terms = self.text.terms_of(rest).into_iter().collect();
        let here = Here { index, sentence, phrases, turn: usize::MAX, speaker: None, opens_turn: false };
        let mut new = Draft { is_marked: true, ..draft(here, owner, rest.to_owned(), terms, true) };
        if let Some(time) = time {
            new.item.due = Some(rest[tokens[time.start].place.start..tokens[time.end - 1].place.end].to_owned());
            new.item.due_day = time.day;
        }
        self.add(here, new, false);
    }
}

/// Returns the place of the task behind a label such as "action item:" at the beginning of a text. "Todo Ann:" and "todo
/// for Ann:" have their task from the name on.
fn label_end(phrases: &Phrases, names: &Names, text: &str) -> Option<usize> {
    let tokens = crate::text::tokens::tokens(text, phrases);
    let label = phrases.at(&tokens, 0, |meaning| meaning == Meaning::Label)?;
    let is_stop = |at: usize| {
        let (last, next) = (tokens.get(at.checked_sub(1)?)?, tokens.get(at)?);
        text[last.place.end..next.place.start].contains([':', '-', '–', '—']).then_some(())
    };
    if is_stop(label.end).is_some() {
        return Some(tokens[label.end].place.start);
    }
    let is_for = tokens.get(label.end).is_some_and(|token| token.has(Class::Preposition));
    let name = label.end + usize::from(is_for);
    let (_, end) = names.participant_at(&tokens, name, text)?;
    is_stop(end).map(|()| tokens[name].place.start)
}
