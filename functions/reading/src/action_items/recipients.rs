//! The recipient of a task: the person for whom an indirect pronoun stands ("je lui écris").

use std::ops::Range;

use super::draft::Here;
use super::item::Owner;
use super::owners::NAME;
use super::tracker::Tracker;
use super::words::Clause;
use crate::languages::classes::Class;
use crate::languages::token::Break;
use crate::model::referents::NounPhrase;
use crate::text::noun_phrases::noun_phrases;

/// Number of earlier sentences that are searched for the person.
const PERSON_SENTENCES: usize = 4;
/// Most words between an indirect pronoun and the words of its clause ("je le lui apporte").
const BEFORE_WORDS: usize = 3;

/// The recipient of a task.
pub(super) struct Recipient {
    /// The token of the pronoun.
    pub(super) pronoun: usize,
    /// The person in words ("au photographe"); None if the sentences before mention no person.
    pub(super) person: Option<String>,
}

impl Tracker<'_> {
    /// Returns the recipient of a clause with an indirect pronoun.
    pub(super) fn recipient(&self, clause: &Clause, owner: Option<&Owner>) -> Option<Recipient> {
        let here = self.here(clause.sentence)?;
        let pronoun = Self::indirect(here, clause)?;
        let number = here.phrases.indirect(&here.sentence.tokens[pronoun].lower)?;
        let from = clause.sentence.saturating_sub(PERSON_SENTENCES);
        let is_meant = |there: Here<'_>, place: &NounPhrase| {
            let article = there.phrases.kinds(&there.sentence.tokens[place.words.start].lower);
            let name = self.text_of(there, place.words.clone());
            self.is_person(there, place)
                && self.is_thing(place)
                && article.is_none_or(|kinds| number.agrees(kinds))
                && !self.is_owner(place.sentence, &place.words, owner)
                && !owner.is_some_and(|owner| owner.name.contains(&name))
        };
        let people = |index: usize, words: Range<usize>| {
            let there = self.here(index)?;
            let inside = |place: &Range<usize>| words.start <= place.start && place.end <= words.end;
            let nouns = noun_phrases(there.sentence).into_iter().filter(inside);
            let places = nouns.map(|words| NounPhrase { sentence: index, words });
            Some(places.filter(|place| is_meant(there, place)).collect::<Vec<_>>())
        };
        // "Les escribo a los morosos": the person is there already.
        if people(clause.sentence, pronoun..clause.words.end).is_some_and(|people| !people.is_empty()) {
            return None;
        }
        // In an earlier sentence, the first one is rather its subject.
        let own = people(clause.sentence, 0..pronoun).and_then(|people| people.into_iter().next_back());
        let before =
            || (from..clause.sentence).rev().find_map(|index| people(index, 0..usize::MAX)?.into_iter().next());
        let person = own.or_else(before);
        let person = person.and_then(|place| Some(here.phrases.to_person(&self.noun(&place)?)));
        Some(Recipient { pronoun, person })
    }

    /// Returns the indirect pronoun of a clause, which may precede its verb.
    fn indirect(here: Here<'_>, clause: &Clause) -> Option<usize> {
        let tokens = &here.sentence.tokens;
        let nouns = noun_phrases(here.sentence);
        let is_near = |at: &usize| {
            let between = &tokens[(*at + 1).min(clause.words.start)..clause.words.start.max(*at + 1)];
            between.iter().all(|token| !token.is_after_break())
        };
        let is_governed = |at: usize| {
            let before = at.checked_sub(1).map(|before| &tokens[before]).filter(|_| tokens[at].before == Break::None);
            before.is_some_and(|before| before.has(Class::Preposition) && !before.has(Class::Object))
        };
        let is_subordinate = |at: usize| {
            (clause.words.start..at).any(|before| tokens[before].has_any(&[Class::Complement, Class::Condition]))
        };
        (clause.words.start.saturating_sub(BEFORE_WORDS)..clause.words.end).filter(is_near).find(|at| {
            here.phrases.indirect(&tokens[*at].lower).is_some()
                && !nouns.iter().any(|place| place.contains(at))
                && !is_governed(*at)
                && !is_subordinate(*at)
                && (here.phrases.sets_verbs_last() || Self::is_beside_verb_form(here, *at))
        })
    }

    /// Returns true if a pronoun is before a verb, with other pronouns in between, or attached to one.
    fn is_beside_verb_form(here: Here<'_>, at: usize) -> bool {
        let tokens = &here.sentence.tokens;
        let forms = [Class::Me, Class::MeLater, Class::Third, Class::ThirdLater, Class::Infinitive];
        // "Gli ordini": an article.
        let can_be_article = tokens[at].has(Class::Determiner);
        let is_verb = |at: usize| {
            tokens.get(at).is_some_and(|token| {
                let form = here.phrases.form(&token.lower);
                let is_other = token.is_unlisted() || token.classes.is_verb() || form.is_some();
                token.has_any(&forms) || matches!(form, Some("1" | "3" | "inf")) || (is_other && !can_be_article)
            })
        };
        let is_clitic = |at: &usize| tokens.get(*at).is_some_and(|token| token.has(Class::Object));
        let next = at + 1 + (at + 1..tokens.len()).take_while(|at| is_clitic(at) && !is_verb(*at)).count();
        let is_hung = here.sentence.text[..tokens[at].place.start].ends_with('-');
        if is_hung { at > 0 && is_verb(at - 1) } else { is_verb(next) }
    }

    /// Returns true if a noun phrase names a person or an office.
    pub(super) fn is_person(&self, there: Here<'_>, place: &NounPhrase) -> bool {
        let tokens = &there.sentence.tokens;
        let end = place.words.clone().skip(1).find(|at| tokens[*at].has(Class::Preposition));
        (place.words.start..end.unwrap_or(place.words.end)).any(|at| {
            let group = there.phrases.group(&tokens[at].lower);
            let is_name = group == NAME && tokens[at].has_capital;
            tokens[at].has_any(&[Class::Role, Class::Title]) || group == "person" || is_name
        })
    }
}
