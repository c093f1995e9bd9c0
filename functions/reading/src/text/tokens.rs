//! Division of a sentence into tokens, and the search for phrases.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::addresses;
use crate::languages::classes::{Class, Classes};
use crate::languages::meanings::Found;
use crate::languages::phrases::Phrases;
use crate::languages::token::{Break, Token, lowered};

/// Returns true if a word is a noun because of an article before it. Before a form of a verb, the same words are often
/// pronouns ("lo hago", "das mache ich").
#[must_use]
pub fn is_determined(tokens: &[Token], at: usize, phrases: &Phrases) -> bool {
    let token = &tokens[at];
    let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else { return false };
    // "Quelqu'un".
    let is_elided = at > 1 && before.before == Break::None && tokens[at - 2].lower == "quelqu'";
    if token.before != Break::None || !before.has(Class::Determiner) || is_elided {
        return false;
    }
    // "She's ordering the laptop", "Paula's doing the slides": a verb and no possessive.
    let is_contracted = before.lower == "'s" && (token.has(Class::Going) || (at >= 2 && contracts(&tokens[at - 2])));
    if is_contracted {
        return false;
    }
    let is_article = phrases.code == "en"
        || phrases.articles.contains(&before.lower)
        || (phrases.capital_nouns && token.has_capital)
        || !(before.has(Class::Between) || before.has(Class::Empty) || phrases.capital_nouns)
        // "Ich organisiere wieder den Grill", in lower case: the object follows its verb.
        || (phrases.capital_nouns && at >= 2 && before.before == Break::None && {
            let ahead = &tokens[at - 2];
            ahead.classes.is_verb()
                || (ahead.has(Class::Between) && !ahead.has(Class::Interjection))
                // "Dann mach ich das Poster".
                || (ahead.has(Class::Pronoun) && at >= 3 && tokens[at - 3].classes.is_verb())
        });
    !token.classes.is_verb() || is_article
}

/// Returns true if an ending "'s" behind a word is a verb or "us": "she's", "let's".
fn contracts(word: &Token) -> bool {
    word.has(Class::Pronoun) || word.lower == "let"
}

/// Returns the tokens of a sentence. A part joined by an apostrophe is a token ("I'll", "l'équipe", "Bob's"), and a URL
/// is one token.
#[must_use]
pub fn tokens(sentence: &str, phrases: &Phrases) -> Vec<Token> {
    let mut addresses = addresses::spans(sentence).into_iter().peekable();
    let mut found: Vec<Token> = Vec::new();
    let mut end = 0;
    for (at, word) in sentence.unicode_word_indices() {
        if at < end {
            continue;
        }
        if let Some(address) = addresses.next_if(|address| address.start <= at) {
            let before = found.last().map_or(Break::None, |last| broken(&sentence[end..address.start], last));
            end = address.end;
            found.push(Token {
                lower: sentence[address.clone()].to_owned(),
                place: address,
                classes: Classes::default(),
                has_capital: false,
                before,
                phrases: Vec::new(),
            });
            continue;
        }
        let before = found.last().map_or(Break::None, |last| broken(&sentence[end..at], last));
        let mut before = Some(before);
        for place in pieces(word) {
            let written = &word[place.clone()];
            let lower = lowered(written);
            found.push(Token {
                classes: phrases.classes(&lower),
                lower,
                place: at + place.start..at + place.end,
                has_capital: written.chars().next().is_some_and(char::is_uppercase),
                before: before.take().unwrap_or(Break::None),
                phrases: Vec::new(),
            });
        }
        end = at + word.len();
    }
    let beginning: Vec<Vec<Found>> = (0..found.len()).map(|start| phrases.beginning(&found, start)).collect();
    found.iter_mut().zip(beginning).for_each(|(token, phrases)| token.phrases = phrases);
    found
}

fn broken(between: &str, last: &Token) -> Break {
    // "Dr. Vogt", "the 3. of March".
    if between.trim_end() == "." && (last.has(Class::Title) || last.lower.chars().all(|c| c.is_ascii_digit())) {
        return Break::None;
    }
    let is_stop = |c: char| ":;–—()[]\"“”„«».!?¿¡…".contains(c);
    let is_dash = between.contains(" - ");
    if is_dash || between.contains(is_stop) {
        Break::Stop
    } else if between.contains(',') {
        Break::Comma
    } else {
        Break::None
    }
}

/// English endings begin with the apostrophe ("'ll"), Romance articles and pronouns end with it ("l'").
fn pieces(word: &str) -> Vec<Range<usize>> {
    let Some(at) = word.find(['\'', '’']) else { return std::iter::once(0..word.len()).collect() };
    let mark = if word[at..].starts_with('’') { '’'.len_utf8() } else { 1 };
    let (head, tail) = (&word[..at], &word[at + mark..]);
    let is_ending = matches!(tail.to_ascii_lowercase().as_str(), "ll" | "s" | "d" | "ve" | "re" | "m");
    if tail.is_empty() || head.is_empty() || tail.eq_ignore_ascii_case("t") {
        std::iter::once(0..word.len()).collect()
    } else if is_ending && !tail.is_empty() && !(tail.len() == 1 && head.len() == 1 && !head.eq_ignore_ascii_case("i"))
    {
        vec![0..at, at..word.len()]
    } else if matches!(word.to_lowercase().replace('’', "'").as_str(), "aujourd'hui" | "o'clock" | "presqu'île") {
        std::iter::once(0..word.len()).collect()
    } else {
        let mut all: Vec<_> = std::iter::once(0..at + mark).collect();
        all.extend(pieces(tail).into_iter().map(|place| place.start + at + mark..place.end + at + mark));
        all
    }
}
