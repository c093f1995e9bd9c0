//! Who takes on what: one grammar over the words of a sentence, with the phrases of its language.
//!
//! Owns what of a sentence is a task, whose it is as far as the sentence says, and which sentences only look like one:
//! denials, conditions, habits, quotations, hopes, talk about the talk. What goes from one sentence to the next (requests
//! that are accepted, work that is passed on) is `action_items`'.

use std::ops::Range;

use super::dates::Due;
use super::people::{Named, Names};
use super::phrases::{Class, Found, Meaning, Phrases};
use super::text::{Sentence, WordClass};
use super::tokens::{Break, Token, is_determined};

/// A task as a sentence announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    pub by: AnnouncedBy,
    /// The token with which its phrase begins.
    pub start: usize,
    /// Where its phrase ends.
    pub end: usize,
    /// The tokens of the task.
    pub task: Range<usize>,
    /// The token of the verb that says what is to be done, where the grammar tells it.
    pub verb: Option<usize>,
    /// Whether others have to agree before it is one.
    pub is_offer: bool,
    /// Whether the sentence asks for it, or who takes it.
    pub is_asked: bool,
    /// Whether an offer counts unless somebody objects.
    pub can: bool,
    /// Whether it was to be done ("I was going to …"): what follows says whether it still is.
    pub is_intended: bool,
    /// Whether all are called to it at once ("let's").
    pub is_together: bool,
}

/// How a task is announced, which says whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnnouncedBy {
    /// "I'll …": the speaker's.
    Speaker,
    /// "Bob will …": that person's.
    Named(Named),
    /// "she'll …": theirs who were named last.
    LastNamed,
    /// "we need to …".
    Everybody,
    /// "somebody should …".
    Somebody,
    /// "Bob, can you …": theirs who are addressed, by name or not.
    Addressed(Option<Named>),
    /// "who takes …?"
    Whoever,
    /// "I'll do it": the speaker's, and the task is what was spoken of before.
    Claim,
    /// "action item: …": the task itself may say whose.
    Label,
}

/// How many words before an announcement a condition is looked for.
const CONDITION_WORDS: usize = 14;
/// The most words of a sentence in which one word alone takes something on ("Me, of course").
const ONE_WORD_CLAIM_MAX: usize = 3;
/// The most words of a task.
const TASK_WORDS_MAX: usize = 32;
/// The most words of a role ("the technical services").
const ROLE_WORDS_MAX: usize = 3;
/// How many words before a subject a clause of time may begin.
const TEMPORAL_WORDS: usize = 4;
/// How many words behind a verb of telling its clause may begin, and before it its subject.
const TOLD_WORDS: usize = 7;
/// The most words between a name and its verb ("Paul from support will").
const APPOSITION_MAX: usize = 4;

/// Finds announcements in sentences.
#[derive(Debug, Clone, Copy)]
pub struct Grammar<'a> {
    pub names: &'a Names,
    pub sentence: &'a Sentence,
    pub phrases: &'static Phrases,
}

/// A phrase with what it announces, before the task around it is known.
struct Head {
    by: AnnouncedBy,
    start: usize,
    /// Where the task begins, unless its verb is part of the phrase.
    end: usize,
    has_verb: bool,
    is_offer: bool,
    is_asked: bool,
    is_intended: bool,
    /// Whether only a verb that is known for tasks makes it one.
    wants_known_verb: bool,
    /// Whether only a time beside it makes it one.
    wants_time: bool,
    /// Whether only a day until which makes it one.
    wants_deadline: bool,
    /// Whether it is offered so that it counts unless somebody objects.
    can: bool,
    /// Whether it is often a step of the meeting itself.
    is_together: bool,
    /// Whether somebody's words are told, in the third person.
    is_told: bool,
    /// Whether it is said of a thing, which neither talks nor leaves.
    is_need: bool,
}

impl Head {
    fn new(by: AnnouncedBy, start: usize, end: usize, has_verb: bool) -> Head {
        Head {
            by,
            start,
            end,
            has_verb,
            is_offer: false,
            is_asked: false,
            is_intended: false,
            wants_known_verb: false,
            wants_time: false,
            wants_deadline: false,
            can: false,
            is_together: false,
            is_told: false,
            is_need: false,
        }
    }
}

impl<'a> Grammar<'a> {
    /// The grammar of a sentence; none where its language has no phrases.
    #[must_use]
    pub fn of(sentence: &'a Sentence, names: &'a Names) -> Option<Grammar<'a>> {
        Some(Grammar { names, sentence, phrases: sentence.language.phrases()? })
    }

    fn tokens(&self) -> &'a [Token] {
        &self.sentence.tokens
    }

    /// What the sentence announces, in order, none inside another.
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

    /// Where the clause of a head begins behind another head: behind punctuation, or with the words that lead to it.
    fn beginning(&self, head: &Head, floor: usize) -> usize {
        let tokens = self.tokens();
        let begins = |at: &usize| tokens[*at].is_after_break() || tokens[at - 1].has(Class::Joint);
        if let Some(broken) = (floor + 1..=head.start).rev().find(begins) {
            return broken;
        }
        let mut start = head.start;
        while start > floor && tokens[start - 1].has(Class::Interjection) {
            start -= 1;
        }
        start
    }

    fn heads(&self) -> Vec<Head> {
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

    /// "Bob, a second reminder, please.": a request without a verb, of somebody who is called by name.
    fn wish(&self) -> Option<Head> {
        let tokens = self.tokens();
        let please = self.phrases.all(tokens, |meaning| meaning == Meaning::Please).pop()?;
        let is_last = please.end + 1 >= tokens.len();
        let (named, end) = self.called()?;
        let (from, until) = if end <= please.start { (end, please.start) } else { (0, please.start) };
        let is_wish = is_last && !self.is_question() && self.has_noun(from..until);
        is_wish.then(|| Head { is_asked: true, ..Head::new(AnnouncedBy::Addressed(Some(named)), from, until, true) })
    }

    fn is_object_of(&self, last: &Head, head: &Head) -> bool {
        let token = &self.tokens()[head.start];
        last.has_verb
            && last.end == head.start
            && head.end == head.start + 1
            && head.by == AnnouncedBy::Speaker
            && token.before == Break::None
    }

    fn head(&self, at: usize) -> Option<Head> {
        self.told(at).or_else(|| self.named(at)).or_else(|| self.inverted(at)).or_else(|| self.phrase(at))
    }

    /// "The fitter says that he comes on Friday", "el técnico ha dicho que pasará el jueves": what somebody's words
    /// announce of themselves, in the third person.
    fn told(&self, at: usize) -> Option<Head> {
        let tokens = self.tokens();
        if !tokens[at].has(Class::Complement) || tokens[at].is_after_stop() {
            return None;
        }
        let report = (at.saturating_sub(TOLD_WORDS)..at).rev().find(|at| tokens[*at].has(Class::Report))?;
        if tokens[report + 1..at].iter().any(Token::is_after_stop) || self.is_first_person_before(report) {
            return None;
        }
        // "dass er …", "que nos …"
        let mut next = at + 1;
        while tokens.get(next).is_some_and(|token| token.has(Class::ThirdPronoun) || token.has(Class::Between)) {
            next += 1;
        }
        let end = self.clause_end(at + 1, tokens.len());
        let (start, has_verb) = if self.phrases.sets_verbs_last() {
            let subject = tokens.get(at + 1)?;
            let is_subject =
                subject.has(Class::ThirdPronoun) || (subject.has(Class::Pronoun) && subject.has(Class::Object));
            let is_past = tokens[at..end].iter().any(|token| token.has(Class::Past) || token.has(Class::Negation));
            if !is_subject || is_past {
                return None;
            }
            (at + 2, false)
        } else {
            let found = self.phrases.at(tokens, next, Meaning::is_person);
            let token = tokens.get(next).filter(|token| !token.is_after_stop())?;
            match found {
                Some(found) => (found.end, found.has_verb),
                None if token.has(Class::ThirdLater) || token.has(Class::Third) => (next + 1, true),
                None => return None,
            }
        };
        let by = self.teller(report).map_or(AnnouncedBy::LastNamed, AnnouncedBy::Named);
        let is_later = has_verb && tokens[start - 1].has(Class::ThirdLater);
        Some(Head { wants_time: !is_later, is_told: true, ..Head::new(by, next.min(start), start, has_verb) })
    }

    /// Who tells something: the noun or name before the verb of telling. Of "the owner of the hall" it is the owner.
    fn teller(&self, report: usize) -> Option<Named> {
        let tokens = self.tokens();
        let mut found = None;
        for at in (report.saturating_sub(TOLD_WORDS)..report).rev() {
            let token = &tokens[at];
            if let Some((named, _)) = self.names.participant_at(tokens, at, &self.sentence.text) {
                return Some(named);
            }
            let is_word = token.classes == super::phrases::Classes::default()
                && token.lower.chars().count() > 2
                && token.lower.chars().all(char::is_alphabetic)
                && !self.phrases.calendar.is_word(&token.lower);
            if token.has(Class::Role) {
                return Some(self.as_said(at..self.role_end(at).min(report)));
            }
            if is_word {
                found = Some(self.as_said(at..at + 1));
            }
            let is_governing = token.has(Class::Preposition) || token.has(Class::Determiner);
            let is_over = token.has(Class::ThirdPronoun) || token.is_after_stop();
            if is_over || (found.is_some() && !is_word && !is_governing) {
                return found;
            }
            // Behind a preposition the noun only says more of another one.
            let is_governed = at > 0 && tokens[at - 1].has(Class::Preposition);
            if is_word && !is_governed && !(at > 0 && tokens[at - 1].has(Class::Determiner)) {
                return found;
            }
            if found.is_some() && token.has(Class::Determiner) && !is_governed && !token.has(Class::Preposition) {
                return found;
            }
        }
        found
    }

    /// Whether the speaker tells of their own words.
    fn is_first_person_before(&self, report: usize) -> bool {
        (report.saturating_sub(2)..=report).any(|at| self.is_first_person(at)) || self.tokens()[report].has(Class::Me)
    }

    /// "Bob will …", "Bob, can you …", "Bob, send …".
    fn named(&self, at: usize) -> Option<Head> {
        let tokens = self.tokens();
        let (by, after, is_known) =
            if let Some((named, end)) = self.names.at(tokens, at, &self.sentence.text, self.phrases) {
                let is_known = matches!(named, Named::Participant(_)) || tokens[at].has(Class::Title);
                (AnnouncedBy::Named(named), end, is_known)
            } else if tokens[at].has(Class::ThirdPronoun) {
                // "Il faut …" is nobody's.
                if self.phrases.at(tokens, at, Meaning::announces).is_some() {
                    return None;
                }
                (AnnouncedBy::LastNamed, at + 1, false)
            } else if self.is_demonstrative(at) {
                (AnnouncedBy::LastNamed, at + 1, false)
            } else if tokens[at].has(Class::Role) || self.is_lone_subject(at) {
                let end = self.role_end(at);
                (AnnouncedBy::Named(self.as_said(at..end)), end, false)
            } else {
                return None;
            };
        let governs = |token: &Token| token.has(Class::Preposition) && !self.phrases.articles.contains(&token.lower);
        let is_object = at > 0 && tokens[at].before == Break::None && governs(&tokens[at - 1]);
        if is_object {
            return None;
        }
        if let Some(head) = self.vocative(at, after, &by) {
            return Some(head);
        }
        if self.is_question() {
            return None;
        }
        let verb = self.verb_behind(after)?;
        let found = self.phrases.at(tokens, verb, Meaning::is_person);
        // "Ask our broker for two quotes": only a subject has a verb behind it.
        if found.is_none() && tokens[at].has(Class::Role) && !self.can_be_subject(at) {
            return None;
        }
        let token = &tokens[verb];
        let is_finite = token.has(Class::Third) || token.has(Class::ThirdLater);
        let (end, has_verb, meaning) = match found {
            Some(found) if found.meaning == Meaning::PersonComes && !tokens[at].has(Class::Role) => return None,
            Some(found) => (found.end, found.has_verb, found.meaning),
            None if is_finite => (verb + 1, true, Meaning::Person),
            None => return None,
        };
        Some(Head {
            is_offer: meaning == Meaning::PersonOffers,
            is_intended: meaning == Meaning::PersonIntended,
            wants_known_verb: !is_known && meaning != Meaning::PersonComes,
            wants_time: meaning == Meaning::PersonComes,
            ..Head::new(by, at, end, has_verb)
        })
    }

    /// "Meine Tochter studiert Grafik, die macht uns die Plakate": an article in the place of its noun.
    fn is_demonstrative(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let token = &tokens[at];
        let behind_role = tokens[at.saturating_sub(TOLD_WORDS)..at].iter().any(|token| token.has(Class::Role));
        self.phrases.sets_verbs_last()
            && token.has(Class::Object)
            && token.has(Class::Determiner)
            && behind_role
            && tokens.get(at + 1).is_some_and(|next| {
                next.before == Break::None
                    && !next.has_capital
                    && next.has(Class::Third)
                    && !next.has(Class::Infinitive)
            })
    }

    /// Whether a noun, with an article before it or not, stands at the beginning of a clause.
    fn can_be_subject(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let is_determined = at > 0 && tokens[at].before == Break::None && tokens[at - 1].has(Class::Determiner);
        let start = if is_determined { at - 1 } else { at };
        let leads = [Class::Joint, Class::Interjection, Class::Opener, Class::Contrary, Class::Between];
        start == 0
            || tokens[start].is_after_break()
            || leads.iter().any(|class| tokens[start - 1].has(*class))
            // Where nothing is written but words, a clause may begin anywhere.
            || (is_determined && self.is_without_capitals() && !tokens[start - 1].has(Class::Preposition))
    }

    fn as_said(&self, words: Range<usize>) -> Named {
        let tokens = self.tokens();
        Named::Other(self.sentence.text[tokens[words.start].place.start..tokens[words.end - 1].place.end].to_owned())
    }

    /// Where the name of a role ends: "l'ufficio legale", "les services techniques".
    fn role_end(&self, at: usize) -> usize {
        let tokens = self.tokens();
        let is_part = |next: &Token| {
            (next.classes == super::phrases::Classes::default() || next.has(Class::Role))
                && next.before == Break::None
                && !next.has_capital
                && next.lower.chars().all(char::is_alphabetic)
        };
        let further = tokens[at + 1..].iter().take(ROLE_WORDS_MAX - 1).take_while(|next| is_part(next)).count();
        // Only what a verb follows is the subject's.
        (1..=further).rev().map(|more| at + 1 + more).find(|end| self.verb_at(*end).is_some()).unwrap_or(at + 1)
    }

    /// Whether a word can only be somebody's name, although nothing is written with a capital: it begins a clause without
    /// an article, is in no class, and says at once what it is going to do.
    fn is_lone_subject(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let token = &tokens[at];
        let leads = |token: &Token| {
            [Class::Joint, Class::Interjection, Class::Opener, Class::Contrary, Class::Between]
                .iter()
                .any(|class| token.has(*class))
        };
        let begins = at == 0 || token.is_after_break() || leads(&tokens[at - 1]);
        let is_word = token.classes == super::phrases::Classes::default()
            && token.lower.chars().count() > 2
            && token.lower.chars().all(char::is_alphabetic)
            && !self.phrases.calendar.is_word(&token.lower);
        begins
            && is_word
            && self.is_without_capitals()
            && self.says_something(at)
            && tokens.get(at + 1).is_some_and(|next| next.before == Break::None)
            && self.phrases.at(tokens, at + 1, |meaning| meaning == Meaning::Person).is_some()
    }

    /// Whether the recognizer writes everything small.
    fn is_without_capitals(&self) -> bool {
        !self.tokens().iter().any(|token| token.has_capital && token.lower != "i")
    }

    /// Whether a word is none of the stop words.
    fn says_something(&self, at: usize) -> bool {
        let place = &self.tokens()[at].place;
        let words = &self.sentence.words;
        let word = words.get(words.partition_point(|word| word.place.start < place.start));
        word.is_some_and(|word| word.place.start < place.end && word.class == WordClass::Content)
    }

    /// The verb of a subject that ends at a token, with nothing but fillers between.
    fn verb_at(&self, at: usize) -> Option<usize> {
        let tokens = self.tokens();
        let is_between = |token: &Token| token.has(Class::Between) && !token.has(Class::Third);
        let at = at + tokens.iter().skip(at).take_while(|token| is_between(token)).count();
        let token = tokens.get(at).filter(|token| !token.is_after_break())?;
        let is_verb = token.has(Class::Third)
            || token.has(Class::ThirdLater)
            || self.phrases.at(tokens, at, Meaning::is_person).is_some();
        is_verb.then_some(at)
    }

    /// Where the verb of a name may stand: behind it, or behind what is said more of it ("Paul from support").
    fn verb_behind(&self, at: usize) -> Option<usize> {
        let tokens = self.tokens();
        let skip = |from: usize| {
            let is_between = |token: &Token| token.has(Class::Between) && !token.has(Class::Third);
            from + tokens.iter().skip(from).take_while(|token| is_between(token)).count()
        };
        let is_verb = |at: usize| {
            tokens.get(at).is_some_and(|token| token.has(Class::Third) || token.has(Class::ThirdLater))
                || self.phrases.at(tokens, at, Meaning::is_person).is_some()
        };
        let at = skip(at);
        if is_verb(at) {
            return Some(at);
        }
        if !tokens.get(at)?.has(Class::Preposition) || tokens[at].is_after_break() {
            return None;
        }
        // A pronoun begins a clause of its own, and so does an article that no preposition governs.
        let is_own = |at: usize| {
            let (token, before) = (&tokens[at], &tokens[at - 1]);
            (token.has(Class::Pronoun) && !token.has(Class::Determiner))
                || (token.has(Class::Determiner)
                    && !token.has(Class::Preposition)
                    && !before.has(Class::Preposition)
                    && !before.has(Class::Determiner))
        };
        let end = (at + 1..tokens.len()).find(|at| is_own(*at)).unwrap_or(tokens.len());
        (at + 2..=at + APPOSITION_MAX).map(skip).find(|behind| *behind < end && is_verb(*behind))
    }

    /// A name that is called, with a request or an order behind it.
    fn vocative(&self, at: usize, after: usize, by: &AnnouncedBy) -> Option<Head> {
        let AnnouncedBy::Named(named) = by else { return None };
        let tokens = self.tokens();
        if tokens[at].has(Class::Role) && !matches!(named, Named::Participant(_)) {
            return None;
        }
        let mut next = after;
        while tokens.get(next).is_some_and(|token| {
            (token.has(Class::Between) || token.has(Class::Interjection)) && !token.has(Class::Order)
        }) && self.phrases.at(tokens, next, |meaning| meaning == Meaning::Please).is_none()
        {
            next += 1;
        }
        let token = tokens.get(next)?;
        let asked = self
            .phrases
            .at(tokens, next, |meaning| self.is_request(meaning))
            .filter(|found| !self.is_only_please(found));
        let addressed = AnnouncedBy::Addressed(Some(named.clone()));
        if let Some(found) = asked {
            return Some(Head { is_asked: true, ..Head::new(addressed, at, found.end, found.has_verb) });
        }
        // "A second reminder, please": a noun with a capital is nobody who is called.
        if self
            .phrases
            .at(tokens, next, |meaning| meaning == Meaning::Please)
            .is_some_and(|found| found.end == tokens.len())
        {
            return None;
        }
        let is_called = tokens[after..=next].iter().any(Token::is_after_break);
        let is_third = token.has(Class::Third) && !is_called;
        let is_participant = matches!(named, Named::Participant(_));
        let is_order =
            token.has(Class::Order) && !token.has(Class::Modal) && !is_third && (is_called || is_participant);
        is_order.then(|| Head { is_asked: true, ..Head::new(addressed, at, next + 1, true) })
    }

    /// Whether a phrase is no more than a "please" behind which nothing is asked for.
    fn is_only_please(&self, found: &Found) -> bool {
        let tokens = self.tokens();
        let is_over = tokens.get(found.end).is_none_or(|next| next.is_after_break() || next.has(Class::Pronoun));
        let is_please = |please: Found| please.start == found.start && please.end == found.end;
        is_over && self.phrases.at(tokens, found.start, |meaning| meaning == Meaning::Please).is_some_and(is_please)
    }

    fn is_request(&self, meaning: Meaning) -> bool {
        meaning == Meaning::Request || (meaning == Meaning::RequestInQuestion && self.is_question())
    }

    fn phrase(&self, at: usize) -> Option<Head> {
        let tokens = self.tokens();
        let is_meant = |meaning: Meaning| match meaning {
            Meaning::RequestInQuestion => self.is_question(),
            Meaning::Label => true,
            other => other.announces(),
        };
        let Some(found) = self.phrases.at(tokens, at, is_meant) else {
            return self.order(at);
        };
        let Found { meaning, end, has_verb, .. } = found;
        // "Me." says all of it, "me, I …" says nothing yet.
        let says_little = |token: &Token| {
            [Class::Interjection, Class::Between, Class::Joint, Class::Pronoun].iter().any(|class| token.has(*class))
        };
        let is_alone = tokens.len() <= ONE_WORD_CLAIM_MAX && tokens.iter().all(says_little);
        if meaning == Meaning::Claim && end == at + 1 && !is_alone {
            return self.order(at);
        }
        // "Mal ich" is "once I", not "I paint".
        if meaning == Meaning::Speaker && end > at + 1 && tokens[at].has(Class::Between) && tokens[at].has(Class::Me) {
            return None;
        }
        // "Vind ik wel": a claim of two words begins its clause.
        let leads = [Class::Joint, Class::Interjection, Class::Between, Class::Consequence, Class::Opener];
        let is_inside =
            at > 0 && tokens[at].before == Break::None && !leads.iter().any(|class| tokens[at - 1].has(*class));
        if meaning == Meaning::Claim && end <= at + 2 && tokens[at].has(Class::Pronoun) && is_inside {
            return None;
        }
        // "Then I'll take four."
        let is_counted = tokens
            .get(end)
            .is_some_and(|next| next.before == Break::None && self.phrases.calendar.is_number(&next.lower));
        if meaning == Meaning::Claim && is_counted {
            return None;
        }
        // "When will you have it?"
        let asks_when = |from: usize| self.meets(Meaning::When, from..at);
        if meaning == Meaning::Claim && asks_when(at.saturating_sub(3)) {
            return None;
        }
        // "The walls I'll do": what, stands before.
        let next =
            (end..tokens.len()).find(|at| !tokens[*at].has(Class::Between) || tokens[*at].has(Class::Determiner));
        let has_object = next.is_some_and(|next| {
            let token = &tokens[next];
            let is_other = token.has(Class::NoTopic) && !token.classes.is_verb();
            token.before == Break::None
                && ((token.has(Class::Determiner) && self.has_noun(next + 1..tokens.len().min(next + 2))) || is_other)
        });
        // "Dann mach ich das Poster": the last word of the phrase is an article.
        let is_article = end > at + 1
            && tokens[end - 1].has(Class::Determiner)
            && tokens
                .get(end)
                .is_some_and(|next| next.before == Break::None && next.classes == super::phrases::Classes::default());
        let is_topic = |meaning| meaning == Meaning::Claim && (has_object || is_article || self.has_topic_before(at));
        // "Lo faccio pubblicare": what is done with it follows.
        let goes_on = meaning == Meaning::Claim
            && tokens.get(end).is_some_and(|next| {
                next.before == Break::None && next.has(Class::Infinitive) && !next.has(Class::Between)
            })
            && !self.phrases.sets_verbs_last();
        let (meaning, has_verb) =
            if is_topic(meaning) || goes_on { (Meaning::Speaker, true) } else { (meaning, has_verb) };
        let addressed = || AnnouncedBy::Addressed(self.addressee());
        let (by, is_offer, is_asked) = match meaning {
            Meaning::Speaker | Meaning::SpeakerSoon | Meaning::Intended => {
                (AnnouncedBy::Speaker, self.is_question(), false)
            }
            Meaning::SpeakerCan | Meaning::SpeakerOffers => (AnnouncedBy::Speaker, true, false),
            Meaning::Claim => (AnnouncedBy::Claim, false, false),
            // "Could somebody look at it?" is asked of all.
            Meaning::Somebody if self.is_question() => (AnnouncedBy::Addressed(None), false, true),
            // "She must", "we have to" are somebody's.
            Meaning::NeedSoon if self.has_pronoun_before(at) => return None,
            Meaning::Somebody => (AnnouncedBy::Somebody, false, false),
            Meaning::Everybody | Meaning::Together | Meaning::Need | Meaning::NeedSoon => {
                (AnnouncedBy::Everybody, false, false)
            }
            Meaning::EverybodyMaybe => (AnnouncedBy::Everybody, true, false),
            // "Please do" agrees.
            Meaning::Request
                if self.phrases.at(tokens, at, |one| one == Meaning::Yes).is_some_and(|yes| yes.end >= end) =>
            {
                return None;
            }
            // "Hard hats, please, I had to shout".
            Meaning::Request if self.is_only_please(&found) => return self.order(at),
            Meaning::Request | Meaning::RequestInQuestion => (addressed(), false, true),
            // "A version that crashes" asks for nobody.
            Meaning::Volunteer if !self.begins_clause(at) || self.is_told_only() => return None,
            Meaning::Volunteer => (AnnouncedBy::Whoever, true, true),
            Meaning::Label => {
                let is_label = tokens.get(end).is_some_and(Token::is_after_stop);
                return is_label.then(|| Head::new(AnnouncedBy::Label, at, end, false));
            }
            _ => return None,
        };
        // "The container has to go by Friday, Joe."
        let called = self.called().filter(|(_, name)| *name > end);
        let (by, is_asked) = match called {
            Some((named, _)) if by == AnnouncedBy::Everybody && !matches!(meaning, Meaning::Together) => {
                (AnnouncedBy::Addressed(Some(named)), true)
            }
            _ => (by, is_asked),
        };
        // "The work tomorrow": a noun that looks like a form of a verb.
        let is_noun = tokens[at].classes.is_verb()
            && (is_determined(tokens, at, self.phrases)
                || (at > 0 && tokens[at].before == Break::None && tokens[at - 1].has(Class::Preposition)));
        let is_call = end == at + 1 && tokens[at].has(Class::Interjection);
        if (is_noun || is_call) && matches!(meaning, Meaning::Speaker | Meaning::RequestInQuestion) {
            return None;
        }
        // "Let's do that" agrees.
        let agrees =
            self.phrases.at(tokens, at, |meaning| meaning == Meaning::Agreed).is_some_and(|found| found.end > end);
        if agrees && by == AnnouncedBy::Everybody {
            return None;
        }
        // "Can I help?" asks; only a request, an offer and a call for somebody can be a question.
        if self.is_question() && matches!(by, AnnouncedBy::Everybody | AnnouncedBy::Somebody) {
            return None;
        }
        Some(Head {
            is_offer,
            is_asked,
            is_intended: meaning == Meaning::Intended,
            wants_time: meaning == Meaning::SpeakerSoon,
            wants_deadline: meaning == Meaning::NeedSoon,
            can: meaning == Meaning::SpeakerCan,
            is_together: meaning == Meaning::Together,
            is_need: matches!(meaning, Meaning::Need | Meaning::NeedSoon),
            ..Head::new(by, at, end, has_verb || matches!(meaning, Meaning::Need | Meaning::NeedSoon))
        })
    }

    /// An order at the beginning of a sentence ("forward it to them"): it is a request, if somebody accepts it.
    fn order(&self, at: usize) -> Option<Head> {
        let tokens = self.tokens();
        let leads =
            |token: &Token| token.has(Class::Interjection) || token.has(Class::Joint) || token.has(Class::Between);
        let is_bound = |token: &Token| token.has(Class::Determiner) || token.has(Class::Dangling);
        let is_first = tokens[..at].iter().all(leads) && !(at > 0 && is_bound(&tokens[at - 1]));
        let is_order = |token: &&Token| token.has(Class::Order) && !token.has(Class::Between);
        // "Get it checked, will you?"
        let is_asking = self.is_question() && !self.is_tagged();
        let token = tokens.get(at).filter(|token| is_order(token) && is_first && !is_asking)?;
        let follows = tokens.get(at + 1).is_some_and(|next| next.before == Break::None);
        (follows && !token.has(Class::Interjection)).then(|| Head {
            is_offer: true,
            is_asked: true,
            ..Head::new(AnnouncedBy::Addressed(self.addressee()), at, at + 1, true)
        })
    }

    /// "Das übernimmt Peter", "lo hace Carlos", "das kann Peter übernehmen".
    fn inverted(&self, at: usize) -> Option<Head> {
        let tokens = self.tokens();
        let token = &tokens[at];
        if self.is_question() || self.phrases.code == "en" {
            return None;
        }
        let is_person = |meaning| matches!(meaning, Meaning::Person | Meaning::PersonOffers | Meaning::PersonIntended);
        let found =
            self.phrases.at(tokens, at, is_person).filter(|found| !found.has_verb && self.phrases.sets_verbs_last());
        let is_finite = token.has(Class::Third) || token.has(Class::ThirdLater);
        let (verb_end, has_verb, meaning) = match found {
            _ if is_finite => (at + 1, true, Meaning::Person),
            Some(found) => (found.end, false, found.meaning),
            None => return None,
        };
        let mut next = verb_end;
        while tokens.get(next).is_some_and(|token| token.has(Class::Between) && !token.has_capital) {
            next += 1;
        }
        let next_token = tokens.get(next).filter(|token| token.before == Break::None)?;
        // "Ci pensa Marco": in these languages the whole phrase stands before the name.
        if !has_verb && !self.phrases.sets_verbs_last() && verb_end == at + 1 {
            return None;
        }
        let (named, end) = match self.names.at(tokens, next, &self.sentence.text, self.phrases) {
            // In a language that writes nouns with capitals they follow verbs, too.
            Some((Named::Other(_), end))
                if self.phrases.capital_nouns
                    && !next_token.has(Class::Title)
                    && !(has_verb && self.is_followed_by_apposition(end)) =>
            {
                return None;
            }
            Some(found) => found,
            None if next_token.has(Class::Determiner) => {
                tokens.get(next + 1).filter(|token| token.has(Class::Role))?;
                (self.as_said(next + 1..next + 2), next + 2)
            }
            None => return None,
        };
        let is_known = matches!(named, Named::Participant(_)) || next_token.has(Class::Title);
        // "The sheets are ordered the publisher sends them": the name begins a clause of its own.
        if !is_known && self.verb_at(end).is_some() {
            return None;
        }
        Some(Head {
            is_offer: meaning == Meaning::PersonOffers,
            is_intended: meaning == Meaning::PersonIntended,
            wants_known_verb: !is_known,
            ..Head::new(AnnouncedBy::Named(named), at, end, has_verb)
        })
    }

    fn is_followed_by_apposition(&self, at: usize) -> bool {
        let tokens = self.tokens();
        tokens.get(at).is_none_or(|token| {
            token.before != Break::None || token.has(Class::Preposition) || token.has(Class::Between)
        })
    }

    /// Whom the sentence calls by name: before a comma at its beginning, between two commas, or behind one at its end.
    fn addressee(&self) -> Option<Named> {
        self.called().map(|(named, _)| named)
    }

    /// Whom the sentence calls by name, and where the name ends.
    fn called(&self) -> Option<(Named, usize)> {
        let tokens = self.tokens();
        let leads = [Class::Between, Class::Interjection, Class::Joint];
        let begins = |at: usize| {
            at < 4
                && tokens[..at]
                    .iter()
                    .all(|token| leads.iter().any(|class| token.has(*class)) || token.has(Class::Title))
        };
        (0..tokens.len()).find_map(|at| {
            let (named, end) = self.names.participant_at(tokens, at, &self.sentence.text)?;
            let is_last = end == tokens.len() && self.is_called(at);
            let is_broken = tokens.get(end).is_some_and(Token::is_after_break);
            let is_inside = is_broken && tokens[at].before == Break::Comma;
            ((is_broken && begins(at)) || is_inside || is_last).then_some((named, end))
        })
    }

    /// Whether a name at the end of something is called: behind a comma, or where nothing is written but words, behind
    /// one that governs no name ("can you sort that devon").
    fn is_called(&self, at: usize) -> bool {
        let token = &self.tokens()[at];
        let governs = |before: &Token| {
            before.classes.is_verb()
                || [Class::Preposition, Class::Joint, Class::Modal].iter().any(|class| before.has(*class))
        };
        let is_free = at > 0 && !governs(&self.tokens()[at - 1]) && self.is_without_capitals();
        token.is_after_break() || is_free
    }

    /// Whether the sentence is written as one that asks for nothing.
    fn is_told_only(&self) -> bool {
        self.sentence.text.trim_end().ends_with(['.', '!'])
    }

    /// Whether the sentence is a statement or an order that a word at its end makes a question.
    fn is_tagged(&self) -> bool {
        let tokens = self.tokens();
        self.phrases
            .all(tokens, |meaning| matches!(meaning, Meaning::Tag | Meaning::Consent))
            .iter()
            .any(|found| found.end == tokens.len() && found.start > 0)
    }

    /// Whether the sentence ends as a question.
    #[must_use]
    pub fn is_question(&self) -> bool {
        is_question(&self.sentence.text)
    }

    /// The tokens of the task of an announcement: what follows its phrase; or the whole clause, where the verb is part of
    /// the phrase or something is said before it.
    fn task(&self, head: &Head, floor: usize, ceiling: usize) -> Range<usize> {
        let tokens = self.tokens();
        let start = self.clause_start(head.start, floor);
        let says = |token: &Token| {
            !(token.has(Class::Between)
                || token.has(Class::Interjection)
                || token.has(Class::Joint)
                || token.has(Class::Empty)
                || token.has(Class::Pronoun)
                || token.has(Class::Determiner)
                || token.has(Class::Preposition)
                || self.phrases.calendar.is_word(&token.lower))
        };
        let named = matches!(head.by, AnnouncedBy::Named(_) | AnnouncedBy::Addressed(Some(_)) | AnnouncedBy::LastNamed);
        let end = self.clause_end(head.end, ceiling);
        // "The report I'll send by Friday", "Le budget, je vais le revoir": what it is about stands before.
        let is_subject_first =
            tokens[head.start].has(Class::Pronoun) || (named && !tokens[head.start].classes.is_verb());
        let verb_says =
            |at: usize| is_determined(tokens, at, self.phrases) || (says(&tokens[at]) && !tokens[at].classes.is_verb());
        let is_bare = !(head.end.min(end)..end).any(verb_says);
        let mut start = start;
        if is_bare && start == head.start && start > floor && tokens[start].before == Break::Comma {
            let before = self.clause_start(start - 1, floor);
            let is_topic = self.is_noun_phrase(before..start) && self.has_noun(before..start);
            start = if is_topic { before } else { start };
        }
        let is_topic = is_bare && self.is_noun_phrase(start..head.start);
        let is_lead = self.phrases.sets_verbs_last() || self.is_noun_phrase(start..head.start);
        let can_lead = ((!is_subject_first && is_lead) || is_topic) && head.by != AnnouncedBy::Claim;
        // "…, das leitet dann Frau Lindemann": the pronoun stands for all that is said before.
        let stands_for_it = head.start > start
            && tokens[head.start - 1].has(Class::Object)
            && named
            && tokens[head.start].classes.is_verb()
            && !tokens[head.start].has(Class::Pronoun);
        let start = if stands_for_it { head.start - 1 } else { start };
        let ahead = can_lead && tokens[start..head.start].iter().any(says);
        let start = if ahead && head.by != AnnouncedBy::Label {
            start
        } else if head.has_verb {
            match self.verb_within(head) {
                // "Ich schicke …" begins with its verb; "schicke ich …" is one with it.
                Some(verb) if named || verb + 1 >= head.end => verb,
                _ => head.start,
            }
        } else {
            head.end
        };
        self.trimmed(start..end.max(start))
    }

    /// Whether a few words can be what a clause is about: neither a clause themselves nor a denial.
    fn is_noun_phrase(&self, words: Range<usize>) -> bool {
        let other = [Class::Pronoun, Class::Modal, Class::Negation, Class::Condition, Class::Report];
        let is_plain = |token: &Token| !other.iter().any(|class| token.has(*class));
        let tokens = &self.tokens()[words];
        // "Io le firme le raccolgo".
        let is_subject =
            matches!(tokens, [first, second, ..] if first.has(Class::Pronoun) && second.has(Class::Determiner));
        tokens.len() <= 6 && tokens.iter().skip(usize::from(is_subject)).all(is_plain)
    }

    /// Whether a noun phrase that says something stands before a token in its clause.
    fn has_topic_before(&self, at: usize) -> bool {
        let start = self.clause_start(at, 0);
        self.is_noun_phrase(start..at) && self.has_noun(start..at)
    }

    /// Whether a word with an article stands there, or one with a capital that makes it a noun.
    #[must_use]
    pub fn has_noun(&self, mut words: Range<usize>) -> bool {
        let tokens = self.tokens();
        words.any(|at| {
            let token = &tokens[at];
            (is_determined(tokens, at, self.phrases) || (self.phrases.capital_nouns && token.has_capital && at > 0))
                && !token.has(Class::Object)
                && !token.has(Class::Empty)
                && !token.has(Class::NoTopic)
                && !self.phrases.calendar.is_word(&token.lower)
        })
    }

    /// Where the clause begins in which a token stands: behind punctuation or a joining word.
    fn clause_start(&self, at: usize, floor: usize) -> usize {
        let tokens = self.tokens();
        let mut start = at;
        while start > floor && !tokens[start].is_after_break() && !tokens[start - 1].has(Class::Joint) {
            start -= 1;
        }
        // "I think", "okay so".
        while start < at {
            let leads =
                |meaning| matches!(meaning, Meaning::LeadIn | Meaning::Yes | Meaning::Thanks | Meaning::Greeting);
            if let Some(found) = self.phrases.at(tokens, start, leads)
                && found.end <= at
            {
                start = found.end;
            } else if tokens[start].has(Class::Interjection) || tokens[start].has(Class::Joint) {
                start += 1;
            } else {
                break;
            }
        }
        start
    }

    fn clause_end(&self, from: usize, ceiling: usize) -> usize {
        let tokens = self.tokens();
        let last = ceiling.min(from + TASK_WORDS_MAX);
        for at in from + 1..last {
            let token = &tokens[at];
            if token.is_after_stop() || token.has(Class::Opener) || token.has(Class::Contrary) || self.begins_anew(at) {
                return at;
            }
            // "…, he needs it", "übernehmen, der kennt sich aus".
            let is_subject = token.has(Class::Pronoun) && !token.has(Class::Determiner);
            let is_noun = tokens.get(at + 1).is_some_and(|next| next.has_capital);
            let is_over = self.phrases.sets_verbs_last()
                && !token.has(Class::Complement)
                && (tokens[at - 1].has(Class::Infinitive) || (token.has(Class::Object) && !is_noun));
            if token.before == Break::Comma && (is_subject || is_over) {
                return at;
            }
            let begins = self.phrases.at(tokens, at, |meaning| meaning == Meaning::Clause).is_some();
            if begins {
                return if tokens[at - 1].has(Class::Joint) { at - 1 } else { at };
            }
            let is_condition =
                (token.has(Class::Condition) || token.has(Class::ConditionFirst)) && !self.asks_whether(at);
            if is_condition && token.is_after_break() {
                return at;
            }
        }
        // A token behind a full stop inside the first place of the task.
        if tokens.get(from).is_some_and(Token::is_after_stop) { from } else { last.max(from) }
    }

    /// Whether a chunk that may be a sentence of its own looks like one.
    fn begins_anew(&self, at: usize) -> bool {
        let (before, token) = (&self.tokens()[at - 1], &self.tokens()[at]);
        let leads = token.has(Class::Pronoun) || token.has(Class::Interjection) || token.has(Class::Joint);
        let is_noun_phrase = token.has(Class::Determiner) && !before.classes.is_verb();
        token.before == Break::Pause && (leads || is_noun_phrase)
    }

    /// A task without the joining words, fillers and names that are called around it.
    fn trimmed(&self, task: Range<usize>) -> Range<usize> {
        let tokens = self.tokens();
        let (mut start, mut end) = (task.start, task.end);
        while start < end
            && (tokens[start].has(Class::Joint)
                || (tokens[start].has(Class::Between) && tokens[start].before == Break::Comma))
        {
            start += 1;
        }
        while end > start {
            let last = &tokens[end - 1];
            let is_filler = last.has(Class::Joint)
                || last.has(Class::Interjection)
                || (last.has(Class::Between) && !self.phrases.calendar.is_word(&last.lower));
            let called = (end.saturating_sub(3).max(start)..end).find(|at| {
                self.is_called(*at)
                    && self
                        .names
                        .participant_at(tokens, *at, &self.sentence.text)
                        .is_some_and(|(_, name_end)| name_end == end)
            });
            let is_cut = end < tokens.len() && last.has(Class::Dangling);
            let is_noun = last.has_capital && is_determined(tokens, end - 1, self.phrases);
            let is_word = is_noun || last.has(Class::Determiner) || last.has(Class::Infinitive);
            if let Some(called) = called {
                end = called;
            } else if is_cut || (is_filler && !is_word) {
                end -= 1;
            } else {
                break;
            }
        }
        start..end
    }

    fn is_task(&self, head: &Head, task: &Range<usize>) -> bool {
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
        // "She wants us to shorten it" is her wish and not her task.
        let is_wish = !head.is_told
            && matches!(head.by, AnnouncedBy::Named(_) | AnnouncedBy::LastNamed)
            && self.tokens().get(head.end).is_some_and(|token| token.has(Class::Complement));
        if is_wish {
            return false;
        }
        let whose = !matches!(head.by, AnnouncedBy::Addressed(_) | AnnouncedBy::Whoever);
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

    /// "Before the roofers come": what somebody else does in a clause of time.
    fn is_temporal(&self, head: &Head) -> bool {
        let tokens = self.tokens();
        let is_others = matches!(head.by, AnnouncedBy::Named(_) | AnnouncedBy::LastNamed | AnnouncedBy::Everybody);
        let from = head.start.saturating_sub(TEMPORAL_WORDS);
        let start = (from + 1..=head.start).rev().find(|at| tokens[*at].is_after_break()).unwrap_or(from);
        is_others && tokens[start..head.start].iter().any(|token| token.has(Class::Temporal))
    }

    /// "Dominic tells everybody that": what somebody does, without a time or a thing, is how things are.
    fn tells_how_it_is(&self, head: &Head, task: &Range<usize>) -> bool {
        let tokens = self.tokens();
        let Some(verb) = tokens.get(self.verb(head)).filter(|_| head.has_verb) else { return false };
        matches!(head.by, AnnouncedBy::Named(_) | AnnouncedBy::LastNamed)
            && head.end <= head.start + 2
            && verb.has(Class::Third)
            && !verb.has(Class::ThirdLater)
            && !verb.has(Class::Empty)
            && !task.clone().any(|at| is_determined(tokens, at, self.phrases))
            && !self.has_time(head.start..task.end)
    }

    /// Whether a phrase of this meaning stands where the verb of the commitment does: with its subject, by itself, or at
    /// the end of the clause, where German and Dutch set it.
    fn says_of_itself(&self, head: &Head, task: &Range<usize>, meaning: Meaning) -> bool {
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

    /// Whether the clause tells what is always so.
    fn is_habit(&self, head: &Head, task: &Range<usize>) -> bool {
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

    /// The place of the verb that says what is to be done.
    fn verb(&self, head: &Head) -> usize {
        let tokens = self.tokens();
        if head.has_verb {
            return self.verb_within(head).unwrap_or(head.start);
        }
        let mut at = head.end;
        while tokens.get(at).is_some_and(|token| token.has(Class::Between) && !token.classes.is_verb()) {
            at += 1;
        }
        at
    }

    /// Where the verb of a task stands if its phrase has none: at once behind it, or at the end.
    fn verb_place(&self, head: &Head, task: &Range<usize>) -> Option<usize> {
        let first = self.verb(head);
        let place = if self.phrases.sets_verbs_last() { task.end.checked_sub(1)? } else { first };
        let token = self.tokens().get(place)?;
        let is_small = !(self.phrases.capital_nouns && token.has_capital);
        (!head.has_verb && task.contains(&place) && is_small && !is_determined(self.tokens(), place, self.phrases))
            .then_some(place)
    }

    /// The verb that is part of a phrase: one of the file, or a word of no class where a phrase has such a one.
    fn verb_within(&self, head: &Head) -> Option<usize> {
        let tokens = self.tokens();
        let known = |at: &usize| tokens[*at].classes.is_verb() && !tokens[*at].has(Class::Pronoun);
        let unknown = |at: &usize| head.wants_time && tokens[*at].classes == super::phrases::Classes::default();
        (head.start..head.end).find(known).or_else(|| (head.start..head.end).find(unknown))
    }

    /// Whether a phrase of this meaning begins at one of these places.
    fn meets(&self, meaning: Meaning, places: Range<usize>) -> bool {
        places.into_iter().any(|at| self.phrases.at(self.tokens(), at, |one| one == meaning).is_some())
    }

    fn has_known_verb(&self, head: &Head, task: &Range<usize>) -> bool {
        let tokens = self.tokens();
        let verb = self.verb(head);
        if head.has_verb {
            // "Das übernimmt Peter": what, was said before.
            let around = head.start.saturating_sub(2)..task.end.max(head.end);
            if tokens[verb].has(Class::Empty) && tokens[around].iter().any(|token| token.has(Class::Object)) {
                return true;
            }
            let is_later = tokens[head.start..head.end].iter().any(|token| token.has(Class::ThirdLater));
            // "Der Kunde ruft uns an" tells how things are; with a time it tells what will be.
            let is_soon = self.has_time(task.clone());
            return is_later
                || is_soon
                || matches!(head.by, AnnouncedBy::Named(Named::Other(_)) if tokens[head.start].has_capital && !self.phrases.capital_nouns);
        }
        let stands = |token: &Token| token.has(Class::Infinitive) || self.phrases.can_be_infinitive(&token.lower);
        // German and Dutch set the verb at the end of the clause, wherever that is.
        tokens.get(verb).is_some_and(stands)
            || (self.phrases.sets_verbs_last()
                && tokens[task.clone()].iter().skip(1).any(|token| !token.has_capital && token.has(Class::Infinitive)))
    }

    fn has_time(&self, words: Range<usize>) -> bool {
        !self.times(words).is_empty()
    }

    fn times(&self, words: Range<usize>) -> Vec<Due> {
        self.tokens().get(words).map_or_else(Vec::new, |words| self.phrases.calendar.all(words, None))
    }

    /// Whether a clause begins with a token, as far as the words tell it.
    fn begins_clause(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let leads =
            [Class::Joint, Class::Interjection, Class::Opener, Class::Contrary, Class::Between, Class::Preposition];
        at == 0 || tokens[at].is_after_break() || leads.iter().any(|class| tokens[at - 1].has(*class))
    }

    /// Whether a subject that is a pronoun stands before a verb.
    fn has_pronoun_before(&self, at: usize) -> bool {
        let mut before = self.tokens()[..at].iter().rev().skip_while(|token| token.has(Class::Between));
        before.next().is_none_or(|token| token.has(Class::Pronoun) && !token.has(Class::Determiner))
    }

    fn is_denied(&self, head: &Head, task: &Range<usize>) -> bool {
        let tokens = self.tokens();
        let place = head.start..head.end;
        let reach = if self.phrases.sets_verbs_last() {
            task.end
        } else if self.phrases.denies_before {
            head.end
        } else {
            (head.end + 2).min(task.end.max(head.end))
        };
        // "No tengo que …": the denial stands before, whatever stands between.
        let mut from = head.start;
        while from > 0 && !tokens[from].is_after_break() && tokens[from - 1].has(Class::Between) {
            from -= 1;
        }
        // "Not yet, I'll do it tomorrow", written without a comma: a subject begins a clause of its own.
        let is_subject = tokens[head.start].has(Class::Pronoun) && !tokens[head.start].has(Class::Object);
        if is_subject {
            from = head.start;
        } else if from > 0 && !tokens[from].is_after_break() {
            from -= 1;
        }
        let reach = reach.min(tokens.len());
        // "Vergiss nicht …" asks.
        (from..reach).any(|at| {
            let is_own = place.contains(&at) && head.is_asked;
            tokens[at].has(Class::Negation) && !is_own
        })
    }

    fn asks_whether(&self, at: usize) -> bool {
        self.tokens()[at.saturating_sub(3)..at].iter().any(|token| token.has(Class::Whether))
    }

    fn is_conditional(&self, start: usize, task: &Range<usize>) -> bool {
        let tokens = self.tokens();
        let end = task.end.max(start + 1);
        let from = start.saturating_sub(CONDITION_WORDS);
        let begins = |at: usize| {
            at == 0
                || tokens[at].is_after_break()
                || [
                    Class::Joint,
                    Class::Interjection,
                    Class::Between,
                    Class::Complement,
                    Class::Opener,
                    Class::Contrary,
                ]
                .iter()
                .any(|class| tokens[at - 1].has(*class))
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

    /// Whether the words are somebody else's, or told as having been said.
    fn is_told(&self, head: &Head) -> bool {
        let tokens = self.tokens();
        let from = head.start.saturating_sub(10);
        // "She says she'll send it" is as good as said by herself; a quotation says "I".
        let is_indirect = |at: usize| {
            head.by == AnnouncedBy::LastNamed
                && at + TOLD_WORDS >= head.start
                && !tokens[at + 1..head.start + 1].iter().any(Token::is_after_stop)
        };
        if !head.is_told && self.is_quoted(head) {
            return true;
        }
        !head.is_told
            && (from..head.start).any(|at| {
                let is_own = at > 0 && self.is_first_person(at - 1);
                tokens[at].has(Class::Report) && !is_own && !is_indirect(at)
            })
    }

    /// "A client wrote to us: I'll pay in hens": what stands behind a colon, of somebody else.
    fn is_quoted(&self, head: &Head) -> bool {
        let tokens = self.tokens();
        let is_colon = |at: usize| {
            let before = &self.sentence.text[..tokens[at].place.start];
            before.trim_end_matches([' ', '"', '«', '“', '„', '\'']).ends_with(':')
        };
        let Some(colon) = (1..=head.start).rev().find(|at| tokens[*at].is_after_stop() && is_colon(*at)) else {
            return false;
        };
        let others = [Class::Past, Class::Report, Class::ThirdPronoun, Class::Role];
        let is_others = tokens[..colon].iter().any(|token| others.iter().any(|class| token.has(*class)));
        matches!(head.by, AnnouncedBy::Speaker | AnnouncedBy::Claim) && is_others
    }

    fn is_first_person(&self, at: usize) -> bool {
        let tokens = self.tokens();
        (at.saturating_sub(1)..=at)
            .any(|at| matches!(tokens[at].lower.as_str(), "i" | "ich" | "je" | "j'" | "yo" | "eu" | "io" | "ik"))
    }

    fn is_past(&self, task: &Range<usize>) -> bool {
        self.tokens()[task.clone()].iter().any(|token| token.has(Class::Past))
    }
}

/// Whether a sentence ends as a question, in any script.
#[must_use]
pub fn is_question(sentence: &str) -> bool {
    sentence.trim_end_matches(|c: char| c.is_whitespace() || "\"'”’»)".contains(c)).ends_with(['?', '？', '؟'])
}
