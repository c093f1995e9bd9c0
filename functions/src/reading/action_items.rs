//! Who is to do what, and by when.
//!
//! Owns what goes from one sentence to the next: a request that the next speaker accepts is theirs, with the date they
//! name; what somebody cannot do after all, another one takes; of several words on one task the last counts. What one
//! sentence announces is `commitments`'.

use std::collections::HashSet;

use chrono::{DateTime, NaiveDate};

use super::commitments::{AnnouncedBy, Announcement, Grammar, is_question};
use super::dates::Due as Time;
use super::lines::{LINE_CHARS_MAX, capitalized, clipped};
use super::material::{Material, Person};
use super::people::{Named, Names};
use super::phrases::{Class, Meaning, Phrases};
use super::text::{Sentence, Source, Text, Word, WordClass, normalized};
use super::tokens::{Break, Token, is_determined};

/// The most action items of one reader.
pub const ACTION_ITEMS_MAX: usize = 10;

/// How many turns later a request can still be accepted, or something passed on.
const REPLY_TURNS: usize = 3;
/// How many words behind the beginning of "I won't be able to …" its verb may stand.
const TAKE_BACK_WORDS: usize = 6;
/// How many turns back something that is not done after all may have been said.
const TAKEN_BACK_TURNS: usize = 12;

/// What tells the term of a verb from the number of one.
const UNKNOWN_VERB: u32 = 1 << 31;
/// How many words behind a task a time may stand that nothing else claims.
const BEHIND_WORDS: usize = 8;
/// The most words of a sentence that adds a date to what was said a moment before.
const DATED_WORDS_MAX: usize = 10;
/// The most words of a question for a date, and of its answer.
const ANSWER_WORDS_MAX: usize = 8;
/// How many sentences before a task may say what it is about.
const CONTEXT_SENTENCES: usize = 3;
/// The most characters of what a task is about.
const CONTEXT_CHARS_MAX: usize = 120;
/// How many words before a task may say what it is about.
const CONTEXT_WORDS: usize = 10;

/// How many items back one is looked for again.
const COMPARED_MAX: usize = 100;

/// Something that somebody, or all, are to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionItem {
    /// None where nobody was named.
    pub owner: Option<Owner>,
    /// What is to be done, in the words of the meeting.
    pub task: String,
    /// By when, as it was said, if it was.
    pub due: Option<String>,
    /// The same as a day, if the words and the day of the meeting tell it.
    pub due_day: Option<NaiveDate>,
}

/// Whose an action item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// None of somebody who is not in the meeting, or whose name several bear.
    pub id: Option<String>,
    /// As the others see them, or as it was said.
    pub name: String,
}

impl ActionItem {
    /// The item as a line: "Ada: send the report by Friday". A due phrase that the task does not contain stands behind
    /// it in brackets.
    #[must_use]
    pub fn line(&self) -> String {
        let task = match &self.owner {
            Some(owner) => format!("{}: {}", owner.name, self.task),
            None => capitalized(&self.task),
        };
        match &self.due {
            Some(due) if !self.task.contains(due.as_str()) => {
                let room = LINE_CHARS_MAX.saturating_sub(due.chars().count() + 3);
                format!("{} ({due})", clipped(&task, room))
            }
            _ => clipped(&task, LINE_CHARS_MAX),
        }
    }

    /// Whether it is this person's.
    #[must_use]
    pub fn is_of(&self, person_id: &str) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.id.as_deref() == Some(person_id))
    }
}

/// The action items of a meeting, each once, in order.
#[must_use]
pub fn action_items(text: &Text, material: &Material, names: &Names) -> Vec<ActionItem> {
    let held = material.held_ms.and_then(DateTime::from_timestamp_millis).map(|time| time.date_naive());
    let mut listener = Listener { text, material, names, held, drafts: Vec::new(), pending: None, last_named: None };
    for (index, sentence) in text.sentences.iter().enumerate() {
        listener.hear(index, sentence);
    }
    listener.items()
}

/// The items for one reader: the reader's own first, then the others', ten at most.
#[must_use]
pub fn items_for<'i>(items: &'i [ActionItem], reader_id: &str) -> Vec<&'i ActionItem> {
    let own = items.iter().filter(|item| item.is_of(reader_id));
    let others = items.iter().filter(|item| !item.is_of(reader_id));
    own.chain(others).take(ACTION_ITEMS_MAX).collect()
}

/// An item that may still change.
#[derive(Debug)]
struct Draft {
    item: ActionItem,
    /// The task by which repetitions are known.
    normal: String,
    /// Terms that tell it from others.
    terms: HashSet<u32>,
    /// Its verbs, by the numbers of its language.
    verbs: HashSet<u32>,
    /// Whether it is one without another word.
    is_firm: bool,
    is_dropped: bool,
    /// Who is asked, if somebody is: nobody else can accept it.
    addressed: Option<usize>,
    /// Whether a plain yes accepts it.
    is_asked: bool,
    /// Whether somebody accepted it.
    is_accepted: bool,
    /// Whether it was somebody's who passed it on.
    is_freed: bool,
    /// Whether it is told of, and no thanks make it a task.
    is_idle: bool,
    /// Whether all were proposed to do it, on which they may agree.
    is_proposal: bool,
    /// Who said it.
    speaker: Option<String>,
    turn: usize,
    sentence: usize,
}

/// What was said before a task that names nothing.
struct Context {
    text: String,
    terms: HashSet<u32>,
    is_asked: bool,
    /// Whether it was not said in the same turn.
    is_others: bool,
    /// Whether somebody else said that something is to be done.
    is_needed: bool,
    /// As it was said, and its day.
    deadline: Option<(String, Option<NaiveDate>)>,
}

/// Where a sentence was said.
#[derive(Clone, Copy)]
struct Here<'t> {
    index: usize,
    sentence: &'t Sentence,
    phrases: &'static Phrases,
    turn: usize,
    /// None in the notes.
    speaker: Option<&'t str>,
    /// Whether it is the first of its turn.
    opens_turn: bool,
}

struct Listener<'a> {
    text: &'a Text,
    material: &'a Material,
    names: &'a Names,
    held: Option<NaiveDate>,
    drafts: Vec<Draft>,
    /// The draft that waits for somebody to take it.
    pending: Option<usize>,
    /// Somebody else who was named, and in which turn.
    last_named: Option<(Named, usize)>,
}

impl Listener<'_> {
    fn items(self) -> Vec<ActionItem> {
        let firm = self.drafts.into_iter().filter(|draft| draft.is_firm && !draft.is_dropped);
        firm.map(|draft| draft.item).collect()
    }

    fn hear(&mut self, index: usize, sentence: &Sentence) {
        match sentence.source {
            Source::DoneTask => {}
            Source::OpenTask => self.labelled(index, sentence, &sentence.text),
            Source::Notes | Source::Turn(_) => {
                if let Some(phrases) = sentence.language.phrases() {
                    let turn = if let Source::Turn(turn) = sentence.source { turn } else { usize::MAX };
                    let opens_turn =
                        index.checked_sub(1).is_none_or(|before| self.text.sentences[before].source != sentence.source);
                    let text: &Text = self.text;
                    let speaker = text.turns.get(turn).map(|turn| turn.speaker_id.as_str());
                    self.said(Here { index, sentence, phrases, turn, speaker, opens_turn });
                }
            }
        }
    }

    fn said(&mut self, here: Here<'_>) {
        let Here { sentence, phrases, .. } = here;
        let tokens = &sentence.tokens;
        let times = phrases.calendar.all(tokens, self.held);
        let first_new = self.drafts.len();
        let grammar = Grammar::of(sentence, self.names);
        let announcements = grammar.map_or_else(Vec::new, |grammar| self.joined(here, grammar.announcements()));
        let first = |meaning| (0..tokens.len()).find(|at| phrases.at(tokens, *at, |one| one == meaning).is_some());
        let joke = |at: usize| phrases.at(tokens, at, |one| one == Meaning::Joke);
        let (mut taken_back, mut never_mind, mut joke) = (None, None, (0..tokens.len()).find_map(joke));
        if here.speaker.is_some() {
            // "Sure, I'll send the invitations tonight": the time is that of the invitations.
            let until = announcements.first().map_or(tokens.len(), |first| first.start);
            let replied: Vec<Time> = times.iter().filter(|time| time.end <= until).cloned().collect();
            self.replied(here, &replied);
            if first(Meaning::AlreadyDone).is_some() {
                self.already_done(here);
            }
            never_mind = first(Meaning::NeverMind);
            taken_back = first(Meaning::TakeBack);
        }
        if never_mind.is_some() {
            self.never_mind(here);
        }
        let is_decision = first(Meaning::Decided).is_some();
        let mut heard = 0;
        for (index, announcement) in announcements.iter().enumerate() {
            if never_mind.is_some_and(|at| announcement.start < at) {
                continue;
            }
            // In the order in which it is said: "I can't after all, Carlos takes it".
            if joke.take_if(|joke| joke.end <= announcement.start).is_some() {
                self.joked(here, first_new);
            }
            if let Some(at) = taken_back.take_if(|at| *at <= announcement.start) {
                self.taken_back(here, at, true);
                // What one cannot do is no task of one's own.
                let is_own = matches!(announcement.by, AnnouncedBy::Speaker | AnnouncedBy::Claim);
                if is_own && announcement.start < at + TAKE_BACK_WORDS {
                    continue;
                }
            }
            self.note_names(here, heard..announcement.start);
            heard = announcement.start;
            // "Then we'll do it in the hall, that's decided" is no task.
            if announcement.by == AnnouncedBy::Everybody && is_decision {
                continue;
            }
            // A time belongs to what is said around it.
            let before = index.checked_sub(1).map_or(0, |before| announcements[before].task.end);
            let behind =
                announcements.get(index + 1).map_or(tokens.len(), |next| next.start).max(announcement.task.end);
            let all = &times;
            let times: Vec<Time> =
                times.iter().filter(|time| time.start >= before && time.end <= behind).cloned().collect();
            let times = if times.is_empty() { self.shared(here, &announcements[index..], all) } else { times };
            self.announced(here, announcement, &times);
        }
        if announcements.is_empty() {
            self.added(here, &times);
        }
        if let Some(at) = taken_back {
            self.taken_back(here, at, !announcements.is_empty());
        }
        if joke.is_some() {
            self.joked(here, first_new);
        }
        // What was proposed and is agreed on is a decision and waits for nobody.
        let asks_consent = first(Meaning::Consent).is_some() && is_question(&sentence.text);
        if first(Meaning::Agreed).is_some() || is_decision || asks_consent {
            let agreed = |draft: &Draft| {
                draft.is_proposal
                    && draft.item.owner.is_none()
                    && draft.item.due.is_none()
                    && draft.turn.saturating_add(REPLY_TURNS) >= here.turn
                    && draft.sentence < here.index
            };
            if let Some(at) = self.last_draft(agreed) {
                self.drafts[at].is_dropped = true;
            }
        }
        // Who says yes to a decision takes on nothing.
        if asks_consent {
            self.pending = None;
        }
        self.note_names(here, heard..tokens.len());
    }

    /// The time of the next task of the same person, if it is joined to this one: "I change the sign and post it tomorrow".
    fn shared(&self, here: Here<'_>, announcements: &[Announcement], times: &[Time]) -> Vec<Time> {
        let [this, next, ..] = announcements else { return Vec::new() };
        let between = this.task.end.min(next.start)..next.start;
        let is_joined = here.sentence.tokens[between].iter().any(|token| token.has(Class::Joint));
        let is_same = this.by == AnnouncedBy::Speaker && next.by == this.by && this.is_offer == next.is_offer;
        if !is_same || !is_joined || next.start > this.task.end + 2 {
            return Vec::new();
        }
        times.iter().filter(|time| time.start >= next.start && time.end <= next.task.end).cloned().collect()
    }

    /// "I'll write it. You'll have it by Friday." – "When?" – "Tomorrow.": a date that is said later.
    fn added(&mut self, here: Here<'_>, times: &[Time]) {
        let owner = self.owner_of_speaker(here);
        let is_own = |draft: &Draft| draft.item.owner.is_some() && draft.item.owner == owner;
        if let Some(time) = times.iter().find(|time| time.is_deadline) {
            // "The text will be ready by Wednesday" may come when the others have agreed.
            let turns = if here.sentence.tokens.len() <= DATED_WORDS_MAX { 2 } else { 0 };
            self.dated(here, time, |draft| is_own(draft) && draft.turn.saturating_add(turns) >= here.turn);
        }
        let is_short = here.sentence.tokens.len() <= ANSWER_WORDS_MAX;
        if let Some(time) = times.first().filter(|_| is_short && here.opens_turn && self.is_asked_when(here)) {
            self.dated(here, time, |draft| is_own(draft) && draft.turn.saturating_add(2) >= here.turn);
        }
    }

    /// Whether the sentence before asks until when.
    fn is_asked_when(&self, here: Here<'_>) -> bool {
        let before = here.index.checked_sub(1).map(|before| &self.text.sentences[before]);
        before.is_some_and(|before| {
            before.tokens.len() <= ANSWER_WORDS_MAX
                && before.language.phrases().is_some_and(|phrases| phrases.has(&before.tokens, Meaning::When))
        })
    }

    /// "I'll call him tomorrow and ask for an offer": what names nothing by itself belongs to what the same person is to do
    /// next.
    fn joined(&self, here: Here<'_>, announcements: Vec<Announcement>) -> Vec<Announcement> {
        let tokens = &here.sentence.tokens;
        let has_time = |words: std::ops::Range<usize>| !here.phrases.calendar.all(&tokens[words], None).is_empty();
        // "I'll collect them and hand them out": the second task names nothing but the first one's thing.
        let goes_on = |task: std::ops::Range<usize>| {
            let from = task.start.saturating_sub(1);
            (from..task.end).any(|at| self.stands_for_it(here, at)) || self.terms(here, task, &[]).is_empty()
        };
        let mut joined: Vec<Announcement> = Vec::new();
        for announcement in announcements {
            let belongs = |last: &&mut Announcement| {
                last.by == AnnouncedBy::Speaker
                    && announcement.by == AnnouncedBy::Speaker
                    && last.is_offer == announcement.is_offer
                    && announcement.start > last.task.start
                    && announcement.start <= last.task.end + 2
                    && tokens[last.task.end..announcement.start].iter().any(|token| token.has(Class::Joint))
                    && (self.terms(here, last.task.clone(), &[]).is_empty() || goes_on(announcement.task.clone()))
                    && !(has_time(last.start..last.task.end) && has_time(announcement.start..announcement.task.end))
                    && !tokens[announcement.start].has(Class::Pronoun)
            };
            match joined.last_mut().filter(belongs) {
                Some(last) => last.task.end = announcement.task.end,
                None => joined.push(announcement),
            }
        }
        joined
    }

    /// A joke takes back what was said in its sentence; alone, what the same person said before.
    fn joked(&mut self, here: Here<'_>, first_new: usize) {
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

    /// Remembers who was named besides those who speak, for "she'll send it".
    fn note_names(&mut self, here: Here<'_>, words: std::ops::Range<usize>) {
        let tokens = &here.sentence.tokens;
        let mut at = words.start;
        while at < words.end {
            if let Some((named, end)) = self.names.at(tokens, at, &here.sentence.text, here.phrases) {
                let is_speaker = matches!(&named, Named::Participant(index) if self.material.people.get(*index).map(|person| person.id.as_str()) == here.speaker);
                // "Priti from support usually writes those": the first word has a capital anyway.
                let is_subject = tokens.get(end).is_some_and(|next| {
                    next.before == Break::None && (next.has(Class::Preposition) || next.has(Class::Between))
                });
                let is_noun =
                    matches!(named, Named::Other(_)) && (here.phrases.capital_nouns || (at == 0 && !is_subject));
                if !is_speaker && !is_noun {
                    self.last_named = Some((named, here.turn));
                }
                at = end;
                continue;
            }
            // "My husband is an engineer" is about the husband.
            let is_told_of = at > 0
                && tokens[at - 1].has(Class::Empty)
                && !tokens[at - 1].has(Class::Determiner)
                && !tokens[at - 1].has(Class::Preposition)
                && tokens[at].before == Break::None;
            // "Kelly from marketing" is Kelly.
            let is_added = at > 0 && tokens[at].before == Break::None && tokens[at - 1].has(Class::Preposition);
            if tokens[at].has(Class::Role) && !is_told_of && !is_added {
                // "The court reporter".
                let is_part = |start: usize| {
                    let before = &tokens[start - 1];
                    tokens[start].before == Break::None
                        && before.classes == super::phrases::Classes::default()
                        && before.lower.chars().all(char::is_alphabetic)
                };
                let mut start = at;
                while start > 0 && at - start < 2 && is_part(start) {
                    start -= 1;
                }
                let is_whole = start > 0 && tokens[start - 1].has(Class::Determiner);
                let start = if is_whole { start } else { at };
                let said = here.sentence.text[tokens[start].place.start..tokens[at].place.end].to_owned();
                self.last_named = Some((Named::Other(said), here.turn));
            }
            at += 1;
        }
    }

    /// The last of the newest drafts that fits.
    fn last_draft(&self, fits: impl Fn(&Draft) -> bool) -> Option<usize> {
        let from = self.drafts.len().saturating_sub(COMPARED_MAX);
        self.drafts[from..].iter().rposition(fits).map(|at| from + at)
    }

    /// What waits for an answer, if this can be one.
    fn waiting(&self, here: Here<'_>) -> Option<usize> {
        let pending = self.pending?;
        let draft = &self.drafts[pending];
        let is_near = draft.turn.saturating_add(REPLY_TURNS) >= here.turn;
        (is_near && !draft.is_dropped).then_some(pending)
    }

    fn is_other(draft: &Draft, here: Here<'_>) -> bool {
        draft.speaker.as_deref() != here.speaker
    }

    /// Yes, no or thanks to what was said before.
    fn replied(&mut self, here: Here<'_>, times: &[Time]) {
        let tokens = &here.sentence.tokens;
        let phrases = here.phrases;
        // The longest phrase counts: "no problem" is no no.
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
        // An offer that somebody else takes up.
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
                if let Some(time) = times.first().filter(|_| draft.item.due.is_none()) {
                    set_due(draft, here, time);
                }
                return;
            }
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
                if let Some(time) = times.first().filter(|time| draft.item.due.is_none() || time.is_deadline) {
                    set_due(draft, here, time);
                }
            }
        }
    }

    /// "I can't after all": what the speaker took on waits for somebody else.
    fn taken_back(&mut self, here: Here<'_>, at: usize, is_announced: bool) {
        // "I was going to print them, but I can't": the sentence itself has said what.
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
            // What was never said before can be passed on all the same.
            let task = self.clipped_sentence(here);
            self.pending = Some(self.drafts.len());
            self.drafts.push(draft(here, None, task, terms, false));
        }
    }

    /// Lets a draft wait for somebody else.
    fn free(&mut self, at: usize, here: Here<'_>) {
        let draft = &mut self.drafts[at];
        draft.item.owner = None;
        draft.addressed = None;
        draft.is_firm = false;
        draft.is_asked = false;
        draft.is_accepted = false;
        draft.is_freed = true;
        draft.turn = here.turn;
        draft.sentence = here.index;
        self.pending = Some(at);
    }

    fn never_mind(&mut self, here: Here<'_>) {
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

    /// "I did that last week": what the others asked for or needed is no task any more.
    fn already_done(&mut self, here: Here<'_>) {
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

    fn announced(&mut self, here: Here<'_>, announcement: &Announcement, times: &[Time]) {
        let Announcement { by, task, is_offer, is_asked, .. } = announcement;
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
        // A time far behind is that of the next task, to which this one is joined.
        let time = inside.or(ahead).or(behind).or(times.first());
        let mut terms = self.terms(here, task.clone(), times);
        // A verb that is in no file says no more of what it is about than another one.
        let verb = announcement.verb.and_then(|verb| word_at(&here.sentence.words, &here.sentence.tokens[verb].place));
        if let Some(verb) = verb {
            terms.remove(&verb.term);
        }
        let Some((owner, addressed)) = self.whose(here, by) else {
            // "It has to be out by the tenth": the date of what was said just before.
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
        // "I wanted to call them tomorrow" is said of what one does; without a time it only tells of oneself.
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
        let text = self.with_context(here, announcement);
        if is_passed_on {
            self.passed_on(here, owner, task, text, terms);
            return;
        }
        let is_promise =
            announcement.can && !is_question(&here.sentence.text) && self.has_known_verb(here, task.clone());
        let mut new = draft(here, owner, text, terms, (!is_offer || is_promise) && !is_idle);
        new.is_idle = is_idle;
        new.is_proposal = (*is_offer || announcement.is_together) && *by == AnnouncedBy::Everybody;
        new.verbs = self.verbs(here, task.clone());
        // One that is in no file is known by its term.
        new.verbs.extend(verb.filter(|_| new.verbs.is_empty()).map(|verb| verb.term | UNKNOWN_VERB));
        new.addressed = addressed;
        new.is_asked = *is_asked;
        if let Some(time) = time {
            set_due(&mut new, here, time);
            // An offer with a date is a promise.
            new.is_firm |= *by == AnnouncedBy::Speaker && !here.sentence.text.trim_end().ends_with('?');
        }
        if *is_asked && new.addressed.is_none() && !self.has_known_verb(here, task.clone()) {
            new.is_firm = false;
        }
        let points_back = self.points_back(here, announcement);
        self.add(here, new, points_back);
    }

    /// The words of a task; if a pronoun in it stands for something that was said before, that stands behind it in
    /// brackets.
    fn with_context(&self, here: Here<'_>, announcement: &Announcement) -> String {
        let task = &announcement.task;
        let said = self.text_of(here, task.clone());
        let from = announcement.start.saturating_sub(2).min(task.start);
        let tokens = &here.sentence.tokens;
        let Some(grammar) = Grammar::of(here.sentence, self.names) else { return said };
        // "The wall crumbles. Somebody should get an offer.": what is nobody's is told with what it is about.
        let is_nobodys = matches!(announcement.by, AnnouncedBy::Somebody | AnnouncedBy::Everybody);
        let before = here.index.checked_sub(1).map(|before| &self.text.sentences[before]);
        let before = before.filter(|before| before.source == here.sentence.source && !is_question(&before.text));
        if let Some(before) = before.filter(|_| is_nobodys && !announcement.is_together) {
            return format!("{said} ({})", ending(before.text.trim_end_matches(['.', '!', ',', ' '])));
        }
        // "Do that by card and keep the receipt": a noun behind the pronoun is another thing, if the verb says nothing.
        let stands = (from..task.end).find(|at| self.stands_for_it(here, *at)).filter(|at| {
            let says_nothing = *at > from && tokens[*at - 1].has(Class::Empty);
            let until = if says_nothing || *at < task.start { *at } else { task.end };
            !grammar.has_noun(from..until)
        });
        if stands.is_none() {
            return said;
        }
        let is_others = matches!(announcement.by, AnnouncedBy::Named(_) | AnnouncedBy::LastNamed);
        let context = if is_others { self.context_before(here) } else { self.context(here, announcement) };
        match context {
            Some(context) if !context.text.contains(&said) => format!("{said} ({})", context.text),
            _ => said,
        }
    }

    /// Whether a word stands for a thing that was spoken of: a pronoun, and no article before its noun.
    fn stands_for_it(&self, here: Here<'_>, at: usize) -> bool {
        let tokens = &here.sentence.tokens;
        let token = &tokens[at];
        let is_article = token.has(Class::Determiner)
            && tokens.get(at + 1).is_some_and(|next| {
                let is_verb = next.classes.is_verb() && !(here.phrases.capital_nouns && next.has_capital);
                let is_other = [Class::Modal, Class::Between, Class::Preposition, Class::Pronoun, Class::Negation];
                next.before == Break::None && !is_verb && !is_other.iter().any(|class| next.has(*class))
            });
        token.has(Class::Object) && !is_article
    }

    /// "Das übernimmt Peter aus der IT": what is passed on stands before, and who he is behind.
    fn is_passing_on(&self, here: Here<'_>, announcement: &Announcement) -> bool {
        let tokens = &here.sentence.tokens;
        let stands_for_it = |at: usize| tokens[at].has(Class::Object) && !tokens[announcement.start].is_after_break();
        let before = announcement.task.start.min(announcement.start)..announcement.start;
        matches!(announcement.by, AnnouncedBy::Named(_))
            && self.terms(here, before, &[]).is_empty()
            && tokens[announcement.start].has(Class::Empty)
            && tokens[announcement.start].classes.is_verb()
            && announcement.start.checked_sub(1).is_some_and(stands_for_it)
    }

    /// Whether a "but" follows what somebody was going to do.
    fn is_passed_on(&self, here: Here<'_>, from: usize) -> bool {
        let tokens = &here.sentence.tokens;
        let says = |meaning| (from..tokens.len()).any(|at| here.phrases.at(tokens, at, |one| one == meaning).is_some());
        (from.saturating_sub(1)..tokens.len()).any(|at| tokens[at].has(Class::Contrary)) || says(Meaning::TakeBack)
    }

    /// What somebody was going to do waits for somebody else, whether it was spoken of before or not.
    fn passed_on(
        &mut self,
        here: Here<'_>,
        owner: Option<Owner>,
        task: &std::ops::Range<usize>,
        text: String,
        terms: HashSet<u32>,
    ) {
        let mut new = draft(here, owner, text, terms, false);
        new.verbs = self.verbs(here, task.clone());
        let at = self.last_draft(|known| is_same(known, &new)).unwrap_or_else(|| {
            self.drafts.push(new);
            self.drafts.len() - 1
        });
        self.free(at, here);
    }

    /// Gives the last draft that fits a date, unless it has one.
    fn dated(&mut self, here: Here<'_>, time: &Time, fits: impl Fn(&Draft) -> bool) {
        if let Some(at) = self.last_draft(|draft| !draft.is_dropped && draft.is_firm && fits(draft))
            && self.drafts[at].item.due.is_none()
        {
            set_due(&mut self.drafts[at], here, time);
        }
    }

    fn has_known_verb(&self, here: Here<'_>, task: std::ops::Range<usize>) -> bool {
        here.sentence.tokens[task].iter().any(|token| token.classes.is_verb())
    }

    /// Whether a task names somebody besides its owner ("call Bob").
    fn names_another(&self, here: Here<'_>, task: std::ops::Range<usize>, owner: Option<&Owner>) -> bool {
        let tokens = &here.sentence.tokens;
        task.into_iter().any(|at| {
            let named = self.names.participant_at(tokens, at, &here.sentence.text);
            named.is_some_and(|(named, _)| self.owner(&named).as_ref() != owner)
        })
    }

    /// A task has two words at least; the first can be an article that is part of its phrase.
    fn is_long_enough(&self, here: Here<'_>, task: std::ops::Range<usize>) -> bool {
        let is_determined = |at: usize| is_determined(&here.sentence.tokens, at, here.phrases);
        here.speaker.is_none() || task.len() >= 2 || (task.len() == 1 && is_determined(task.start))
    }

    /// A task that names nothing: what was spoken of before is meant.
    fn claimed(&mut self, here: Here<'_>, announcement: &Announcement, owner: Option<Owner>, time: Option<&Time>) {
        let is_asked = announcement.is_asked;
        let Some(owner) = owner else {
            self.asked_for(here, announcement, time);
            return;
        };
        let names_whom =
            matches!(announcement.by, AnnouncedBy::Named(_) | AnnouncedBy::Addressed(Some(_)) | AnnouncedBy::LastNamed);
        let is_theirs = |draft: &Draft| draft.item.owner.as_ref() == Some(&owner);
        let is_free = |draft: &Draft| draft.item.owner.is_none();
        // What was passed on is taken by a word that says nothing else ("I'll do it"), or by the same verb.
        let verbs = self.verbs(here, announcement.start..announcement.task.end.max(announcement.end));
        let is_specific = !self.is_empty(here, announcement.task.clone());
        // "The plumber comes on Monday" takes on nothing that was asked for.
        // "Shall I talk to him?" takes on nothing that was asked for.
        if announcement.is_offer
            && is_specific
            && announcement.by == AnnouncedBy::Speaker
            && !self.points_back(here, announcement)
        {
            return;
        }
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
        let index = self.material.people.iter().position(|person| Some(&person.id) == owner.id.as_ref());
        let is_theirs_to_answer = |draft: &Draft| draft.addressed.is_none() || draft.addressed == index;
        let is_meant = |draft: &Draft| is_same(draft) || (!draft.is_freed && is_theirs_to_answer(draft));
        let target = self.waiting(here).filter(|at| is_meant(&self.drafts[*at])).or_else(|| {
            self.last_draft(|draft| {
                recent(draft)
                    && (is_theirs(draft) || is_free(draft) || names_whom)
                    && (is_same(draft) || is_free(draft))
            })
        });
        if let Some(target) = target {
            let draft = &self.drafts[target];
            let is_taken = draft.is_accepted && draft.item.owner.as_ref().is_some_and(|known| *known != owner);
            let is_meant = draft.addressed.is_none_or(|of| {
                self.material.people.get(of).is_some_and(|person| Some(&person.id) == owner.id.as_ref())
            });
            if !is_taken && (is_meant || !is_asked || names_whom) {
                self.give(target, here, announcement, owner, time);
                return;
            }
        }
        self.resolved(here, announcement, Some(owner), time);
    }

    /// A request for something that was spoken of, made to nobody by name.
    fn asked_for(&mut self, here: Here<'_>, announcement: &Announcement, time: Option<&Time>) {
        let stands_for_it = self.points_back(here, announcement) || self.is_empty(here, announcement.task.clone());
        if !announcement.is_asked || !stands_for_it {
            return;
        }
        // "Yes, do that by tomorrow": whoever has just taken it on is meant.
        let is_taken = |draft: &Draft| {
            Self::is_other(draft, here) && draft.turn.saturating_add(1) >= here.turn && draft.item.owner.is_some()
        };
        if let Some(time) = time.filter(|_| announcement.by != AnnouncedBy::Whoever)
            && self.last_draft(|draft| !draft.is_dropped && draft.is_firm && is_taken(draft)).is_some()
        {
            self.dated(here, time, is_taken);
            return;
        }
        // "We could sell cake." – "Would you do that?": whoever says yes.
        let free = |draft: &Draft| {
            !draft.is_dropped && draft.item.owner.is_none() && draft.turn.saturating_add(1) >= here.turn
        };
        match self.last_draft(free) {
            Some(at) => {
                let draft = &mut self.drafts[at];
                draft.is_asked = true;
                draft.speaker = here.speaker.map(str::to_owned);
                draft.turn = here.turn;
                self.pending = Some(at);
            }
            None => self.resolved(here, announcement, None, time),
        }
    }

    /// Makes a draft somebody's.
    fn give(&mut self, at: usize, here: Here<'_>, announcement: &Announcement, owner: Owner, time: Option<&Time>) {
        let index = self.material.people.iter().position(|person| Some(&person.id) == owner.id.as_ref());
        let verbs = self.verbs(here, announcement.task.clone());
        let is_claim = announcement.by == AnnouncedBy::Claim;
        let words = if is_claim { announcement.start..announcement.end } else { announcement.task.clone() };
        let says_more = (is_claim || announcement.by == AnnouncedBy::Speaker)
            && !words.is_empty()
            && !self.is_empty(here, words.clone())
            && self.has_known_verb(here, words.clone())
            && verbs.is_disjoint(&self.drafts[at].verbs);
        let said = self.text_of(here, words);
        let draft = &mut self.drafts[at];
        // "Could you look at it?" – "I'll call them": what they are going to do, in their own words.
        if says_more && !draft.item.task.contains(&said) && draft.item.task.chars().count() <= CONTEXT_CHARS_MAX {
            draft.item.task = format!("{said} ({})", draft.item.task.replace(['(', ')'], ""));
        }
        draft.item.owner = Some(owner);
        draft.is_firm = true;
        draft.is_idle = false;
        draft.is_accepted = !announcement.is_asked;
        draft.is_asked = announcement.is_asked;
        draft.addressed = index.filter(|_| announcement.is_asked);
        draft.turn = here.turn;
        if let Some(time) = time {
            set_due(draft, here, time);
        }
        if announcement.is_asked {
            self.pending = Some(at);
        }
    }

    /// "Den bestelle ich morgen": what was said before says what. What nothing says is no item.
    fn resolved(&mut self, here: Here<'_>, announcement: &Announcement, owner: Option<Owner>, time: Option<&Time>) {
        let Announcement { by, task, is_offer, is_asked, .. } = announcement;
        // "Please" alone asks for nothing, "look" alone for nothing that is known.
        let is_order = *is_asked && *is_offer && *by != AnnouncedBy::Whoever;
        if (*is_asked && task.is_empty()) || (is_order && !self.points_back(here, announcement)) {
            return;
        }
        let is_others = matches!(by, AnnouncedBy::Named(_) | AnnouncedBy::LastNamed);
        let context = if is_others { self.context_before(here) } else { self.context(here, announcement) };
        let Some(context) = context else {
            // "I'll talk to him tomorrow": who, nobody said.
            let is_own = *by == AnnouncedBy::Speaker && !is_offer && !self.is_empty(here, task.clone());
            if let Some(time) = time.filter(|_| is_own && self.is_long_enough(here, task.clone())) {
                let mut new = draft(here, owner, self.text_of(here, task.clone()), HashSet::new(), true);
                new.verbs = self.verbs(here, task.clone());
                set_due(&mut new, here, time);
                self.add(here, new, false);
            }
            return;
        };
        // "I'll take it" says nothing of its own, "I'll call him" does.
        let said = if *by == AnnouncedBy::Claim { announcement.start..announcement.end } else { task.clone() };
        let takes = self.is_empty(here, said.clone());
        let is_called_for = *is_asked
            || if takes {
                // "Put me down for it" says more than "me".
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
        let said = self.text_of(here, said);
        let text = if takes || said.is_empty() { context.text } else { format!("{said} ({})", context.text) };
        let index = owner
            .as_ref()
            .and_then(|owner| self.material.people.iter().position(|person| Some(&person.id) == owner.id.as_ref()));
        let mut new = draft(here, owner, text, context.terms, !is_offer && !is_asked);
        new.is_asked = *is_asked;
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

    /// What was said before a task that names nothing: in the same sentence, or in one of those before it.
    fn context(&self, here: Here<'_>, announcement: &Announcement) -> Option<Context> {
        let own = announcement.start.saturating_sub(CONTEXT_WORDS)..announcement.start;
        let terms = self.terms(here, own.clone(), &[]);
        if !terms.is_empty() {
            let text = self.text_of(here, own);
            return Some(Context { text, terms, is_asked: false, is_others: false, is_needed: false, deadline: None });
        }
        self.context_before(here)
    }

    /// What the sentences before say that names something.
    fn context_before(&self, here: Here<'_>) -> Option<Context> {
        let said = |wants_noun: bool| {
            (here.index.saturating_sub(CONTEXT_SENTENCES)..here.index).rev().find_map(|index| {
                let sentence = &self.text.sentences[index];
                let phrases = sentence.language.phrases()?;
                let there = Here { index, sentence, phrases, ..here };
                let terms = self.terms(there, 0..sentence.tokens.len(), &[]);
                let grammar = Grammar::of(sentence, self.names)?;
                let is_noun = terms.len() > 2 || grammar.has_noun(0..sentence.tokens.len());
                let is_quoted = sentence.tokens.iter().any(|token| token.has(Class::Report));
                if terms.is_empty() || is_quoted || (wants_noun && !is_noun) {
                    return None;
                }
                let times = phrases.calendar.all(&sentence.tokens, self.held);
                let deadline = times.iter().find(|time| time.is_deadline).map(|time| due_of(there, time));
                // "Number three, the maypole. It has to be down by July." says what only with the sentence before.
                let points_back = sentence.tokens.first().is_some_and(|first| first.has(Class::ThirdPronoun));
                let before = index.checked_sub(1).map(|before| &self.text.sentences[before]);
                let before = before.filter(|before| points_back && before.source == sentence.source);
                let said = before.map_or_else(String::new, |before| format!("{} ", before.text));
                let said = format!("{said}{}", sentence.text);
                Some(Context {
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

    /// "They want a new policy, we have to hand it in by the tenth": what was said just before is to be done by a day.
    fn needed(&mut self, here: Here<'_>, announcement: &Announcement, time: Option<&Time>) {
        let Some(time) = time.filter(|time| time.is_deadline) else {
            // "It needs to be booked": what was said just before.
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
        // "Things we need to fix" are told elsewhere.
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
        set_due(&mut new, here, time);
        self.add(here, new, false);
    }

    /// Whether a pronoun of a task stands for something that was said before.
    fn points_back(&self, here: Here<'_>, announcement: &Announcement) -> bool {
        let from = announcement.start.saturating_sub(2).min(announcement.task.start);
        here.sentence.tokens[from..announcement.task.end].iter().any(|token| token.has(Class::Object))
    }

    /// Whether a task has not even a verb that says something ("do it").
    fn is_empty(&self, here: Here<'_>, task: std::ops::Range<usize>) -> bool {
        here.sentence.tokens[task].iter().all(|token| {
            token.has(Class::Empty)
                || token.has(Class::Between)
                || token.has(Class::Pronoun)
                || token.has(Class::Determiner)
                || here.phrases.calendar.is_word(&token.lower)
        })
    }

    /// Adds a draft unless it is there already. Of the same task with and without an owner, the one with them stays.
    /// `points_back` says whether a pronoun of the new one can stand for what was asked for.
    fn add(&mut self, here: Here<'_>, new: Draft, points_back: bool) {
        let same = self.last_draft(|known| is_same(known, &new));
        if let Some(at) = same.or_else(|| self.answered(here, &new, points_back)) {
            let known = &mut self.drafts[at];
            // Who has it already is not asked once more.
            let is_asked = new.is_asked && known.item.owner.is_none();
            known.item.owner = known.item.owner.take().or(new.item.owner);
            known.is_firm |= new.is_firm;
            if new.item.due.is_some() && (known.item.due.is_none() || new.turn > known.turn) {
                known.item.due = new.item.due;
                known.item.due_day = new.item.due_day;
            }
            known.turn = new.turn;
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

    /// The request that a draft answers in other words ("Can you ask the board?" – "Okay, I'll write to the board").
    fn answered(&self, here: Here<'_>, new: &Draft, points_back: bool) -> Option<usize> {
        // "We need to update the plan." – … – "I'll update it.": the same verb tells it, though more was said since.
        let again = || {
            let is_meant = |known: &Draft| {
                !known.is_dropped
                    && known.item.owner.is_none()
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
            (is_free && (known.is_asked || points_back)) || is_own
        } else {
            points_back && new.is_firm && ((is_free && is_next && !known.is_freed && known.is_firm) || is_own)
        };
        (!new.is_asked && new.item.owner.is_some() && is_answer).then_some(pending).or_else(again)
    }

    /// Whose a task is; None where it is nobody's that can be told, and no item either.
    fn whose(&self, here: Here<'_>, by: &AnnouncedBy) -> Option<(Option<Owner>, Option<usize>)> {
        Some(match by {
            AnnouncedBy::Speaker | AnnouncedBy::Claim => (self.owner_of_speaker(here), None),
            AnnouncedBy::Named(named) => (self.owner(named), None),
            AnnouncedBy::LastNamed => match &self.last_named {
                Some((named, turn)) if turn.saturating_add(2) >= here.turn => (self.owner(named), None),
                _ => return None,
            },
            AnnouncedBy::Addressed(Some(named)) => {
                let index = if let Named::Participant(index) = named { Some(*index) } else { None };
                (self.owner(named), index)
            }
            AnnouncedBy::Addressed(None) => {
                let other = self.only_other(here);
                (other.and_then(|index| self.owner(&Named::Participant(index))), other)
            }
            AnnouncedBy::Everybody | AnnouncedBy::Somebody | AnnouncedBy::Whoever | AnnouncedBy::Label => (None, None),
        })
    }

    /// The other one of two.
    fn only_other(&self, here: Here<'_>) -> Option<usize> {
        let speaker = here.speaker?;
        match &self.material.people[..] {
            [first, second] if first.id == speaker && second.id != speaker => Some(1),
            [first, second] if second.id == speaker && first.id != speaker => Some(0),
            _ => None,
        }
    }

    fn speaker_of(&self, sentence: &Sentence) -> Option<&str> {
        let Source::Turn(turn) = sentence.source else { return None };
        self.text.turns.get(turn).map(|turn| turn.speaker_id.as_str())
    }

    fn speaker_index(&self, here: Here<'_>) -> Option<usize> {
        let speaker = here.speaker?;
        self.material.people.iter().position(|person| person.id == speaker)
    }

    fn owner_of_speaker(&self, here: Here<'_>) -> Option<Owner> {
        let turn = self.text.turns.get(here.turn)?;
        let person = self.material.people.iter().find(|person| person.id == turn.speaker_id);
        Some(
            person
                .map_or_else(|| Owner { id: Some(turn.speaker_id.clone()), name: turn.speaker_name.clone() }, owner_of),
        )
    }

    fn owner(&self, named: &Named) -> Option<Owner> {
        match named {
            Named::Participant(index) => self.material.people.get(*index).map(owner_of),
            Named::Other(name) => Some(Owner { id: None, name: capitalized(name) }),
        }
    }

    /// A task of which a label or a check box says that it is one; a name at its beginning is its owner's.
    fn labelled(&mut self, index: usize, sentence: &Sentence, said: &str) {
        let phrases = sentence.language.phrases().unwrap_or_else(Phrases::english);
        let task = said.trim_matches(|c: char| c.is_whitespace() || ",:;.!–—-@".contains(c));
        let tokens = super::tokens::tokens(task, phrases);
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
        let tokens = super::tokens::tokens(rest, phrases);
        let time = phrases.calendar.all(&tokens, self.held).into_iter().next();
        let terms = self.text.terms_of(rest).into_iter().collect();
        let here = Here { index, sentence, phrases, turn: usize::MAX, speaker: None, opens_turn: false };
        let mut new = draft(here, owner, rest.to_owned(), terms, true);
        if let Some(time) = time {
            new.item.due = Some(rest[tokens[time.start].place.start..tokens[time.end - 1].place.end].to_owned());
            new.item.due_day = time.day;
        }
        self.add(here, new, false);
    }

    /// The terms of some tokens that tell a task from others.
    fn terms(&self, here: Here<'_>, tokens: std::ops::Range<usize>, times: &[Time]) -> HashSet<u32> {
        let all = &here.sentence.tokens;
        let says = |at: &usize| {
            let token: &Token = &all[*at];
            let is_time = times.iter().any(|time| time.start <= *at && *at < time.end);
            let plain = [
                Class::Between,
                Class::Interjection,
                Class::Joint,
                Class::Empty,
                Class::Pronoun,
                Class::Determiner,
                Class::Preposition,
                Class::Negation,
                Class::Report,
                Class::Opener,
            ];
            let is_plain = plain.iter().any(|class| token.has(*class));
            let is_noun =
                is_determined(all, *at, here.phrases) || (here.phrases.capital_nouns && token.has_capital && *at > 0);
            let is_date = here.phrases.calendar.is_word(&token.lower);
            !is_time && !is_plain && !is_date && (is_noun || !token.classes.is_verb())
        };
        let words = &here.sentence.words;
        let mut terms = HashSet::new();
        let mut last = None;
        for at in tokens.filter(says) {
            let place = &all[at].place;
            let Some(word) = word_at(words, place) else {
                continue;
            };
            // Lists of stop words have nouns, too ("room", "page"): not behind an article.
            let is_noun = is_determined(all, at, here.phrases) || last == at.checked_sub(1);
            let says = word.class != WordClass::Stop || (is_noun && word.surface.chars().count() > 2);
            if says && !self.text.names.contains(&word.term) {
                terms.insert(word.term);
                last = Some(at);
            }
        }
        terms
    }

    /// The verbs among some tokens. A form that only its ending tells is known by its term.
    fn verbs(&self, here: Here<'_>, tokens: std::ops::Range<usize>) -> HashSet<u32> {
        let later = [Class::MeLater, Class::ThirdLater, Class::WeLater];
        here.sentence.tokens[tokens]
            .iter()
            .filter_map(|token| {
                here.phrases.verb(&token.lower).or_else(|| {
                    let is_later = later.iter().any(|class| token.has(*class));
                    let word = word_at(&here.sentence.words, &token.place).filter(|_| is_later)?;
                    Some(word.term | UNKNOWN_VERB)
                })
            })
            .collect()
    }

    fn bytes(&self, here: Here<'_>, tokens: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let all = &here.sentence.tokens;
        match (all.get(tokens.start), tokens.end.checked_sub(1).and_then(|last| all.get(last))) {
            (Some(first), Some(last)) if tokens.start < tokens.end => first.place.start..last.place.end,
            _ => 0..0,
        }
    }

    fn text_of(&self, here: Here<'_>, tokens: std::ops::Range<usize>) -> String {
        here.sentence.text[self.bytes(here, tokens)].to_owned()
    }

    fn clipped_sentence(&self, here: Here<'_>) -> String {
        clipped(here.sentence.text.trim_end_matches(['.', '!', ' ']), 160)
    }
}

/// The end of a long text: what was said last is what is meant.
fn ending(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= CONTEXT_CHARS_MAX {
        return text.to_owned();
    }
    let cut = text.char_indices().nth(chars - CONTEXT_CHARS_MAX).map_or(0, |(at, _)| at);
    let words = text[cut..].split_once(char::is_whitespace).map_or(&text[cut..], |(_, words)| words);
    format!("…{words}")
}

/// The word that begins within a token.
fn word_at<'w>(words: &'w [Word], place: &std::ops::Range<usize>) -> Option<&'w Word> {
    let at = words.partition_point(|word| word.place.start < place.start);
    words.get(at).filter(|word| word.place.start < place.end)
}

fn owner_of(person: &Person) -> Owner {
    Owner { id: Some(person.id.clone()), name: person.name.clone() }
}

fn draft(here: Here<'_>, owner: Option<Owner>, task: String, terms: HashSet<u32>, is_firm: bool) -> Draft {
    Draft {
        normal: normalized(&task),
        item: ActionItem { owner, task, due: None, due_day: None },
        terms,
        verbs: HashSet::new(),
        is_firm,
        is_dropped: false,
        addressed: None,
        is_asked: false,
        is_accepted: false,
        is_freed: false,
        is_idle: false,
        is_proposal: false,
        speaker: here.speaker.map(str::to_owned),
        turn: here.turn,
        sentence: here.index,
    }
}

fn due_of(here: Here<'_>, time: &Time) -> (String, Option<NaiveDate>) {
    let tokens = &here.sentence.tokens;
    let place = tokens[time.start].place.start..tokens[time.end - 1].place.end;
    (here.sentence.text[place].to_owned(), time.day)
}

fn set_due(draft: &mut Draft, here: Here<'_>, time: &Time) {
    let (due, day) = due_of(here, time);
    draft.item.due = Some(due);
    draft.item.due_day = day;
}

fn overlap(one: &HashSet<u32>, other: &HashSet<u32>) -> usize {
    one.intersection(other).count()
}

/// Whether two drafts are of one task: the same words, or nearly, and owners that can be the same.
fn is_same(known: &Draft, new: &Draft) -> bool {
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
