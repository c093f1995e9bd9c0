//! Chooses the words of a task: from its own sentence, or from the request that it answers.
//!
//! `phrasing` converts them to a line of a to-do list.

use std::ops::Range;

use super::draft::{Draft, Here};
use super::item::Owner;
use super::phrasing::{Phrasing, is_adverb};
use super::pronouns::is_possessive;
use super::settled::{About, Settled};
use super::tracker::Tracker;
use super::words::{Clause, gives_speaker, promised_receipt};
use crate::commitments::clauses::{Grammar, is_question};
use crate::commitments::heads::{AnnouncedBy, Announcement};
use crate::languages::classes::{Class, Classes};
use crate::languages::frames::filled;
use crate::languages::meanings::{Meaning, Pronoun};
use crate::languages::token::{Break, Token};
use crate::model::acts::Act;
use crate::model::referents::NounPhrase;
use crate::text::lines::uncapitalized;
use crate::text::noun_phrases::{noun_phrases, stands_for_noun};
use crate::text::sentences::Source;

/// Lowest likelihood of a phrase in a request, as a fraction of the likeliest phrase's.
const REQUEST_MIN: f64 = 0.4;

/// Most words of a sentence that needs an earlier one to name its task.
const POINTING_WORDS_MAX: usize = 12;

/// Most words of a sentence that are searched for a task.
const SENTENCE_WORDS_MAX: usize = 80;
/// Number of surrounding sentences that are searched for the gender of a noun.
const GENDER_SENTENCES: usize = 200;

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
        own.sort_by_key(|clause| (clause.is_claim || self.nouns(clause, owner) == 0, clause.is_need));
        let here = self.here(index)?;
        let own = own.into_iter().next().or_else(|| self.pointing(here, settled));
        let likely = self.meant(index, own.as_ref(), owner, about);
        if let Some(worded) = self.delivered(settled, owner, &likely) {
            return Some(worded);
        }
        if let Some(own) = own.as_ref().filter(|own| !own.is_claim && self.nouns(own, owner) > 0) {
            // "Bring it to the board."
            let object = likely.first().filter(|_| self.stands_first(own));
            // "The toilet is full, talk to the company about that."
            let is_same = |at: usize| at == index || (at + 1 == index && self.is_of_turn(at, index));
            let same = || likely.iter().find(|(place, _)| is_same(place.sentence) && self.stands_last(own));
            let object = object.or_else(same);
            let noun = object.and_then(|(place, _)| self.noun(place));
            let answered = object.map(|(place, _)| place.sentence).filter(|before| *before != index);
            return Some(Worded { task: told(own, noun.as_deref())?, answered });
        }
        let is_specific = own.as_ref().is_some_and(|own| !own.is_claim && !self.is_said_of_all(own));
        let asked = draft.and_then(|draft| self.request(here, own.as_ref(), is_specific, draft, owner));
        let asked = asked.or_else(|| if is_specific { None } else { self.asked_before(&likely, here, owner) });
        if let Some(asked) = asked {
            let noun = || self.noun(&self.meant(asked.sentence, Some(&asked), owner, about).first()?.0);
            let noun = if self.stands_first(&asked) { noun() } else { None };
            return Some(Worded { task: told(&asked, noun.as_deref())?, answered: Some(asked.sentence) });
        }
        let object = likely.first();
        let noun = object.and_then(|(place, _)| self.noun(place));
        let answered = object.map(|(place, _)| place.sentence).filter(|before| *before != index);
        if let Some(own) = own.as_ref().filter(|_| is_specific) {
            if !self.person_pronouns(own).is_empty() {
                let known = self.person(own, owner).is_some();
                let somebody = likely.iter().find(|(place, _)| !known && self.is_somebody(place));
                let noun = somebody.and_then(|(place, _)| self.noun(place));
                let answered = somebody.map(|(place, _)| place.sentence).filter(|before| *before != index);
                // "I'll call him" says nothing to a reader who does not know him.
                let is_named = known || noun.is_some();
                return is_named.then_some(Worded { task: told(own, noun.as_deref())?, answered });
            }
            let is_named = noun.is_some() || here.phrases.code != "en";
            return is_named.then_some(Worded { task: told(own, noun.as_deref())?, answered });
        }
        // A whole sentence reads odd as a task.
        let is_english = here.phrases.code == "en";
        let is_own = object.is_some_and(|(place, _)| place.sentence == index);
        if let Some(most) = self.said_most(here, owner).filter(|_| is_own && !self.takes(index) && !is_english) {
            return Some(Worded { task: told(&most, None)?, answered: None });
        }
        // Without an owner or a draft, nothing says that the thing is to be handled.
        let can_handle = !is_english || settled.act != Act::Unassigned || draft.is_some();
        if let Some(noun) = noun.filter(|_| can_handle && (!is_own || self.takes(index))) {
            return Some(Worded { task: filled(&here.phrases.frames.handle, &[("thing", &noun)]), answered });
        }
        if is_english {
            return None;
        }
        let whole = Clause { sentence: index, words: 0..here.sentence.tokens.len(), is_claim: false, is_need: false };
        Some(Worded { task: told(&whole, None)?, answered: None })
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
        let asked = Clause { sentence, words, is_claim: false, is_need: false };
        let nouns = self.nouns(&asked, owner);
        // "Could you get the invoice?" – "I can walk over there." Where the verb comes last, the words around a request
        // are less sure.
        let is_accepted = draft.is_requested && draft.is_accepted && !here.phrases.sets_verbs_last();
        let says_more = if is_specific {
            is_accepted && (nouns > 0 || own.is_some_and(|own| self.is_weak(here, own)))
        } else {
            // "Could you call them?": in English, the verb alone says something.
            let says_verb = here.phrases.code == "en" && !self.is_said_of_all(&asked);
            nouns > 0 || (is_accepted && (says_verb || self.stands_first(&asked)))
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
        let says_have = all().any(|at| self.is_empty(here, at..at + 1) && tokens[at].has(Class::Empty));
        // "They'll have the cards on Friday."
        let promised = promised_receipt(here).filter(|end| {
            let behind = Clause { sentence: here.index, words: *end..tokens.len(), is_claim: false, is_need: false };
            self.nouns(&behind, owner) > 0
        });
        let is_given = is_addressed || gives_speaker(here, 0..tokens.len()) || promised.is_some();
        if !is_given || is_own || here.sentence.text.ends_with('?') || !says_have {
            return None;
        }
        let mut likely = likely.to_vec();
        let all = Clause { sentence: here.index, words: 0..tokens.len(), is_claim: false, is_need: false };
        self.prefer_number(&all, &mut likely);
        let stands = |place: &Range<usize>| {
            let first = place.start;
            tokens[first].has(Class::Object) && first > 0 && tokens[first - 1].has(Class::Pronoun)
        };
        let first = promised.unwrap_or(0);
        let all_inside = noun_phrases(here.sentence).into_iter().filter(|place| place.start >= first);
        let inside =
            all_inside.filter(|place| !stands(place)).find(|place| !self.is_owner(settled.index, place, owner));
        let inside = inside.map(|words| NounPhrase { sentence: settled.index, words });
        let place =
            inside.or_else(|| likely.iter().map(|one| one.0.clone()).find(|one| one.sentence != settled.index))?;
        let task = filled(&here.phrases.frames.deliver, &[("thing", &self.noun(&place)?)]);
        Some(Worded { task, answered: Some(place.sentence).filter(|before| *before != settled.index) })
    }

    /// "Te lo mando esta tarde": a short sentence with a verb and a pronoun.
    fn pointing(&self, here: Here<'_>, settled: Settled) -> Option<Clause> {
        let tokens = &here.sentence.tokens;
        let does = |token: &Token| {
            let is_own = token.has(Class::Me) || token.has(Class::MeLater) || token.classes == Classes::default();
            is_own && !token.has(Class::Empty)
        };
        // "It'll go out on Friday": the thing is the subject.
        let is_subject = |at: usize| {
            here.phrases.code == "en"
                && tokens.get(at + 1).is_some_and(|next| next.has(Class::Modal) || next.lower.starts_with('\''))
        };
        let points = (0..tokens.len()).any(|at| self.stands_for_it(here, at) && !is_subject(at));
        let is_meant = settled.act == Act::Own && tokens.len() <= POINTING_WORDS_MAX;
        let words = Phrasing::extent(self, here, 0..tokens.len());
        (is_meant && points && tokens[words.clone()].iter().any(does)).then_some(Clause {
            sentence: here.index,
            words,
            is_claim: false,
            is_need: false,
        })
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
            Act::Others => !matches!(one.by, AnnouncedBy::Speaker | AnnouncedBy::Claim),
            Act::Unassigned | Act::Decision | Act::NoTask => !matches!(one.by, AnnouncedBy::Claim),
        };
        let all = self.joined(here, grammar.announcements()).into_iter().filter(is_meant);
        all.map(|one| self.clause(here, &one)).collect()
    }

    fn clause(&self, here: Here<'_>, announcement: &Announcement) -> Clause {
        let is_claim = announcement.by == AnnouncedBy::Claim;
        let words = words_of(here, announcement);
        let words = if is_claim { words } else { Phrasing::extent(self, here, words) };
        Clause { sentence: here.index, words, is_claim, is_need: announcement.by == AnnouncedBy::Everybody }
    }

    pub(super) fn here(&self, index: usize) -> Option<Here<'_>> {
        let sentence = &self.text.sentences[index];
        let phrases = sentence.language.phrases()?;
        let turn = if let Source::Turn(turn) = sentence.source { turn } else { usize::MAX };
        let speaker = self.speaker_of(sentence);
        Some(Here { index, sentence, phrases, turn, speaker, opens_turn: false })
    }

    /// Counts the noun phrases in some words besides the owner.
    fn nouns(&self, clause: &Clause, owner: Option<&Owner>) -> usize {
        let sentence = &self.text.sentences[clause.sentence];
        let inside = |place: &Range<usize>| place.start >= clause.words.start && place.end <= clause.words.end;
        let all = noun_phrases(sentence).into_iter().filter(inside);
        all.filter(|place| !self.is_owner(clause.sentence, place, owner)).count()
    }

    /// Returns true if a noun phrase names the owner or an addressed participant.
    pub(super) fn is_owner(&self, sentence: usize, place: &Range<usize>, owner: Option<&Owner>) -> bool {
        let sentence = &self.text.sentences[sentence];
        let said = |at: usize| &sentence.text[sentence.tokens[at].place.clone()];
        let is_owner = |at| {
            owner.is_some_and(|owner| {
                let is_role = owner.id.is_none() && owner.name.eq_ignore_ascii_case(said(at));
                is_role || owner.name.split_whitespace().any(|part| part == said(at))
            })
        };
        let is_named = self.names.participant_at(&sentence.tokens, place.start, &sentence.text);
        place.clone().any(is_owner) || is_named.is_some_and(|(_, end)| end >= place.end)
    }

    /// Returns true if some words only say that something is done ("do that").
    fn is_said_of_all(&self, clause: &Clause) -> bool {
        self.here(clause.sentence).is_none_or(|here| {
            let says = |at: &usize| {
                let token = &here.sentence.tokens[*at];
                !token.has(Class::Interjection) && !is_adverb(here, token)
            };
            clause.words.clone().filter(says).all(|at| self.is_empty(here, at..at + 1))
        })
    }

    /// Returns true if a pronoun comes before the first noun.
    fn stands_first(&self, clause: &Clause) -> bool {
        let Some(here) = self.here(clause.sentence) else { return false };
        let nouns = noun_phrases(here.sentence);
        let first = nouns.iter().find(|place| place.start >= clause.words.start);
        let until = first.map_or(clause.words.end, |place| place.start).min(clause.words.end);
        let is_noun = |at: usize| nouns.iter().any(|place| place.contains(&at));
        let is_subject = |at: usize| {
            let token = &here.sentence.tokens[at];
            // "Die schickt dir die Zahlen."
            let verb =
                here.sentence.tokens.get(at + 1).filter(|next| next.has(Class::Third) && next.before == Break::None);
            let is_inverted = here.sentence.tokens.get(at + 2).is_some_and(|next| next.has(Class::Pronoun));
            // "Send them the quote."
            let is_receiver = here.phrases.code == "en"
                && matches!(token.lower.as_str(), "them" | "him" | "her")
                && nouns.iter().any(|place| place.start == at + 1);
            is_receiver
                || token.has(Class::Preposition)
                || here.phrases.pronoun(&token.lower).is_some_and(|who| who != Pronoun::Thing)
                || (here.phrases.sets_verbs_last() && verb.is_some() && !is_inverted)
        };
        let people = self.person_pronouns(clause);
        (clause.words.start..until).filter(|at| !people.contains(at)).any(|at| {
            let points = here.sentence.tokens[at].has(Class::Object) && !is_noun(at) && !is_subject(at);
            points || stands_for_noun(here.sentence, here.phrases, at)
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
                _ => true,
            };
            let announced = announced.iter().filter(is_meant).map(|one| self.clause(here, one));
            let holds =
                |clause: &Clause| clause.words.start <= place.words.start && place.words.end <= clause.words.end;
            let mut clauses = announced.chain(Self::asking(here));
            clauses.find(|clause| holds(clause) && self.nouns(clause, owner) > 0)
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
            None if is_order && !(here.phrases.code == "en" && is_question(&here.sentence.text)) => first,
            None => return None,
        };
        let words =
            if here.phrases.sets_verbs_last() { Phrasing::around(here, start..start + 1) } else { start..tokens.len() };
        Some(Clause { sentence: here.index, words, is_claim: false, is_need: false })
    }

    /// Returns the most specific part of a sentence: with a verb and an object.
    fn said_most(&self, here: Here<'_>, owner: Option<&Owner>) -> Option<Clause> {
        let tokens = &here.sentence.tokens;
        let starts = (0..tokens.len().min(SENTENCE_WORDS_MAX))
            .filter(|at| *at == 0 || tokens[*at].is_after_break() || tokens[at - 1].has(Class::Joint));
        let parts = starts.map(|start| {
            let words = Phrasing::extent(self, here, start..tokens.len());
            Clause { sentence: here.index, words, is_claim: false, is_need: false }
        });
        let verbs = [Class::Infinitive, Class::Me, Class::MeLater, Class::ThirdLater, Class::Third, Class::Going];
        let does = |token: &Token| verbs.iter().any(|class| token.has(*class)) && !token.has(Class::Empty);
        let has_verb = |clause: &Clause| tokens[clause.words.clone()].iter().any(does);
        parts.filter(has_verb).find(|clause| self.nouns(clause, owner) > 0)
    }

    /// Returns a noun phrase as the object of an action.
    fn noun(&self, place: &NounPhrase) -> Option<String> {
        let here = self.here(place.sentence)?;
        let sentence = here.sentence;
        let tokens = &sentence.tokens;
        let is_bound = |at: usize| tokens[at].has(Class::Determiner) && tokens[at].has(Class::Preposition);
        // "Of the", in one word.
        let start = place.words.clone().find(|at| !is_bound(*at) || is_article(here, *at)).unwrap_or(place.words.start);
        let (first, last) = (tokens.get(start)?, tokens.get(place.words.end.checked_sub(1)?)?);
        let said = &sentence.text[first.place.start..last.place.end];
        let is_behind = start > 0 && tokens[start - 1].has(Class::Preposition) && tokens[start].before == Break::None;
        // "Your slides" are those of another reader.
        if here.phrases.code == "en" && is_possessive(first, here.phrases) && !self.is_relative(place) {
            let rest = tokens.get(start + 1).map_or("", |next| &sentence.text[next.place.start..last.place.end]);
            return Some(format!("the {rest}"));
        }
        let article = here.phrases.accusative(&first.lower, is_behind || self.is_feminine(place.sentence, &last.lower));
        if let Some(article) = article {
            let rest = tokens.get(start + 1).map_or("", |next| &sentence.text[next.place.start..last.place.end]);
            return Some(format!("{article} {rest}").trim().to_owned());
        }
        let is_small =
            start == 0 && (first.has(Class::Determiner) || !here.phrases.capital_nouns) && !self.is_name(here, 0);
        Some(if is_small { uncapitalized(said) } else { said.to_owned() })
    }

    /// Returns true if a noun has an article that is not masculine, in a language with capitalized nouns.
    fn is_feminine(&self, index: usize, noun: &str) -> bool {
        let articles = ["die", "eine", "keine", "diese", "zur"];
        let is_said = |pair: &[Token]| pair[1].lower == noun && articles.contains(&pair[0].lower.as_str());
        let sentences = &self.text.sentences;
        let near = index.saturating_sub(GENDER_SENTENCES)..sentences.len().min(index + GENDER_SENTENCES);
        sentences[near].iter().any(|sentence| sentence.tokens.windows(2).any(is_said))
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
        if let Some(person) = person {
            phrasing.put_person(&people, &person);
        }
        if phrasing.is_empty() && object.is_none() {
            return None;
        }
        let task = phrasing.told(owner, object, words_max);
        (!task.is_empty()).then_some(task)
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

fn is_article(here: Here<'_>, at: usize) -> bool {
    here.phrases.articles.contains(&here.sentence.tokens[at].lower)
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
}
