//! Chooses the words of a task: from its own sentence, or from the request that it answers.
//!
//! `phrasing` converts them to a line of a to-do list.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::draft::{Draft, Here};
use super::item::Owner;
use super::phrasing::Phrasing;
use super::plausibility::tidied;
use super::settled::{About, Settled};
use super::tracker::Tracker;
use super::words::{Clause, gives_speaker};
use crate::commitments::clauses::Grammar;
use crate::commitments::heads::{AnnouncedBy, Announcement};
use crate::languages::classes::Class;
use crate::languages::frames::filled;
use crate::languages::meanings::{Meaning, Pronoun};
use crate::languages::token::{Break, Token};
use crate::model::acts::Act;
use crate::model::referents::NounPhrase;
use crate::text::noun_phrases::noun_phrases;
use crate::text::tokens::tokens;

/// Lowest likelihood of a phrase in a request, as a fraction of the likeliest phrase's.
const REQUEST_MIN: f64 = 0.4;

/// Lowest likelihood of the thing that an answer without words of its own is about.
const SURE_OBJECT: f64 = 0.4;
/// The same of an answer that takes a task.
const SURE_CLAIM: f64 = 0.3;
/// The same if nothing else was said just before.
const SURE_ANSWER: f64 = 0.2;

/// Most words of a sentence that needs an earlier one to name its task.
const POINTING_WORDS_MAX: usize = 12;

/// Most words of an addition between commas behind a name.
const ADDED_WORDS: usize = 5;

/// Most words of a sentence that are searched for a task.
const SENTENCE_WORDS_MAX: usize = 80;
/// Most sentences between a request and an answer with the same verb.
const REPEATED_SENTENCES: usize = 5;

/// A task in words.
pub(super) struct Worded {
    pub(super) task: String,
    /// The sentence that it answers, if words come from there.
    pub(super) answered: Option<usize>,
}

impl Tracker<'_> {
    /// Returns the words of a settled sentence, within a number of words.
    pub(super) fn worded(
        &self,
        settled: Settled,
        draft: Option<&Draft>,
        owner: Option<&Owner>,
        due: Option<&str>,
        about: &About<'_>,
        words_max: usize,
    ) -> Option<Worded> {
        let index = settled.index;
        let told = |clause: &Clause, object: Option<&str>| self.told(clause, owner, due, object, words_max);
        let mut own = self.own_clauses(settled);
        own.sort_by_key(|clause| clause.is_bare || self.nouns(clause, owner) == 0);
        let here = self.here(index)?;
        let own = own.into_iter().next().or_else(|| self.pointing(here, settled));
        if own.as_ref().is_some_and(|own| Self::is_of_person(here, settled, own)) {
            return None;
        }
        let own = own.filter(|own| !Self::is_agreement(here, own));
        let own = own.or_else(|| self.of_subject(here, settled, owner?));
        let likely = self.meant(index, own.as_ref(), owner, about);
        if let Some(worded) = self.delivered(settled, owner, &likely) {
            return Some(worded);
        }
        if let Some(own) = own.as_ref().filter(|own| !own.is_bare && self.nouns(own, owner) > 0) {
            // "Bring it to the board."
            let object = likely.first().filter(|_| self.stands_first(own));
            // "The toilet is full, talk to the company about that."
            let is_same = |at: usize| at == index || (at + 1 == index && self.is_of_turn(at, index));
            let same = || likely.iter().find(|(place, _)| is_same(place.sentence) && self.stands_last(own));
            let object = object.or_else(same);
            // "I'll let the dealer know it" says already who.
            let is_said = |noun: &String| {
                let name = noun.rsplit(' ').next().unwrap_or(noun).to_lowercase();
                here.sentence.tokens[own.words.clone()].iter().any(|token| token.lower == name)
            };
            let noun = object.and_then(|(place, _)| self.noun(place)).filter(|noun| !is_said(noun));
            let answered = object.map(|(place, _)| place.sentence).filter(|before| *before != index && noun.is_some());
            return Some(Worded { task: told(own, noun.as_deref())?, answered });
        }
        let is_specific = own.as_ref().is_some_and(|own| !own.is_bare && !self.is_said_of_all(own));
        let asked = draft.and_then(|draft| self.request(here, own.as_ref(), is_specific, draft, owner));
        let asked = asked.or_else(|| self.repeated(here, own.as_ref()?, owner));
        // What was asked before is a task of the speaker, rather than of a person in the sentence.
        let is_open = !is_specific && (draft.is_some() || settled.act != Act::Others);
        let asked = asked.or_else(|| if is_open { self.asked_before(&likely, here, owner) } else { None });
        if let Some(asked) = asked {
            let noun = || self.noun(&self.meant(asked.sentence, Some(&asked), owner, about).first()?.0);
            let noun = if self.stands_first(&asked) { noun() } else { None };
            return Some(Worded { task: told(&asked, noun.as_deref())?, answered: Some(asked.sentence) });
        }
        let object = likely.first();
        let noun = object.and_then(|(place, _)| self.noun(place));
        let answered = object.map(|(place, _)| place.sentence).filter(|before| *before != index);
        if let Some(own) = own.as_ref().filter(|_| is_specific) {
            return self.specific(here, own, owner, &likely, (noun, answered), &told);
        }
        self.unspecific(here, settled, object, owner, (due, words_max))
    }

    /// Returns the words of a sentence that says what is done, with the thing or the person of its pronoun.
    fn specific(
        &self,
        here: Here<'_>,
        own: &Clause,
        owner: Option<&Owner>,
        likely: &[(NounPhrase, f64)],
        (noun, answered): (Option<String>, Option<usize>),
        told: &dyn Fn(&Clause, Option<&str>) -> Option<String>,
    ) -> Option<Worded> {
        if let Some(recipient) = self.recipient(own, owner) {
            // "Je lui écris": a thing is no object of it, and a reader has to know the person.
            let noun = noun.filter(|_| self.stands_first(own));
            recipient.person?;
            return Some(Worded { task: told(own, noun.as_deref())?, answered });
        }
        if !self.person_pronouns(own).is_empty() {
            if self.person(own, owner).is_some() {
                return Some(Worded { task: told(own, None)?, answered: None });
            }
            let somebody = likely.iter().find(|(place, _)| self.is_somebody(place));
            let somebody = somebody.and_then(|(place, _)| Some((self.noun(place)?, place.sentence)));
            // "I'll call him" says nothing to a reader who does not know him.
            let (noun, answered) = somebody.or_else(|| self.mentioned(own, owner))?;
            let answered = Some(answered).filter(|before| *before != here.index);
            return Some(Worded { task: told(own, Some(&noun))?, answered });
        }
        Some(Worded { task: told(own, noun.as_deref())?, answered })
    }

    /// Returns the words of a sentence whose own words do not say what is done.
    fn unspecific(
        &self,
        here: Here<'_>,
        settled: Settled,
        object: Option<&(NounPhrase, f64)>,
        owner: Option<&Owner>,
        (due, words_max): (Option<&str>, usize),
    ) -> Option<Worded> {
        let index = settled.index;
        // "Sure, unless it's on Friday": what was asked is not settled.
        let is_open = here.sentence.tokens.iter().any(|token| token.has(Class::Condition));
        if is_open && self.own_clauses(settled).is_empty() {
            return None;
        }
        let noun = object.and_then(|(place, _)| self.noun(place));
        let answered = object.map(|(place, _)| place.sentence).filter(|before| *before != index);
        // A whole sentence reads odd as a task.
        let is_own = object.is_some_and(|(place, _)| place.sentence == index);
        if let Some(most) = self.said_most(here, owner).filter(|_| is_own && !self.takes(index)) {
            return Some(Worded { task: self.told(&most, owner, due, None, words_max)?, answered: None });
        }
        // "Next week I'm in Antwerp" says something else.
        let points = here.sentence.tokens.iter().any(|token| token.has(Class::Object));
        let says_more = here.sentence.tokens.len() > POINTING_WORDS_MAX && !points;
        if let Some(noun) = noun.filter(|_| (!is_own && !says_more) || self.takes(index)) {
            let least = if self.takes(index) { SURE_CLAIM } else { SURE_OBJECT };
            if !object.is_some_and(|object| self.is_sure(here, object, least)) {
                return self.whole(here, owner, due, words_max).filter(|_| self.says_own(here));
            }
            return Some(Worded { task: filled(&here.phrases.frames.handle, &[("thing", &noun)]), answered });
        }
        self.whole(here, owner, due, words_max)
    }

    /// "Je vous confirme la date": returns true if the speaker is the subject of a verb with an object that is no pronoun.
    fn says_own(&self, here: Here<'_>) -> bool {
        let tokens = &here.sentence.tokens;
        let nouns = noun_phrases(here.sentence);
        let is_noun = |at: usize| nouns.iter().any(|place| place.contains(&at));
        let is_own = |token: &Token| token.has(Class::Me) || token.has(Class::MeLater);
        let verb =
            (0..tokens.len()).find(|at| is_own(&tokens[*at]) && !is_noun(*at) && !self.is_empty(here, *at..at + 1));
        let points = |at: usize| self.stands_for_it(here, at) && !is_noun(at);
        verb.is_some_and(|verb| nouns.iter().any(|place| place.start > verb)) && !(0..tokens.len()).any(points)
    }

    /// Returns true if a noun phrase is surely what an answer is about: it is likely, or the only one of the sentence that
    /// another speaker said just before.
    fn is_sure(&self, answer: Here<'_>, (place, likelihood): &(NounPhrase, f64), least: f64) -> bool {
        let is_answered = || {
            let there = self.here(place.sentence).filter(|there| there.speaker != answer.speaker);
            let is_last = (place.sentence + 1..answer.index).all(|at| self.is_of_turn(at, answer.index));
            is_last && there.is_some_and(|there| noun_phrases(there.sentence).len() == 1)
        };
        *likelihood >= least || (*likelihood >= SURE_ANSWER && is_answered())
    }

    /// Returns the whole sentence, which must have the form of a task: in languages with final verbs, at its end.
    fn whole(&self, here: Here<'_>, owner: Option<&Owner>, due: Option<&str>, words_max: usize) -> Option<Worded> {
        let words = 0..here.sentence.tokens.len();
        let clause = Clause::naming(here.index, words.clone());
        let whole = Phrasing::of(self, here, words, due);
        if whole.is_empty() || self.nouns(&clause, owner) == 0 {
            return None;
        }
        let task = whole.told(owner, None, words_max);
        let is_verb = |word: &str| here.phrases.classes(word).has(Class::Infinitive);
        let is_complete =
            !here.phrases.sets_verbs_last() || task.split_whitespace().skip(1).last().is_some_and(is_verb);
        let is_told =
            !task.is_empty() && is_written(here, &task) && is_complete && tidied(here, &task).as_ref() == Some(&task);
        is_told.then_some(Worded { task, answered: None })
    }

    /// "Ça marche": the subject is the matter itself.
    fn is_agreement(here: Here<'_>, own: &Clause) -> bool {
        here.sentence.tokens[own.words.clone()].windows(2).any(|pair| {
            let is_matter = here.phrases.pronoun(&pair[0].lower) == Some(Pronoun::Thing) && pair[0].has(Class::Pronoun);
            let is_its = pair[1].has(Class::Third) || pair[1].is_unlisted();
            is_matter && !pair[0].has(Class::Determiner) && is_its && here.phrases.has_agreement()
        })
    }

    /// "My husband puts me on the street": the subject is another person.
    fn is_of_person(here: Here<'_>, settled: Settled, own: &Clause) -> bool {
        let is_person = |token: &Token| {
            (here.phrases.group(&token.lower) == "person" || token.has(Class::Role)) && !token.has(Class::Pronoun)
        };
        settled.act == Act::Own
            && here.phrases.has_agreement()
            && !here.phrases.sets_verbs_last()
            && here.sentence.tokens[own.words.clone()].windows(2).any(|pair| {
                is_person(&pair[0])
                    && pair[1].before == Break::None
                    && pair[1].has(Class::Third)
                    && !pair[1].has(Class::Me)
            })
    }

    /// "Mon neveu Kévin les colle": returns the words from the verb behind the owner's name.
    fn of_subject(&self, here: Here<'_>, settled: Settled, owner: &Owner) -> Option<Clause> {
        let tokens = &here.sentence.tokens;
        let name = owner.name.split_whitespace().next_back().filter(|_| settled.act == Act::Others)?;
        let at = tokens.iter().position(|token| &here.sentence.text[token.place.clone()] == name)?;
        let is_between = |token: &&Token| token.has(Class::Between) && !token.classes.is_verb();
        // "Denis, do TI, separa".
        let is_added = tokens.get(at + 1).is_some_and(|next| next.before == Break::Comma);
        let behind = tokens.iter().enumerate().skip(at + 2).take(ADDED_WORDS);
        let behind =
            behind.filter(|(_, token)| is_added && token.before == Break::Comma).map(|(behind, _)| behind).next();
        let at = behind.map_or(at, |behind| behind - 1);
        let is_joint = |token: &&Token| behind.is_some() && (token.has(Class::Joint) || token.has(Class::ThirdPronoun));
        let verb = at + 1 + tokens[at + 1..].iter().take_while(|token| is_between(token) || is_joint(token)).count();
        let is_verb = tokens.get(verb).is_some_and(|token| {
            (token.has(Class::Third) || token.has(Class::ThirdLater))
                && (!token.is_after_break() || behind.is_some())
                && !token.has(Class::Empty)
        });
        let words = Phrasing::extent(self, here, verb..tokens.len());
        is_verb.then_some(Clause::naming(here.index, words))
    }

    /// Returns the words of the request that a sentence answers, unless its own words say more.
    fn request(
        &self,
        here: Here<'_>,
        own: Option<&Clause>,
        is_specific: bool,
        draft: &Draft,
        owner: Option<&Owner>,
    ) -> Option<Clause> {
        let (sentence, words) = draft.said.clone().filter(|(sentence, _)| *sentence != here.index)?;
        let asked = Clause::naming(sentence, words);
        let nouns = self.nouns(&asked, owner);
        // "Could you get the invoice?" – "I can walk over there." Where the verb comes last, the words around a request
        // are less sure.
        let is_accepted = draft.is_requested && draft.is_accepted && !here.phrases.sets_verbs_last();
        let says_more = if is_specific {
            is_accepted && (nouns > 0 || own.is_some_and(|own| self.is_weak(here, own)))
        } else {
            let points = |there| asked.words.clone().any(|at| self.stands_for_it(there, at));
            nouns > 0 || (is_accepted && self.here(asked.sentence).is_some_and(points))
        };
        says_more.then_some(asked)
    }

    /// "You'll have the list on Monday", "den Termin hast du bis Mittwoch".
    fn delivered(&self, settled: Settled, owner: Option<&Owner>, likely: &[(NounPhrase, f64)]) -> Option<Worded> {
        let here = self.here(settled.index).filter(|_| settled.act == Act::Own)?;
        let tokens = &here.sentence.tokens;
        let is_subject = |at: usize, who: Pronoun| {
            tokens[at].has(Class::Pronoun) && here.phrases.pronoun(&tokens[at].lower) == Some(who)
        };
        let all = || 0..tokens.len();
        let is_addressed = all().any(|at| is_subject(at, Pronoun::Addressed));
        let is_own = all().any(|at| is_subject(at, Pronoun::Speaker) || is_subject(at, Pronoun::Everybody));
        // "Let me check that with our engineers and get back to you."
        let is_own = is_own || tokens.windows(2).any(|pair| pair[0].lower == "let" && pair[1].lower == "me");
        let says_have = all().any(|at| self.is_empty(here, at..at + 1) && tokens[at].has(Class::Empty));
        let is_given = is_addressed || gives_speaker(here, 0..tokens.len());
        if !is_given || is_own || here.sentence.text.ends_with('?') || !says_have {
            return None;
        }
        let stands = |place: &Range<usize>| {
            let first = place.start;
            tokens[first].has(Class::Object) && first > 0 && tokens[first - 1].has(Class::Pronoun)
        };
        // "Send me the number and you'll have it by lunch."
        let nouns: Vec<Range<usize>> = noun_phrases(here.sentence);
        let is_noun = |at: usize| nouns.iter().any(|place| place.contains(&at));
        let is_thing = |at: usize| here.phrases.pronoun(&tokens[at].lower).is_none_or(|who| who == Pronoun::Thing);
        let points = all().any(|at| self.stands_for_it(here, at) && is_thing(at) && !is_noun(at));
        let inside =
            nouns.iter().find(|place| !points && !stands(place) && !self.is_owner(settled.index, place, owner));
        let inside = inside.map(|words| NounPhrase { sentence: settled.index, words: words.clone() });
        let before = || likely.iter().find(|(place, _)| place.sentence != settled.index);
        let place =
            inside.or_else(|| Some(before().filter(|object| self.is_sure(here, object, SURE_OBJECT))?.0.clone()))?;
        let task = filled(&here.phrases.frames.deliver, &[("thing", &self.noun(&place)?)]);
        Some(Worded { task, answered: Some(place.sentence).filter(|before| *before != settled.index) })
    }

    /// "Te lo mando esta tarde": a short sentence with a verb and a pronoun.
    fn pointing(&self, here: Here<'_>, settled: Settled) -> Option<Clause> {
        let tokens = &here.sentence.tokens;
        let does = |token: &Token| {
            let is_own = token.has(Class::Me) || token.has(Class::MeLater) || token.is_unlisted();
            is_own && !token.has(Class::Empty)
        };
        // "It'll go out on Friday": the thing is the subject.
        let is_subject =
            |at: usize| tokens.get(at + 1).is_some_and(|next| next.has(Class::Modal) || next.lower.starts_with('\''));
        let points = (0..tokens.len()).any(|at| self.stands_for_it(here, at) && !is_subject(at));
        let is_meant = settled.act == Act::Own && tokens.len() <= POINTING_WORDS_MAX;
        let words = Phrasing::extent(self, here, 0..tokens.len());
        // "My husband puts me on the street."
        let is_others = tokens[words.clone()]
            .iter()
            .take_while(|token| !does(token))
            .any(|token| token.has(Class::Role) || here.phrases.group(&token.lower) == "person");
        (is_meant && points && !is_others && tokens[words.clone()].iter().any(does))
            .then_some(Clause::naming(here.index, words))
    }

    /// Returns true if a sentence only accepts an earlier task.
    fn takes(&self, index: usize) -> bool {
        let grammar = Grammar::of(&self.text.sentences[index], self.names);
        grammar.is_some_and(|grammar| grammar.announcements().iter().any(|one| one.by == AnnouncedBy::Claim))
    }

    /// Returns the announcement of a sentence with its settled kind.
    fn own_clauses(&self, settled: Settled) -> Vec<Clause> {
        let sentence = &self.text.sentences[settled.index];
        let (Some(here), Some(grammar)) = (self.here(settled.index), Grammar::of(sentence, self.names)) else {
            return Vec::new();
        };
        let is_meant = |one: &Announcement| match settled.act {
            Act::Own => matches!(one.by, AnnouncedBy::Speaker | AnnouncedBy::Claim | AnnouncedBy::Everybody),
            Act::Others | Act::Unassigned | Act::Decision | Act::NoTask => {
                !matches!(one.by, AnnouncedBy::Speaker | AnnouncedBy::Claim)
            }
        };
        let mut all: Vec<Announcement> =
            self.joined(here, grammar.announcements()).into_iter().filter(is_meant).collect();
        // "There must be a charger, someone has to find out": a person is looked for.
        all.sort_by_key(|one| settled.act == Act::Unassigned && one.by != AnnouncedBy::Somebody);
        all.iter().map(|one| self.clause(here, one)).collect()
    }

    fn clause(&self, here: Here<'_>, announcement: &Announcement) -> Clause {
        let words = words_of(here, announcement);
        let is_claim = announcement.by == AnnouncedBy::Claim;
        // "Lo confermo io" has a verb of its own, "lo faccio io" has none.
        let is_bare = is_claim && !self.has_own_verb(here, announcement);
        let words = if is_bare { words } else { Phrasing::extent(self, here, words) };
        Clause { sentence: here.index, words, is_claim, is_bare }
    }

    /// Returns true if the words of a claim contain a verb that says what is done.
    fn has_own_verb(&self, here: Here<'_>, announcement: &Announcement) -> bool {
        let own = [Class::Me, Class::MeLater, Class::Infinitive];
        // The forms of an English verb are too ambiguous.
        here.phrases.code != "en"
            && here.sentence.tokens[announcement.start..announcement.end].iter().any(|token| {
                token.has_any(&own) && !token.has_any(&[Class::Empty, Class::Report]) && !here.phrases.helps(token)
            })
    }

    /// Returns true if some words only say that something is done ("do that").
    fn is_said_of_all(&self, clause: &Clause) -> bool {
        self.here(clause.sentence).is_none_or(|here| {
            let times = here.phrases.calendar.all(&here.sentence.tokens, None);
            let says = |at: &usize| {
                let token = &here.sentence.tokens[*at];
                let is_time = times.iter().any(|time| time.start <= *at && *at < time.end);
                let group = here.phrases.group(&token.lower);
                let is_place = ["where", "when", "number", "of", "by"].contains(&group);
                !is_time && !is_place && !token.has(Class::Interjection)
            };
            clause.words.clone().filter(says).all(|at| self.is_empty(here, at..at + 1))
        })
    }

    /// "Get it ordered", "make it a kind one": returns true if the verb of some words says little about the task.
    fn is_weak(&self, here: Here<'_>, clause: &Clause) -> bool {
        let verb = here.sentence.tokens.get(clause.words.start);
        let is_thing =
            clause.words.contains(&(clause.words.start + 1)) && self.stands_for_it(here, clause.words.start + 1);
        is_thing && verb.is_some_and(|verb| matches!(verb.lower.as_str(), "get" | "have" | "make"))
    }

    /// Returns true if two sentences belong to one turn.
    fn is_of_turn(&self, one: usize, other: usize) -> bool {
        self.text.sentences[one].source == self.text.sentences[other].source
    }

    /// Returns earlier requests and needs, likeliest first.
    fn asked_before(&self, likely: &[(NounPhrase, f64)], answer: Here<'_>, owner: Option<&Owner>) -> Option<Clause> {
        let least = likely.first()?.1 * REQUEST_MIN;
        likely.iter().take_while(|(_, likelihood)| *likelihood >= least).find_map(|(place, _)| {
            let (sentence, here) = (&self.text.sentences[place.sentence], self.here(place.sentence)?);
            let announced = Grammar::of(sentence, self.names)?.announcements();
            // A promise of another speaker is no request.
            let is_meant = |one: &&Announcement| match one.by {
                AnnouncedBy::Claim => false,
                AnnouncedBy::LastNamed => one.is_asked,
                AnnouncedBy::Speaker => one.is_offer || here.speaker == answer.speaker,
                // A request to another person.
                AnnouncedBy::Addressed(Some(ref named)) => self.owner(named).as_ref() == owner,
                _ => true,
            };
            let announced = announced.iter().filter(is_meant).map(|one| self.clause(here, one));
            let holds =
                |clause: &Clause| clause.words.start <= place.words.start && place.words.end <= clause.words.end;
            let mut clauses = announced.chain(Self::asking(here));
            clauses.find(|clause| holds(clause) && self.nouns(clause, owner) > 0)
        })
    }

    /// "You'll mark the interviews?" – "I'll mark them.": returns the earlier words of another speaker with the same verb.
    fn repeated(&self, here: Here<'_>, own: &Clause, owner: Option<&Owner>) -> Option<Clause> {
        let tokens = &here.sentence.tokens;
        let says = |at: &usize| !tokens[*at].has(Class::Empty) && !here.phrases.helps(&tokens[*at]);
        let verbs = |there: Here<'_>, words: Range<usize>| self.verbs(there, words);
        let own: FxHashSet<u32> = own.words.clone().filter(says).flat_map(|at| verbs(here, at..at + 1)).collect();
        (here.index.saturating_sub(REPEATED_SENTENCES)..here.index).rev().find_map(|index| {
            let there = self.here(index).filter(|there| there.speaker != here.speaker)?;
            let announced = Grammar::of(there.sentence, self.names)?.announcements();
            let announced = announced.iter().filter(|one| !matches!(one.by, AnnouncedBy::Claim | AnnouncedBy::Speaker));
            let mut clauses = announced.map(|one| self.clause(there, one)).chain(Self::asking(there));
            clauses.find(|clause| {
                let is_same = !self.verbs(there, clause.words.clone()).is_disjoint(&own);
                is_same && self.nouns(clause, owner) > 0
            })
        })
    }

    /// Returns the words behind a request, or an order at the beginning of the sentence.
    fn asking(here: Here<'_>) -> Option<Clause> {
        let tokens = &here.sentence.tokens;
        let is_meant = |meaning| matches!(meaning, Meaning::Request | Meaning::RequestInQuestion | Meaning::Somebody);
        let asked = here.phrases.all(tokens, is_meant).into_iter().next();
        let leads =
            |token: &Token| token.has(Class::Interjection) || token.has(Class::Joint) || token.has(Class::Between);
        let first = tokens.iter().take_while(|token| leads(token)).count();
        let is_order = tokens.get(first).is_some_and(|token| token.has(Class::Order));
        let start = match asked {
            Some(asked) if asked.has_verb || here.phrases.sets_verbs_last() => asked.start,
            Some(asked) => asked.end,
            None if is_order => first,
            None => return None,
        };
        let words =
            if here.phrases.sets_verbs_last() { Phrasing::around(here, start..start + 1) } else { start..tokens.len() };
        Some(Clause::naming(here.index, words))
    }

    /// Returns the most specific part of a sentence: with a verb and an object.
    fn said_most(&self, here: Here<'_>, owner: Option<&Owner>) -> Option<Clause> {
        let tokens = &here.sentence.tokens;
        let starts = (0..tokens.len().min(SENTENCE_WORDS_MAX))
            .filter(|at| *at == 0 || tokens[*at].is_after_break() || tokens[at - 1].has(Class::Joint));
        let parts = starts.map(|start| {
            let words = Phrasing::extent(self, here, start..tokens.len());
            Clause::naming(here.index, words)
        });
        let verbs = [Class::Infinitive, Class::Me, Class::MeLater, Class::ThirdLater, Class::Third, Class::Going];
        let does = |token: &Token| token.has_any(&verbs) && !token.has(Class::Empty);
        let has_verb = |clause: &Clause| tokens[clause.words.clone()].iter().any(does);
        parts.filter(has_verb).find(|clause| self.nouns(clause, owner) > 0)
    }

    fn told(
        &self,
        clause: &Clause,
        owner: Option<&Owner>,
        due: Option<&str>,
        object: Option<&str>,
        words_max: usize,
    ) -> Option<String> {
        let here = self.here(clause.sentence)?;
        let mut phrasing = Phrasing::of(self, here, clause.words.clone(), due);
        let people = self.person_pronouns(clause);
        let person = self.person(clause, owner);
        let is_person = person.is_none() && !people.is_empty() && !self.stands_first(clause);
        let (person, object) = if is_person { (object.map(str::to_owned), None) } else { (person, object) };
        // "Speak to her about the scan" says nothing to a reader who does not know her.
        let is_unknown = |at: &usize| matches!(here.sentence.tokens[*at].lower.as_str(), "him" | "her");
        let is_unknown = person.is_none() && people.iter().any(is_unknown);
        let person = if is_unknown { Some(self.mentioned(clause, owner)?.0) } else { person };
        if let Some(person) = person {
            phrasing.put_person(&people, &person);
        }
        let recipient = self.recipient(clause, owner);
        if let Some(recipient) = &recipient {
            phrasing.put_recipient(recipient);
        }
        if phrasing.is_empty() && object.is_none() {
            return None;
        }
        let task = phrasing.told(owner, object, words_max);
        if task.is_empty() {
            return None;
        }
        let frames = &here.phrases.frames;
        let is_bare = |task: &String| {
            [&frames.handle, &frames.get].iter().any(|frame| filled(frame, &[("thing", "")]).trim() == task)
        };
        let written = tidied(here, &task).filter(|tidied| is_written(here, &task) && !is_bare(tidied));
        if written.is_some() {
            return written;
        }
        // Without an infinitive, the words are no task: only their thing is named.
        // "(Trato) dos cartazes" begins before the words.
        let inside = |words: &Range<usize>| {
            let is_opened = here.sentence.tokens[words.start].has(Class::Determiner);
            clause.words.start <= words.start + usize::from(is_opened) && words.end <= clause.words.end
        };
        let places = noun_phrases(here.sentence).into_iter().filter(inside);
        // "Massageolie besteld".
        let is_form = |at: &usize| {
            let token = &here.sentence.tokens[*at];
            (token.has(Class::Infinitive) || here.phrases.form(&token.lower).is_some()) && !token.has_capital
        };
        let noun = |words: Range<usize>| {
            let end = words.clone().rfind(|at| !is_form(at)).map_or(words.start, |last| last + 1);
            NounPhrase { sentence: clause.sentence, words: words.start..end }
        };
        let is_bare =
            |place: &NounPhrase| place.words.clone().all(|at| here.sentence.tokens[at].has(Class::Determiner));
        let places = places.map(noun).filter(|place| {
            !is_bare(place) && self.is_thing(place) && !self.is_owner(place.sentence, &place.words, owner)
        });
        let tokens = &here.sentence.tokens;
        let is_governed = |place: &NounPhrase| {
            let before = place.words.start.checked_sub(1).map(|before| &tokens[before]);
            let governs = |one: &Token| one.has(Class::Preposition) && here.phrases.group(&one.lower) != "of";
            governs(&tokens[place.words.start]) || before.is_some_and(governs)
        };
        let place = places.min_by_key(is_governed);
        let thing = place.and_then(|place| self.noun(&place)).or_else(|| object.map(str::to_owned))?;
        let task = filled(if owner.is_some() { &frames.handle } else { &frames.get }, &[("thing", &thing)]);
        tidied(here, &task).filter(|written| *written == task)
    }

    pub(super) fn is_name(&self, here: Here<'_>, at: usize) -> bool {
        self.names.at(&here.sentence.tokens, at, &here.sentence.text, here.phrases).is_some()
    }
}

/// Returns the words of an announcement that can name its task.
pub(super) fn words_of(here: Here<'_>, announcement: &Announcement) -> Range<usize> {
    let Announcement { by, start, end, task, .. } = announcement;
    // In languages with final verbs, the verb may precede the subject.
    let both = *start.min(&task.start)..task.end.max(*end);
    if *by == AnnouncedBy::Claim {
        both
    } else if here.phrases.sets_verbs_last() {
        Phrasing::around(here, both)
    } else {
        task.clone()
    }
}

/// Returns true if some words have the form of a task: an infinitive at their beginning or, in languages with final verbs,
/// behind the first word. In Dutch, the form does not show it.
fn is_written(here: Here<'_>, task: &str) -> bool {
    let phrases = here.phrases;
    let tokens = tokens(task, phrases);
    if phrases.capital_nouns {
        // A target may follow the verb.
        return tokens.iter().skip(1).any(|token| token.lower.ends_with('n') && !token.has_capital);
    }
    let Some(first) = tokens.first().filter(|_| !phrases.sets_verbs_last()) else { return !tokens.is_empty() };
    let form = phrases.form(&first.lower);
    if first.has(Class::Infinitive) || form == Some("inf") || phrases.can_be_infinitive(&first.lower) {
        return true;
    }
    let others = [
        Class::Complement,
        Class::Preposition,
        Class::Pronoun,
        Class::Joint,
        Class::Negation,
        Class::Condition,
        Class::Determiner,
        Class::Role,
        Class::Past,
    ];
    let is_past = form == Some("past")
        || first.has(Class::Done)
        || phrases.group(&first.lower).starts_with("be/")
        || (!first.has(Class::MeLater) && phrases.code == "es" && first.lower.ends_with('é'));
    // "(Trato da) planta".
    let is_noun = first.has(Class::Third) && !first.has(Class::Me);
    !is_past && !is_noun && !first.has_any(&others)
}

#[cfg(test)]
mod tests {
    use crate::action_items::item::ActionItem;
    use crate::findings::Findings;
    use crate::material::{Chunk, Material, Person};

    /// Returns the items of a talk, one "speaker: text" per line.
    fn items(language: &str, said: &str) -> Vec<ActionItem> {
        let lines: Vec<(&str, &str)> = said.lines().filter_map(|line| line.trim().split_once(": ")).collect();
        let mut names: Vec<&str> = lines.iter().map(|line| line.0).collect();
        names.sort_unstable();
        names.dedup();
        let person = |name: &&str| Person { id: name.to_lowercase(), name: (*name).to_owned(), interests: Vec::new() };
        let people = names.iter().map(person).collect();
        let chunks = Chunk::of_talk(&lines, Some(language));
        Findings::of(&Material { chunks, people, held_ms: Some(1_767_225_600_000), ..Material::default() }, 3).items
    }

    fn lines(language: &str, said: &str) -> Vec<String> {
        items(language, said).iter().map(ActionItem::line).collect()
    }

    #[test]
    fn accepted_task_uses_the_words_of_its_request() {
        let said = "Ana: The wiki page on releases is older than the team.
            Tom: Somebody has to touch it before the audit.
            Ana: Could somebody update the wiki page?
            Tom: I can do that by Thursday.";
        let items = items("en", said);
        assert_eq!(items.iter().map(ActionItem::line).collect::<Vec<_>>(), ["Tom: update the wiki page (by Thursday)"]);
        assert_eq!(items[0].evidence, ["I can do that by Thursday.", "Could somebody update the wiki page?"]);
    }

    #[test]
    fn chatter_and_the_talk_of_others_are_no_part_of_an_item() {
        let said = "Luis: Yesterday I finished the retry logic for the payments.
            Luis: I will push the rounding fix this morning, it's basically one line.
            Ana: Tom, could you also send me the invoice of the venue?
            Tom: Sure, I'll do it tomorrow.";
        let expected =
            ["Luis: push the rounding fix (this morning)", "Tom: send Ana the invoice of the venue (tomorrow)"];
        assert_eq!(lines("en", said), expected);
    }

    #[test]
    fn pronouns_become_the_names_and_nouns_for_which_they_stand() {
        let talks = [
            (
                "Beth: What about Danny, the new assistant?
                 Beth: Would you ask him, Omar?
                 Omar: Yeah, I'll catch him on Monday.",
                "Omar: catch Danny (on Monday)",
            ),
            (
                "Ann: What we haven't got is a banner.
                 Ann: Owen, can you order a new one?
                 Owen: Yep, will do, I'll get it ordered by Wednesday.",
                "Owen: order a new banner (by Wednesday)",
            ),
            (
                "Ann: The letter to the patients is late.
                 Owen: I'll finish the list for it on Friday.",
                "Owen: finish the list (on Friday)",
            ),
        ];
        for (said, expected) in talks {
            assert_eq!(lines("en", said), [expected], "{said}");
        }
    }

    #[test]
    fn answer_without_an_object_uses_the_words_of_its_request() {
        let said = "Carol: Ben, could you get the invoice from purchasing?
            Ben: Sure, I can walk over there this afternoon.";
        assert_eq!(lines("en", said), ["Ben: get the invoice from purchasing (this afternoon)"]);
    }

    #[test]
    fn word_that_is_also_a_verb_is_a_noun_behind_a_preposition() {
        let said = "Bob: The plan for the week is simple.
            Ada: Okay, I'll take care of page 5 tomorrow.";
        assert_eq!(lines("en", said), ["Ada: take care of page 5 (tomorrow)"]);
    }

    #[test]
    fn reports_of_the_past_are_no_items() {
        let said = "Tanya: I chased the last two approvals on Tuesday, they both came in.
            Carol: Excellent.";
        assert_eq!(lines("en", said), [] as [&str; 0]);
    }

    #[test]
    fn absent_person_is_the_owner_and_what_others_get_is_delivered() {
        let said = "Ann: Katie in operations told me she'll clean up the duplicate accounts by Friday.
            Owen: Good.
            Ann: Owen, the trustees would like to see the accounts page.
            Owen: They'll get the accounts page from me on Monday.";
        let expected =
            ["Katie: clean up the duplicate accounts (by Friday)", "Owen: deliver the accounts page (on Monday)"];
        assert_eq!(lines("en", said), expected);
    }

    #[test]
    fn passive_need_becomes_an_order() {
        let said = "Ann: The skip needs collecting before the weekend.
            Owen: True.";
        assert_eq!(lines("en", said), ["Collect the skip (before the weekend)"]);
    }

    #[test]
    fn later_date_of_the_owner_counts() {
        let said = "Ann: Tom, could you update the wiki page about the schema?
            Tom: Sure, I can do that by Thursday. No wait, I'm away. Friday.
            Ann: Fine.";
        assert_eq!(lines("en", said), ["Tom: update the wiki page about the schema (Friday)"]);
    }

    #[test]
    fn asker_names_the_date_of_an_accepted_request() {
        let said = "Beth: Nicola, would you mind writing the risk assessment?
            Nicola: Not at all. When do you need it?
            Beth: Two weeks from today?";
        let items = items("en", said);
        assert_eq!(items[0].line(), "Nicola: write the risk assessment (two weeks from today)");
        assert_eq!(items[0].due_day.unwrap().to_string(), "2026-01-15");
    }

    #[test]
    fn times_of_telling_and_denied_times_are_no_dates() {
        let said = "Ann: Doctor Amin told me this morning she'll write the letter to the patients.
            Owen: Good. I'll put the names into the system, but not before Monday.";
        let expected = ["Doctor Amin: write the letter to the patients", "Owen: put the names into the system"];
        assert_eq!(lines("en", said), expected);
    }

    #[test]
    fn verbs_become_infinitives_in_each_language() {
        let talks = [
            (
                "de",
                "Eva: Uwe, könntest du die Rechnung von der Druckerei prüfen?
                 Uwe: Klar, mache ich bis Freitag.
                 Eva: Ich rufe morgen den Hausmeister an.",
                ["Uwe: die Rechnung von der Druckerei prüfen (bis Freitag)", "Eva: den Hausmeister anrufen (morgen)"],
            ),
            (
                "fr",
                "Eva: Luc, peux-tu envoyer le devis au client ?
                 Luc: Oui, je l'envoie demain.
                 Eva: Je vais appeler l'imprimeur vendredi.",
                ["Luc: envoyer le devis au client (demain)", "Eva: appeler l'imprimeur (vendredi)"],
            ),
            (
                "es",
                "Eva: Luis, ¿puedes mandar el informe al cliente?
                 Luis: Sí, lo mando mañana.
                 Eva: Yo llamo al fontanero el viernes.",
                ["Luis: mandar el informe al cliente (mañana)", "Eva: llamar al fontanero (el viernes)"],
            ),
            (
                "pt",
                "Eva: Rui, podes enviar a proposta ao cliente?
                 Rui: Sim, envio amanhã.
                 Eva: Eu vou ligar para o eletricista na sexta.",
                ["Rui: enviar a proposta ao cliente (amanhã)", "Eva: ligar para o eletricista (na sexta)"],
            ),
            (
                "it",
                "Eva: Luca, puoi mandare il preventivo al cliente?
                 Luca: Sì, lo mando domani.
                 Eva: Chiamo io l'idraulico venerdì.",
                ["Luca: mandare il preventivo al cliente (domani)", "Eva: chiamare l'idraulico (venerdì)"],
            ),
            (
                "nl",
                "Eva: Bram, kun je de offerte van de drukker nakijken?
                 Bram: Ja, doe ik morgen.
                 Eva: Ik bel vrijdag de loodgieter.",
                ["Bram: de offerte van de drukker nakijken (morgen)", "Eva: de loodgieter bellen (vrijdag)"],
            ),
        ];
        for (language, said, expected) in talks {
            assert_eq!(lines(language, said), expected, "{language}");
        }
    }

    #[test]
    fn pronoun_stands_for_a_noun_of_its_gender_and_number() {
        let said = "Eva: Les affiches, elles sont prêtes ?
            Luc: Oui, elles sont belles, et le serveur marche.
            Luc: Il reste la maquette et les panneaux du hall. Je la dessine demain.";
        assert_eq!(lines("fr", said), ["Luc: dessiner la maquette (demain)"]);
        let said = "Eva: E la mappa dei corrieri?
            Luca: La mappa funziona, ma mi manca il filtro per zona. Lo finisco entro giovedì.";
        assert_eq!(lines("it", said), ["Luca: finire il filtro per zona (entro giovedì)"]);
    }

    #[test]
    fn second_task_is_written_as_the_first() {
        let said = "Eva: Le mando un mail al proveedor el lunes y le pregunto el precio de la mesa.";
        assert_eq!(lines("es", said), ["Eva: mandar un mail al proveedor y preguntar el precio de la mesa (el lunes)"]);
        let said = "Eva: Dann komm ich morgen mit dem Messgerät vorbei und prüfe die Wand.";
        assert_eq!(lines("de", said), ["Eva: mit dem Messgerät vorbeikommen und die Wand prüfen (morgen)"]);
    }

    #[test]
    fn indirect_pronoun_becomes_the_person_who_receives() {
        let talks = [
            (
                "fr",
                "Eva: Le photographe n'a toujours pas confirmé.
                 Luc: Je lui laisse un message demain.",
                "Luc: laisser un message au photographe (demain)",
            ),
            (
                "es",
                "Eva: Mi cuñado tiene una furgoneta.
                 Eva: Le pregunto el lunes.",
                "Eva: preguntar a mi cuñado (el lunes)",
            ),
            (
                "de",
                "Eva: Der Prüfer war am Montag da.
                 Uwe: Ich schreibe ihm morgen eine Mail.",
                "Uwe: dem Prüfer eine Mail schreiben (morgen)",
            ),
        ];
        for (language, said, expected) in talks {
            assert_eq!(lines(language, said), [expected]);
        }
    }

    #[test]
    fn dative_pronoun_is_no_object() {
        let said = "Eva: Hay que revisar el empaque de la puerta.
            Eva: Luis, por favor mándale los resultados a la señora Arriaga mañana.
            Luis: Sí, claro.";
        let expected = "Luis: mandar los resultados a la señora Arriaga (mañana)";
        assert!(lines("es", said).iter().any(|line| line == expected), "{:?}", lines("es", said));
    }

    #[test]
    fn claim_keeps_its_verb() {
        let said = "Eva: Le divise sono ancora dal sarto.
            Luca: Le ritiro io sabato.";
        assert_eq!(lines("it", said), ["Luca: ritirare le divise (sabato)"]);
    }

    #[test]
    fn agreement_of_the_matter_is_no_task_itself() {
        let said = "Eva: Luc, réserve cinq cents gobelets avant le vingt, s'il te plaît.
            Luc: Ça marche.";
        assert_eq!(lines("fr", said), ["Luc: réserver cinq cents gobelets (avant le vingt)"]);
    }

    #[test]
    fn name_beside_a_role_is_the_owner() {
        let talks = [
            (
                "fr",
                "Eva: Pour les affiches, mon neveu Kévin colle les affiches dimanche.",
                "Kévin: coller les affiches (dimanche)",
            ),
            (
                "fr",
                "Eva: Hugo, mon associé, m'a dit qu'il rencontre les serveurs lundi.",
                "Hugo: rencontrer les serveurs (lundi)",
            ),
            (
                "es",
                "Eva: La secretaria, Graciela, va a presentar la planilla el lunes.",
                "Graciela: presentar la planilla (el lunes)",
            ),
            (
                "fr",
                "Eva: Valérie de la paie prépare le comparatif pour le quinze juin.",
                "Valérie: préparer le comparatif (pour le quinze juin)",
            ),
        ];
        for (language, said, expected) in talks {
            assert_eq!(lines(language, said), [expected]);
        }
    }

    #[test]
    fn clause_of_its_own_is_no_part_of_a_task() {
        let talks = [
            (
                "it",
                "Eva: La candela va cambiata.
                 Luca: Cambio io la candela ne ho una in officina.",
                "Luca: cambiare la candela",
            ),
            (
                "nl",
                "Eva: En de aansluiting, Bram?
                 Bram: De aansluiting is aangevraagd ga ik morgen nabellen.",
                "Bram: de aansluiting nabellen (morgen)",
            ),
            (
                "de",
                "Eva: Wir brauchen noch Protokolle.
                 Uwe: ich muss morgen noch den protokollordner suchen der ist seit dem umbau weg.",
                "Uwe: den protokollordner suchen (morgen)",
            ),
        ];
        for (language, said, expected) in talks {
            assert_eq!(lines(language, said), [expected]);
        }
    }

    #[test]
    fn verb_and_pronouns_alone_are_no_item() {
        let said = "Eva: Luc, tu peux regarder ça ?
            Luc: Oui, je regarde ça demain.";
        assert_eq!(lines("fr", said), [""; 0]);
    }

    #[test]
    fn refused_offer_is_no_task() {
        let said = "Eva: Eu envio o teste aos finalistas na sexta, pode ser?
            Rui: Não, o sistema envia sozinho.";
        assert_eq!(lines("pt", said), [""; 0]);
    }

    #[test]
    fn corrected_time_replaces_the_first() {
        let said = "Eva: Luc, peux-tu mettre à jour les horaires sur le site ?
            Luc: Oui, je peux faire ça demain. Ah non, demain je suis en formation, samedi.
            Eva: Samedi, ça marche.";
        assert_eq!(lines("fr", said), ["Luc: mettre à jour les horaires sur le site (samedi)"]);
        let said = "Eva: Kannst du das Zertifikat erneuern, Uwe?
            Uwe: Ja, mach ich bis morgen. Äh, nee, morgen bin ich auf Schulung, sagen wir Samstag.
            Eva: Samstag ist gut.";
        assert_eq!(lines("de", said), ["Uwe: das Zertifikat erneuern (Samstag)"]);
    }

    #[test]
    fn words_around_an_infinitive_are_left_out_or_reflexive() {
        let talks = [
            (
                "de",
                "Eva: Uwe, denk bitte dran, bis Montag den Hausmeister zu informieren.\nUwe: Mach ich.",
                "Uwe: den Hausmeister informieren (bis Montag)",
            ),
            (
                "nl",
                "Eva: Bram, vergeet niet de loodgieter te bellen, alsjeblieft.\nBram: Doe ik.",
                "Bram: de loodgieter bellen",
            ),
            (
                "fr",
                "Eva: Luc, quelqu'un devrait arroser. Je peux m'occuper du plan des bureaux jeudi.",
                "Eva: s'occuper du plan des bureaux (jeudi)",
            ),
            (
                "es",
                "Eva: Luis, yo me encargo del plano de las mesas el jueves.",
                "Eva: encargarse del plano de las mesas (el jueves)",
            ),
        ];
        for (language, said, expected) in talks {
            let lines = lines(language, said);
            assert!(lines.iter().any(|line| line == expected), "{lines:?}");
        }
    }
}
