//! The things that tasks are about: noun phrases in the words of a task, and those for which its pronoun stands.

use std::ops::Range;

use super::draft::Here;
use super::item::Owner;
use super::pronouns::is_possessive;
use super::settled::About;
use super::tracker::Tracker;
use super::words::Clause;
use crate::languages::agreement::Kinds;
use crate::languages::classes::Class;
use crate::languages::meanings::Pronoun;
use crate::languages::token::{Break, Token};
use crate::model::referents::NounPhrase;
use crate::text::lines::uncapitalized;
use crate::text::noun_phrases::{noun_phrases, stands_for_noun};

/// Number of surrounding sentences that are searched for the gender of a noun.
const GENDER_SENTENCES: usize = 200;
/// Weight of a phrase that disagrees with the pronoun, and of one without an article.
const DISAGREEING: f64 = 0.1;
const AGREEING_BARE: f64 = 0.3;
/// Weight of a phrase in the sentence directly before its pronoun.
const JUST_BEFORE: f64 = 1.3;
/// Likelihood of a phrase that its pronoun follows.
const NAMED_AGAIN: f64 = 2.0;
/// Weight of a phrase behind its pronoun.
const BEHIND: f64 = 0.3;

impl Tracker<'_> {
    /// Counts the noun phrases in some words besides the owner.
    pub(super) fn nouns(&self, clause: &Clause, owner: Option<&Owner>) -> usize {
        let sentence = &self.text.sentences[clause.sentence];
        let inside = |place: &Range<usize>| place.start >= clause.words.start && place.end <= clause.words.end;
        let all = noun_phrases(sentence).into_iter().filter(inside);
        let all = all.filter(|place| !self.is_owner(clause.sentence, place, owner));
        let is_named = |words: &Range<usize>| {
            // "The ones you have."
            if sentence.tokens[words.end - 1].lower == "ones" {
                return false;
            }
            let place = NounPhrase { sentence: clause.sentence, words: words.clone() };
            // "Una nueva" names a thing, "die hier", "unas cien" and "nieuwe" do not.
            let is_place = |token: &Token| {
                sentence
                    .language
                    .phrases()
                    .is_some_and(|phrases| matches!(phrases.group(&token.lower), "where" | "number"))
            };
            let is_opened = sentence.tokens[words.start].has(Class::Determiner)
                && !sentence.tokens[words.start + 1..words.end].iter().all(is_place);
            is_opened || self.is_thing(&place)
        };
        all.filter(is_named).count()
    }

    /// Returns true if a noun phrase names the owner or an addressed participant.
    pub(super) fn is_owner(&self, sentence: usize, place: &Range<usize>, owner: Option<&Owner>) -> bool {
        let sentence = &self.text.sentences[sentence];
        let said = |at: usize| &sentence.text[sentence.tokens[at].place.clone()];
        // "Van" and "de" are also words of a surname.
        let is_owner = |at: usize| {
            owner.is_some_and(|owner| {
                let is_role = owner.id.is_none() && owner.name.eq_ignore_ascii_case(said(at));
                is_role
                    || (sentence.tokens[at].has_capital && owner.name.split_whitespace().any(|part| part == said(at)))
            })
        };
        let is_named = self.names.participant_at(&sentence.tokens, place.start, &sentence.text);
        place.clone().any(is_owner) || is_named.is_some_and(|(_, end)| end >= place.end)
    }

    /// Returns true if a pronoun comes before the first noun.
    pub(super) fn stands_first(&self, clause: &Clause) -> bool {
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
            token.has(Class::Preposition)
                || here.phrases.pronoun(&token.lower).is_some_and(|who| who != Pronoun::Thing)
                || (here.phrases.sets_verbs_last() && verb.is_some() && !is_inverted)
        };
        // "Gli scrivo una mail": the verb has its object.
        let is_direct = first.is_some_and(|place| place.start == clause.words.start + 1);
        let start = if is_direct { clause.words.start } else { Self::clitics(here, clause) };
        // "Mándale las fotos": the pronoun is a person.
        let is_direct = |at: usize| {
            let token = &here.sentence.tokens[at];
            token.has(Class::Object) && (!here.phrases.has_agreement() || here.phrases.kinds(&token.lower).is_some())
        };
        let is_governed = |at: usize| {
            let token = &here.sentence.tokens[at];
            here.phrases.has_agreement()
                && !here.phrases.capital_nouns
                && token.before == Break::None
                && at.checked_sub(1).is_some_and(|before| here.sentence.tokens[before].has(Class::Preposition))
        };
        let people = self.person_pronouns(clause);
        (start..until).filter(|at| !people.contains(at)).any(|at| {
            let points = is_direct(at) && !is_governed(at) && !is_noun(at) && !is_subject(at);
            points || stands_for_noun(here.sentence, here.phrases, at)
        })
    }

    /// Returns the possible objects of a task, likeliest first. In its own sentence they precede it.
    pub(super) fn meant(
        &self,
        index: usize,
        own: Option<&Clause>,
        owner: Option<&Owner>,
        about: &About<'_>,
    ) -> Vec<(NounPhrase, f64)> {
        let mut likely = about.likely(index);
        if let Some(own) = own {
            self.prefer_meant(index, own, &mut likely);
        }
        likely.retain(|(place, _)| {
            let is_before = place.sentence != index
                || own.is_none_or(|own| {
                    place.words.end <= own.words.start || place.words.start >= own.words.end || own.is_claim
                });
            is_before && self.is_thing(place) && !self.is_owner(place.sentence, &place.words, owner)
        });
        if let Some(kinds) = own.and_then(|own| self.kinds_meant(own)) {
            let end = own.map_or(0, |own| own.words.end);
            likely.iter_mut().for_each(|(place, likelihood)| {
                // A pronoun rather follows its noun.
                let is_behind = place.sentence == index && place.words.start >= end;
                let sentences = &self.text.sentences;
                let is_next =
                    place.sentence + 1 == index && sentences[place.sentence].source == sentences[index].source;
                let is_near = is_next || (place.sentence == index && !is_behind);
                let nearness = if is_behind {
                    BEHIND
                } else if is_near {
                    JUST_BEFORE
                } else {
                    1.0
                };
                let agreement = self.agreement(place, kinds);
                *likelihood *= agreement * nearness;
                // "La visita la prenoto io": certain.
                if own.is_some_and(|own| self.is_named_again(place, own)) && agreement > DISAGREEING {
                    *likelihood = likelihood.max(NAMED_AGAIN);
                }
            });
            likely.sort_by(|one, other| other.1.total_cmp(&one.1));
        }
        likely
    }

    /// Returns true if the pronoun of a clause directly follows a noun phrase.
    fn is_named_again(&self, place: &NounPhrase, own: &Clause) -> bool {
        let Some(here) = self.here(own.sentence).filter(|here| !here.phrases.sets_verbs_last()) else { return false };
        let tokens = &here.sentence.tokens;
        let is_subject = |token: &Token| {
            let who = here.phrases.pronoun(&token.lower);
            token.has(Class::Pronoun) && matches!(who, Some(Pronoun::Speaker))
        };
        let behind = place.words.end + usize::from(tokens.get(place.words.end).is_some_and(is_subject));
        let is_next = place.sentence == own.sentence && behind <= own.words.start && behind + 2 >= own.words.start;
        is_next && self.stands_for_it(here, behind)
    }

    /// Returns the start of the pronouns before the verb of a clause ("te lo mando").
    fn clitics(here: Here<'_>, clause: &Clause) -> usize {
        let tokens = &here.sentence.tokens;
        let is_clitic = |at: &usize| {
            let is_near = tokens.get(at + 1).is_some_and(|next| !next.is_after_break());
            let is_subject = tokens[*at].has(Class::ThirdPronoun);
            is_near && !is_subject && (tokens[*at].has(Class::Object) || tokens[*at].has(Class::Between))
        };
        if here.phrases.sets_verbs_last() {
            return clause.words.start;
        }
        (0..clause.words.start).rev().take_while(is_clitic).last().unwrap_or(clause.words.start)
    }

    /// Returns the genders and numbers of the pronoun of a clause, which may precede its verb.
    fn kinds_meant(&self, own: &Clause) -> Option<Kinds> {
        let here = self.here(own.sentence)?;
        let tokens = &here.sentence.tokens;
        let nouns = noun_phrases(here.sentence);
        let start = Self::clitics(here, own);
        let stands = |at: &usize| {
            let is_hung = tokens[*at].classes.is_verb() && tokens[*at].has(Class::Object);
            (is_hung || self.stands_for_it(here, *at)) && !nouns.iter().any(|place| place.contains(at))
        };
        // "Das" stands for anything.
        here.phrases.kinds(&tokens[(start..own.words.end).find(stands)?].lower).filter(|kinds| !kinds.are_neuter())
    }

    /// Returns false if the words of a noun phrase are rather a form of a verb ("lo conosco", "terminés"), a quality, a
    /// time or a number.
    pub(super) fn is_thing(&self, place: &NounPhrase) -> bool {
        let sentence = &self.text.sentences[place.sentence];
        let Some(phrases) = sentence.language.phrases().filter(|phrases| phrases.code != "en") else { return true };
        let words = &sentence.tokens[place.words.clone()];
        let (group, form) = (|token: &Token| phrases.group(&token.lower), |token: &Token| phrases.form(&token.lower));
        let is_form = |token: &Token| {
            form(token).is_some_and(|form| form != "inf" && form != "ger")
                && !(phrases.capital_nouns && token.has_capital)
        };
        let is_pronoun = |token: &Token| token.has(Class::Object) && !phrases.articles.contains(&token.lower);
        let describes = |token: &Token| {
            let is_plain =
                ["number", "when", "quality", "good", "bad", "maybe", "often", "again", "degree", "oh", "thanks"];
            let is_written_small = !(phrases.capital_nouns && token.has_capital);
            // "Le responsable".
            let is_noun = words.len() == 2 && words[0].has(Class::Determiner) && group(token) == "quality";
            (is_plain.contains(&group(token)) && is_written_small && !is_noun)
                || token.has(Class::Determiner)
                || phrases.calendar.is_word(&token.lower)
                || phrases.calendar.is_number(&token.lower)
        };
        // "Quelle vecchie con la piscina".
        let attribute = words.iter().skip(1).position(|token| token.has(Class::Preposition));
        let head = &words[..attribute.map_or(words.len(), |at| at + 1)];
        let is_named = head.iter().any(|token| !describes(token));
        let before = place.words.start.checked_sub(1).map(|before| &sentence.tokens[before]);
        let is_behind_verb =
            before.is_some_and(|before| before.has(Class::Preposition) || matches!(form(before), Some("3" | "inf")));
        is_named
            && match words {
                [] => false,
                // "Está a subir".
                [link, verb, ..] if link.has(Class::Preposition) && verb.has(Class::Infinitive) => false,
                [article, verb, ..] if article.has(Class::Determiner) => {
                    is_behind_verb || !(is_pronoun(article) && is_form(verb))
                }
                [first, ..] => !(is_form(first) || form(first) == Some("inf")) || first.has_capital,
            }
    }

    /// Returns the weight of a noun phrase that should have one of these genders and numbers, as its article or its
    /// ending shows it.
    fn agreement(&self, place: &NounPhrase, kinds: Kinds) -> f64 {
        let sentence = &self.text.sentences[place.sentence];
        let (Some(phrases), Some(first)) = (sentence.language.phrases(), sentence.tokens.get(place.words.start)) else {
            return 1.0;
        };
        let article =
            Some(first).filter(|first| first.has(Class::Determiner)).and_then(|one| phrases.kinds(&one.lower));
        match (article, phrases.kinds_of_noun(&first.lower)) {
            (Some(shown), _) if shown.agrees(kinds) => 1.0,
            (None, Some(shown)) if shown.agrees(kinds) => AGREEING_BARE,
            (None, None) => AGREEING_BARE,
            _ => DISAGREEING,
        }
    }

    /// Returns a noun phrase as the object of an action.
    pub(super) fn noun(&self, place: &NounPhrase) -> Option<String> {
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
}

fn is_article(here: Here<'_>, at: usize) -> bool {
    here.phrases.articles.contains(&here.sentence.tokens[at].lower)
}
