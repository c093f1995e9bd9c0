//! The noun phrases of a sentence: possible referents of "it".

use std::ops::Range;

use super::sentences::{Sentence, Word, WordClass};
use super::tokens::is_determined;
use crate::languages::classes::Class;
use crate::languages::dates::Due;
use crate::languages::meanings::{Meaning, Pronoun};
use crate::languages::phrases::Phrases;
use crate::languages::token::{Break, Token};

/// Most words of a noun phrase without its prepositional attribute.
const WORDS_MAX: usize = 5;
/// Classes of words that belong to a noun phrase only behind a determiner.
const OPENED_WORDS_MAX: usize = 3;

/// Returns the word that begins within a token.
pub(crate) fn word_at<'w>(words: &'w [Word], place: &Range<usize>) -> Option<&'w Word> {
    let at = words.partition_point(|word| word.place.start < place.start);
    words.get(at).filter(|word| word.place.start < place.end)
}

/// Returns the positions of the noun phrases of a sentence in order, none inside another. None if the language has no
/// phrases.
#[must_use]
pub fn noun_phrases(sentence: &Sentence) -> Vec<Range<usize>> {
    let Some(phrases) = sentence.language.phrases() else { return Vec::new() };
    let times = phrases.calendar.all(&sentence.tokens, None);
    let has_capitals = phrases.capital_nouns
        && sentence.tokens.iter().any(|token| token.has_capital && !phrases.calendar.is_word(&token.lower));
    let reader = Reader { sentence, phrases, times, has_capitals };
    let mut found = Vec::new();
    let mut at = 0;
    while at < sentence.tokens.len() {
        match reader.noun_phrase(at) {
            Some(end) => {
                found.push(at..end);
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// Returns true if a word stands for a noun that was said before: "a new one", "that one".
pub(crate) fn stands_for_noun(sentence: &Sentence, phrases: &Phrases, at: usize) -> bool {
    let tokens = &sentence.tokens;
    let is_one = |token: &Token| token.lower == "one" && token.before == Break::None;
    // "One of them", "the one who", "one day". In "pick one up", the next word belongs to the verb.
    let is_over = tokens.get(at + 1).is_none_or(|next| {
        let others = [Class::Preposition, Class::Between, Class::Joint, Class::Empty];
        next.before != Break::None || (next.lower != "of" && next.has_any(&others))
    });
    phrases.code == "en" && at > 0 && tokens.get(at).is_some_and(is_one) && is_over
}

struct Reader<'s> {
    sentence: &'s Sentence,
    phrases: &'static Phrases,
    times: Vec<Due>,
    /// Returns true if nouns are capitalized.
    has_capitals: bool,
}

/// Classes of words that are no nouns.
const OTHERS: [Class; 13] = [
    Class::Pronoun,
    Class::Modal,
    Class::Negation,
    Class::Report,
    Class::Opener,
    Class::Joint,
    Class::Interjection,
    Class::Condition,
    Class::Complement,
    Class::Past,
    Class::Preposition,
    Class::Temporal,
    Class::Determiner,
];

impl Reader<'_> {
    /// Returns the end of the noun phrase that begins at a token, with its prepositional attribute ("the date of the
    /// launch").
    fn noun_phrase(&self, at: usize) -> Option<usize> {
        let tokens = &self.sentence.tokens;
        let end = self.simple(at)?;
        // "Die Fassung der Planung".
        let is_genitive = |link: &Token| {
            let genitives =
                ["der", "des", "unserer", "unseres", "eurer", "ihrer", "ihres", "seiner", "dieser", "dieses"];
            self.has_capitals && genitives.contains(&link.lower.as_str())
        };
        let links = tokens.get(end).is_some_and(|link| {
            let is_link = link.has(Class::Preposition) || is_genitive(link);
            link.before == Break::None && is_link && !self.is_time(end) && !link.has(Class::Negation)
        });
        if !links {
            return Some(end);
        }
        // In some languages the preposition and the article are one word ("del").
        let next = tokens.get(end + 1).filter(|next| next.before == Break::None && !self.is_time(end + 1));
        let further = if tokens[end].has(Class::Determiner) { self.simple(end) } else { None };
        Some(further.or_else(|| next.and_then(|_| self.simple(end + 1))).unwrap_or(end))
    }

    fn simple(&self, at: usize) -> Option<usize> {
        let tokens = &self.sentence.tokens;
        // "Kun je de offerte …": a subject before an article.
        let is_subject = tokens[at].has(Class::Pronoun)
            && tokens.get(at + 1).is_some_and(|next| next.has(Class::Determiner) && !next.has(Class::Pronoun));
        let is_english = self.phrases.code == "en";
        let is_article = |token: &Token| matches!(token.lower.as_str(), "a" | "an" | "the");
        let holds_article = matches!(tokens[at].lower.as_str(), "all" | "both" | "half" | "such" | "quite" | "many");
        // "What the dessert is", "give her a shout".
        let is_apart = is_english && !holds_article && tokens.get(at + 1).is_some_and(is_article);
        let opens = tokens[at].has(Class::Determiner)
            && !is_subject
            && !is_apart
            && !self.is_noun(at)
            && !tokens[at].lower.starts_with('\'');
        let mut start = if opens { at + 1 } else { at };
        let is_inner = |token: &Token| {
            let is_number = token.lower.chars().all(|c| c.is_ascii_digit());
            token.before == Break::None && ((token.has(Class::Determiner) && !token.classes.is_verb()) || is_number)
        };
        // "All the", "the two".
        while opens && start < at + 3 && tokens.get(start).is_some_and(is_inner) {
            start += 1;
        }
        let mut last = None;
        for (end, token) in tokens.iter().enumerate().take(start + WORDS_MAX).skip(start) {
            if end > at && token.before != Break::None && !self.is_hyphened(end) {
                break;
            }
            let is_possessive = token.lower == "'s" && last.is_some();
            let can_lead = opens && end < start + OPENED_WORDS_MAX && self.is_modifier(end);
            // "The load test": the second noun looks like a verb.
            let is_behind_noun = last.is_some_and(|last| last + 1 == end);
            let is_second =
                is_behind_noun && (self.is_second(end) || self.is_plural(at, end) || self.is_hyphened_to(end));
            if self.is_noun(end) || is_second {
                last = Some(end);
            } else if !can_lead && !is_possessive && !self.is_hyphened(end) {
                break;
            }
        }
        let end = last? + 1;
        // "A new one" stands for an earlier phrase.
        let stands = stands_for_noun(self.sentence, self.phrases, end);
        (!stands).then_some(end)
    }

    /// Returns true if a hyphen joins a word to an adjacent one.
    fn is_hyphened(&self, at: usize) -> bool {
        let text = &self.sentence.text;
        let place = &self.sentence.tokens[at].place;
        text[place.end..].starts_with('-') || text[..place.start].ends_with('-')
    }

    /// "The walk-in".
    fn is_hyphened_to(&self, at: usize) -> bool {
        let tokens = &self.sentence.tokens;
        self.phrases.code == "en" && self.sentence.text[..tokens[at].place.start].ends_with('-')
    }

    /// "Do the release notes", "order the new seals": a plural that looks like a form of a verb, in an object.
    fn is_plural(&self, start: usize, at: usize) -> bool {
        let tokens = &self.sentence.tokens;
        let is_object = start.checked_sub(1).is_some_and(|before| {
            let is_verb = tokens[before].classes.is_verb() || self.phrases.form(&tokens[before].lower).is_some();
            tokens[start].before == Break::None && (is_verb || tokens[before].has(Class::Preposition))
        });
        let ends = tokens.get(at + 1).is_none_or(|next| {
            next.before != Break::None || next.has_any(&[Class::Preposition, Class::Joint]) || self.is_time(at + 1)
        });
        self.phrases.code == "en"
            && tokens[at].before == Break::None
            && tokens[at].has(Class::Third)
            && tokens[at].lower.ends_with('s')
            && !tokens[at].has_any(&[Class::Empty, Class::Modal, Class::Pronoun])
            && is_object
            && ends
    }

    fn is_time(&self, at: usize) -> bool {
        self.times.iter().any(|time| time.start <= at && at < time.end)
    }

    /// Returns true if a word can be the noun of a phrase.
    fn is_noun(&self, at: usize) -> bool {
        let tokens = &self.sentence.tokens;
        let token = &tokens[at];
        let Some(word) = word_at(&self.sentence.words, &token.place) else { return false };
        if self.is_time(at) || token.has_any(&OTHERS) || word.surface.chars().count() < 2 {
            return false;
        }
        // "Den kriegst du": the verb comes before its subject.
        let is_verb_ahead = self.phrases.sets_verbs_last()
            && !token.has_capital
            && tokens.get(at + 1).is_some_and(|next| {
                let who = self.phrases.pronoun(&next.lower);
                next.before == Break::None && next.has(Class::Pronoun) && who.is_some_and(|who| who != Pronoun::Thing)
            });
        if is_verb_ahead || self.phrases.helps(token) {
            return false;
        }
        let is_thing = token.has(Class::NoTopic);
        if self.has_capitals {
            let is_opened = at > 0 && tokens[at - 1].has(Class::Determiner) && token.before == Break::None;
            return token.has_capital && at > 0 && (!is_thing || is_opened);
        }
        if self.is_determined(at) {
            // "O RH".
            let is_acronym = word.surface.chars().all(char::is_uppercase);
            return (word.surface.chars().count() > 2 || is_acronym) && !token.has(Class::Empty);
        }
        // "Share the link": a word before an article is rather a verb.
        let leads = tokens.get(at + 1).is_some_and(|next| {
            next.has(Class::Determiner)
                && next.before == Break::None
                && next.lower != "'s"
                && !next.has(Class::Preposition)
        });
        // "Take care of page 5".
        let is_behind =
            |before: &Token| before.is_unlisted() || (before.has(Class::Preposition) && !before.has(Class::Modal));
        let follows = at > 0 && token.before == Break::None && is_behind(&tokens[at - 1]);
        let says = word.class == WordClass::Content
            || (word.class == WordClass::Number && !token.lower.starts_with(char::is_numeric));
        let is_plain = !token.has_any(&[Class::Between, Class::Empty]) && !is_thing;
        // "I spoke to her", "the programme is coming along": a form of a verb that no file of verbs has.
        let is_form = || {
            let group = self.phrases.sense(&token.lower).map_or("", |sense| sense.group);
            // "Parking passes".
            let leads = tokens
                .get(at + 1)
                .is_some_and(|next| next.before == Break::None && next.is_unlisted() && !self.is_time(at + 1));
            ["/past", "/part"].iter().any(|form| group.ends_with(form)) || (group.ends_with("/ger") && !leads)
        };
        let is_adverb = self.phrases.code == "en" && (token.lower.ends_with("ly") || is_form());
        // "I can steal from that", "to catch him", "can it wait?".
        let is_infinitive = || self.phrases.sense(&token.lower).is_some_and(|sense| sense.group.ends_with("/inf"));
        let governs = |before: &Token| {
            let is_subject = before.is_plain_pronoun();
            is_subject || (before.has(Class::Modal) && (before.lower != "to" || is_infinitive()))
        };
        let is_governed = at > 0 && token.before == Break::None && !token.has_capital && governs(&tokens[at - 1]);
        let is_verb = is_adverb
            || is_governed
            || self.is_finite(at)
            || token.classes.is_verb() && !(follows && token.has(Class::Infinitive) && self.phrases.code == "en");
        says && is_plain && !is_verb && !leads && !self.phrases.calendar.is_word(&token.lower)
    }

    fn is_second(&self, at: usize) -> bool {
        let token = &self.sentence.tokens[at];
        let others = [Class::Empty, Class::Between, Class::Modal, Class::Pronoun, Class::Preposition];
        self.phrases.code == "en"
            && token.before == Break::None
            && (token.has(Class::Infinitive) || self.phrases.calendar.is_word(&token.lower))
            && !self.is_time(at)
            && !token.has_any(&others)
    }

    /// Returns true if a word follows an article. Behind a verb such words are no pronouns ("envoyer le compte rendu").
    fn is_determined(&self, at: usize) -> bool {
        let tokens = &self.sentence.tokens;
        // Verbs of which only the meaning is known.
        let is_verb = |at: usize| self.phrases.form(&tokens[at].lower).is_some();
        let is_behind_verb = || {
            at > 1
                && tokens[at - 1].has(Class::Determiner)
                && [at - 1, at].iter().all(|at| tokens[*at].before == Break::None)
                && !tokens[at].has(Class::Infinitive)
                && (self.pleases(at - 1)
                    || tokens[at - 2].classes.is_verb()
                    || tokens[at - 2].has(Class::Preposition)
                    || is_verb(at - 2))
        };
        is_determined(tokens, at, self.phrases) || is_behind_verb()
    }

    /// Returns true if a "please" ends before a token ("envoie-moi s'il te plaît la liste").
    fn pleases(&self, end: usize) -> bool {
        let mut all = self.sentence.tokens[..end].iter().flat_map(|token| &token.phrases);
        all.any(|found| found.meaning == Meaning::Please && found.end == end)
    }

    /// Returns true if a word can be between a determiner and its noun.
    fn is_modifier(&self, at: usize) -> bool {
        let token = &self.sentence.tokens[at];
        let is_other = token.has_any(&OTHERS);
        // "A training video".
        let is_verb = token.classes.is_verb() && !token.has(Class::Going) && !token.has(Class::Done);
        !is_other && !token.has(Class::Between) && !is_verb && !self.is_time(at) && !self.is_finite(at)
    }

    /// Returns true for a form of a verb with a subject, by its meaning ("ist", "ziet").
    fn is_finite(&self, at: usize) -> bool {
        let token = &self.sentence.tokens[at];
        let form = self.phrases.form(&token.lower);
        let is_noun = self.phrases.capital_nouns && token.has_capital;
        // "De toegang intrekken": a final verb behind its object.
        let is_final = self.phrases.sets_verbs_last() && !self.has_capitals && form == Some("inf");
        !is_noun && (is_final || form.is_some_and(|form| !["inf", "part", "ger", "imp"].contains(&form)))
    }
}
