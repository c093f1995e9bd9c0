//! The people to whom names in sentences refer.

use std::collections::{HashMap, HashSet};

use crate::languages::classes::Class;
use crate::languages::phrases::Phrases;
use crate::languages::token::{Break, Token, lowered};
use crate::material::Person;
use crate::text::tokens::tokens;

/// A named person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// The participant with this index.
    Participant(usize),
    /// A person outside the meeting, or an ambiguous name: the name as it was said.
    Other(String),
}

/// The participants' names, prepared for search.
#[derive(Debug, Default)]
pub struct Names {
    /// Participants by the lower-case words of a name; None if it is ambiguous.
    bearers: HashMap<String, Option<usize>>,
    /// First words of these names.
    first_words: HashSet<String>,
    people: usize,
}

/// Most words of a name.
const NAME_WORDS_MAX: usize = 5;

impl Names {
    /// Returns the names of these people, identified by index. First names and surnames count only if they are unique.
    #[must_use]
    pub fn of(people: &[Person]) -> Names {
        let mut bearers: HashMap<String, Option<usize>> = HashMap::new();
        let mut parts: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, person) in people.iter().enumerate() {
            let words = name_words(&person.name);
            let name = words.join(" ");
            if name.is_empty() {
                continue;
            }
            for word in words.iter().filter(|word| word.chars().count() > 1 && words.len() > 1) {
                let of = parts.entry(word.clone()).or_default();
                if of.last() != Some(&index) {
                    of.push(index);
                }
            }
            bearers.entry(name).and_modify(|bearer| *bearer = None).or_insert(Some(index));
        }
        for (part, of) in parts {
            // The article of a surname is no name.
            if !matches!(part.as_str(), "de" | "da" | "di" | "van" | "von" | "der" | "den" | "dr" | "del" | "la" | "le")
            {
                let only = if let [only] = of[..] { Some(only) } else { None };
                bearers.entry(part).or_insert(only);
            }
        }
        let first = |name: &String| name.split(' ').next().unwrap_or_default().to_owned();
        Names { first_words: bearers.keys().map(first).collect(), bearers, people: people.len() }
    }

    /// Returns the number of people.
    #[must_use]
    pub fn people(&self) -> usize {
        self.people
    }

    /// Returns the participant whose name begins at a token, and the end of the name.
    #[must_use]
    pub fn participant_at(&self, tokens: &[Token], at: usize, sentence: &str) -> Option<(Named, usize)> {
        if !tokens.get(at).is_some_and(|token| self.first_words.contains(&token.lower)) {
            return None;
        }
        let mut name = String::new();
        let mut best = None;
        for (length, token) in tokens[at..].iter().take(NAME_WORDS_MAX).enumerate() {
            if length > 0 && token.before != Break::None {
                break;
            }
            if length > 0 {
                name.push(' ');
            }
            name.push_str(&token.lower);
            if let Some(bearer) = self.bearers.get(&name) {
                let place = tokens[at].place.start..token.place.end;
                let named = bearer.map_or_else(|| Named::Other(sentence[place].to_owned()), Named::Participant);
                best = Some((named, at + length + 1));
            }
        }
        best
    }

    /// Returns the name that begins at a token: a participant's, one with a title, or a word that can only be a name.
    #[must_use]
    pub fn at(&self, tokens: &[Token], at: usize, sentence: &str, phrases: &Phrases) -> Option<(Named, usize)> {
        if let Some(found) = self.participant_at(tokens, at, sentence) {
            return Some(found);
        }
        let token = tokens.get(at)?;
        if token.has(Class::Title) {
            let next = tokens.get(at + 1)?;
            if let Some(found) = self.participant_at(tokens, at + 1, sentence) {
                return Some(found);
            }
            let is_written_small = !sentence.chars().any(char::is_uppercase);
            let is_word = next.is_unlisted();
            let is_name = next.before == Break::None && (next.has_capital || (is_written_small && is_word));
            let mut end = at + 2;
            while end < tokens.len().min(at + 4)
                && tokens[end].before == Break::None
                && tokens[end].has_capital
                && !phrases.capital_nouns
            {
                end += 1;
            }
            return is_name
                .then(|| (Named::Other(sentence[token.place.start..tokens[end - 1].place.end].to_owned()), end));
        }
        if !token.has_capital || !self.can_be_name(tokens, at, phrases) {
            return None;
        }
        let mut end = at + 1;
        while end < tokens.len().min(at + 3) && tokens[end].before == Break::None && self.is_further_name(&tokens[end])
        {
            end += 1;
        }
        Some((Named::Other(sentence[token.place.start..tokens[end - 1].place.end].to_owned()), end))
    }

    /// Returns true if there is a title, a determiner or nothing before it, so that a noun is not taken for a name.
    fn can_be_name(&self, tokens: &[Token], at: usize, phrases: &Phrases) -> bool {
        let token = &tokens[at];
        let odd = !token.is_unlisted() && !token.has(Class::Role);
        if odd || token.lower.chars().count() < 2 || token.lower.chars().any(|c| !c.is_alphabetic()) {
            return false;
        }
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        let is_determined = before.is_some_and(|before| {
            (before.has(Class::Determiner) || before.has(Class::Preposition))
                && !phrases.articles.contains(&before.lower)
        });
        !is_determined && !phrases.calendar.is_word(&token.lower)
    }

    /// Returns the name beside a role: "my nephew Kevin", "Hugo, my associate", "the secretary, Graciela".
    #[must_use]
    pub fn of_role(&self, tokens: &[Token], at: usize, sentence: &str, phrases: &Phrases) -> Option<Named> {
        let named = |at: usize| {
            let token = tokens.get(at).filter(|token| token.has_capital || token.has(Class::Title))?;
            let is_plain = !token.has(Class::Role) || token.has(Class::Title);
            self.at(tokens, at, sentence, phrases).filter(|_| is_plain)
        };
        let ends = |end: usize| tokens.get(end).is_none_or(Token::is_after_break);
        let next = tokens.get(at + 1);
        if next.is_some_and(|next| next.before == Break::None) {
            return named(at + 1).map(|(named, _)| named);
        }
        // In a language with capitalized nouns, other nouns look like names.
        if phrases.capital_nouns {
            return None;
        }
        // "A nossa revisora".
        let opens = |at: &usize| tokens[*at].has(Class::Determiner) && !tokens[at + 1].is_after_break();
        let start = (0..at).rev().take_while(opens).last().unwrap_or(at);
        let before =
            (start.saturating_sub(NAME_WORDS_MAX)..start).find_map(|at| named(at).filter(|(_, end)| *end == start));
        let is_apposition = tokens[start].before == Break::Comma;
        if let Some((named, _)) = before.filter(|_| is_apposition) {
            return Some(named);
        }
        let article = tokens.get(at + 1).filter(|next| next.has(Class::Determiner));
        let behind = named(at + 1 + usize::from(article.is_some()));
        behind
            .filter(|(_, end)| next.is_some_and(|next| next.before == Break::Comma) && ends(*end))
            .map(|(named, _)| named)
    }

    fn is_further_name(&self, token: &Token) -> bool {
        token.has_capital && token.is_unlisted()
    }
}

/// Returns the words of a name in the form of tokens.
fn name_words(name: &str) -> Vec<String> {
    tokens(name, Phrases::english()).into_iter().map(|token| lowered(&token.lower)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let person = |name: &str| Person { name: name.to_owned(), ..Person::default() };
        Names::of(&["Anna Berg", "Anna Dahl", "Bob", "Zoë Müller-Łuk"].map(person))
    }

    fn found(sentence: &str, at: usize) -> Option<Named> {
        let phrases = Phrases::english();
        names().at(&tokens(sentence, phrases), at, sentence, phrases).map(|(named, _)| named)
    }

    #[test]
    fn a_participant_is_known_by_the_whole_name_or_by_a_part_of_ones_own() {
        for (sentence, index) in [("Anna Dahl sends it", 1), ("bob sends it", 2), ("Zoë will", 3), ("Berg will", 0)] {
            assert_eq!(found(sentence, 0), Some(Named::Participant(index)), "{sentence}");
        }
    }

    #[test]
    fn ambiguous_first_names_and_absent_names_stay_as_written() {
        for (sentence, name) in
            [("Anna sends it", "Anna"), ("Dana will send it", "Dana"), ("Mrs Vogt will", "Mrs Vogt")]
        {
            assert_eq!(found(sentence, 0), Some(Named::Other(name.to_owned())), "{sentence}");
        }
    }

    #[test]
    fn words_and_weekdays_are_no_names() {
        for sentence in ["We will go", "Monday will do", "Please send it", "I will"] {
            assert_eq!(found(sentence, 0), None, "{sentence}");
        }
    }
}
