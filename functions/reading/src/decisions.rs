//! The decisions of a meeting, in their own words.
//!
//! Rules find sentences that state a decision ("we decided …") or agree on an earlier proposal ("agreed", "that's settled").
//! Questions, proposals and the decisions of others do not count. The match of a rule is a feature of the sentence, and the
//! learned `likelihood` alone decides.

use std::collections::{HashMap, HashSet};

use crate::commitments::clauses::is_question;
use crate::languages::classes::Class;
use crate::languages::meanings::{Found, Meaning};
use crate::languages::phrases::Phrases;
use crate::model::acts::Act;
use crate::model::likelihood::Likelihood;
use crate::text::lines::{LINE_CHARS_MAX, clipped};
use crate::text::sentences::{Sentence, Source, Text, WordClass, normalized};

/// Most sentences between a proposal and the agreement to it.
const PROPOSAL_SENTENCES: usize = 4;

/// Most sentences between a question and a short answer that closes it.
const QUESTION_SENTENCES: usize = 6;
/// Most words of a sentence in which a single word agrees ("Okay, settled").
const AGREED_WORDS_MAX: usize = 5;
/// Most words, and most content words, of a sentence that only agrees ("That's fine for me").
const NOD_WORDS_MAX: usize = 7;
const NOD_CONTENT_MAX: usize = 1;
/// Most sentences after a request for agreement in which others can agree.
const ANSWER_SENTENCES: usize = 3;
/// Content words that a sentence needs for an agreement to it.
const CONSENT_MIN: usize = 2;

/// Content words that a sentence needs to be a decision itself.
const CONTENT_MIN: usize = 1;

/// Lowest likelihood of a decision that a rule finds, and of one that no rule finds.
const LIKELY: f64 = 0.4;
const LIKELY_ALONE: f64 = 0.5;
/// Smallest distance, in sentences, between two decisions that no rule finds.
const APART_SENTENCES: usize = 3;

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Index of its sentence.
    pub sentence: usize,
    pub text: String,
}

/// The decisions that the rules find.
#[derive(Debug, Default)]
pub struct RuleDecisions {
    /// Indices of the sentences that state a decision, ascending, without duplicates.
    pub sentences: Vec<usize>,
    /// Answers to those that are questions.
    answers: HashMap<usize, usize>,
}

/// Finds decisions by rules.
#[must_use]
pub fn by_rules(text: &Text) -> RuleDecisions {
    let mut found: Vec<usize> = Vec::new();
    // "Do we keep the reduced price?" – "Yes, we keep it."
    let mut answers: HashMap<usize, usize> = HashMap::new();
    for (index, sentence) in text.sentences.iter().enumerate() {
        if !matches!(sentence.source, Source::Turn(_) | Source::Notes) {
            continue;
        }
        let Some(phrases) = sentence.language.phrases() else { continue };
        let is_asked = is_question(&sentence.text);
        let is_tagged = is_asked && is_tagged(sentence, phrases) && tells(sentence, phrases);
        // "Collect the forms by June, agreed?" is a request.
        let is_request = phrases.has(&sentence.tokens, Meaning::Request);
        if is_tagged || (asks_consent(sentence, phrases, is_asked) && !is_request) {
            found.extend(consented(text, index));
        }
        if is_asked {
            continue;
        }
        let says = content(sentence, phrases).len() >= CONTENT_MIN;
        let agrees = agrees(sentence, phrases) || (!says && phrases.has(&sentence.tokens, Meaning::Decided));
        let closes = says
            && (opens_agreeing(text, index)
                || closes_question(text, index)
                || resolves(text, index, phrases)
                || (agrees_on_itself(sentence, phrases) && content(sentence, phrases).len() >= CONSENT_MIN));
        if closes || (says && tells(sentence, phrases)) {
            found.push(index);
        } else if agrees && !phrases.has(&sentence.tokens, Meaning::Undecided) {
            let proposed = proposal(text, index, &found);
            if let Some(question) = proposed.filter(|at| is_question(&text.sentences[*at].text)) {
                answers.insert(question, index);
            }
            found.extend(proposed);
        }
    }
    found.sort_unstable();
    found.dedup();
    RuleDecisions { sentences: found, answers }
}

/// Returns the indices of likely decisions. Of neighbours that no rule finds, the likeliest counts.
fn likely(text: &Text, by_rules: &[usize], likelihoods: &[Option<Likelihood>]) -> Vec<usize> {
    let is_by_rule = |index: usize| by_rules.binary_search(&index).is_ok();
    let likely = |(index, likelihood): (usize, &Option<Likelihood>)| {
        // The classifier does not read notes.
        let unlearned = if is_by_rule(index) { 1.0 } else { 0.0 };
        let likelihood = likelihood.map_or(unlearned, |likelihood| likelihood.of(Act::Decision));
        let is_told = likelihood >= LIKELY_ALONE && !is_question(&text.sentences[index].text);
        (is_told || (is_by_rule(index) && likelihood >= LIKELY)).then_some((index, likelihood))
    };
    let mut likely: Vec<(usize, f64)> = likelihoods.iter().enumerate().filter_map(likely).collect();
    // Of equals, the first one.
    likely.sort_by(|one, other| is_by_rule(other.0).cmp(&is_by_rule(one.0)).then(other.1.total_cmp(&one.1)));
    let mut is_near = vec![false; text.sentences.len()];
    let mut found = Vec::new();
    for (index, _) in likely {
        if is_by_rule(index) || !is_near[index] {
            let end = is_near.len().min(index + APART_SENTENCES);
            is_near[(index + 1).saturating_sub(APART_SENTENCES)..end].fill(true);
            found.push(index);
        }
    }
    found
}

/// Returns the decisions of a meeting in order, without duplicates.
#[must_use]
pub fn decisions(text: &Text, by_rules: &RuleDecisions, likelihoods: &[Option<Likelihood>]) -> Vec<Decision> {
    let mut found = likely(text, &by_rules.sentences, likelihoods);
    found.sort_unstable();
    let mut seen: Vec<(HashSet<u32>, usize)> = Vec::new();
    let mut texts = HashSet::new();
    for index in found {
        let sentence = &text.sentences[index];
        let terms = sentence.language.phrases().map_or_else(HashSet::new, |phrases| content(sentence, phrases));
        let again = seen.iter().position(|(known, at)| {
            let fewer = known.len().min(terms.len());
            fewer > 0 && known.intersection(&terms).count() == fewer && index - at <= 2 * PROPOSAL_SENTENCES
        });
        let is_new = texts.insert(normalized(&sentence.text));
        match again {
            // "Shall we pay it?" – "Yes." – "So we're paying the deposit.": the later sentence is more specific.
            Some(known) if is_new && seen[known].0.len() < terms.len() => seen[known] = (terms, index),
            Some(_) => {}
            None if is_new => seen.push((terms, index)),
            None => {}
        }
    }
    let decision = |(_, sentence): (_, usize)| {
        let said = &text.sentences[sentence].text;
        let answer = by_rules.answers.get(&sentence).map(|answer| format!("{said} {}", text.sentences[*answer].text));
        Decision { sentence, text: clipped(answer.as_ref().unwrap_or(said), LINE_CHARS_MAX) }
    };
    seen.into_iter().map(decision).collect()
}

/// Returns true if a sentence asks for agreement. In a transcript without question marks, only the words show it; at
/// the beginning of a sentence they are rather an answer.
fn asks_consent(sentence: &Sentence, phrases: &Phrases, is_asked: bool) -> bool {
    let is_open = !sentence.text.ends_with(['.', '!', '…']);
    let asks = |found: &Found| is_asked || (is_open && found.start > CONSENT_MIN);
    let tags = |found: &Found| found.meaning == Meaning::Agreed && found.end == sentence.tokens.len();
    phrases.all(&sentence.tokens, |meaning| meaning == Meaning::Consent).iter().any(asks)
        || (is_asked && phrases.all(&sentence.tokens, |meaning| meaning == Meaning::Agreed).iter().any(tags))
}

/// Returns true if a question is a statement with a question tag ("we leave it out, right?").
fn is_tagged(sentence: &Sentence, phrases: &Phrases) -> bool {
    let tags = |found: &Found| found.end == sentence.tokens.len() && found.start > 0;
    phrases.all(&sentence.tokens, |meaning| meaning == Meaning::Tag).iter().any(tags)
}

/// Returns true if a person accepts a task in a sentence.
fn takes_on(sentence: &Sentence, phrases: &Phrases) -> bool {
    (0..sentence.tokens.len()).any(|at| phrases.at(&sentence.tokens, at, Meaning::announces).is_some())
}

/// "We should take the cake." – "Agreed, the cake goes on the cover.": finds a proposal in the words of the agreement.
fn opens_agreeing(text: &Text, index: usize) -> bool {
    let sentence = &text.sentences[index];
    let Some(phrases) = sentence.language.phrases() else { return false };
    let opens = phrases.at(&sentence.tokens, 0, |meaning| meaning == Meaning::Agreed).is_some_and(|found| {
        sentence.tokens.get(found.end).is_some_and(crate::languages::token::Token::is_after_break)
    });
    opens
        && !takes_on(sentence, phrases)
        && !phrases.has(&sentence.tokens, Meaning::Undecided)
        && (index.saturating_sub(PROPOSAL_SENTENCES)..index).any(|at| {
            let before = &text.sentences[at];
            before.source != sentence.source
                && before.language.phrases().is_some_and(|phrases| phrases.has(&before.tokens, Meaning::Proposal))
        })
}

/// "Bus or train?" – "The train is cheaper." – "So we take the train.": finds the result of a discussion.
fn resolves(text: &Text, index: usize, phrases: &Phrases) -> bool {
    let sentence = &text.sentences[index];
    let tokens = &sentence.tokens;
    let Some(found) = phrases.all(tokens, |meaning| meaning == Meaning::Resolved).into_iter().next() else {
        return false;
    };
    let is_talk = (found.start..found.end).any(|at| phrases.at(tokens, at, |one| one == Meaning::Talk).is_some());
    let other = [Meaning::Undecided, Meaning::Hope, Meaning::Habit, Meaning::Joke];
    let is_quoted = tokens[..found.start].iter().any(|token| token.has(Class::Report) || token.has(Class::Condition));
    !is_talk
        && !is_quoted
        && !other.iter().any(|meaning| phrases.has(tokens, *meaning))
        && (index.saturating_sub(QUESTION_SENTENCES)..index).any(|at| {
            let before = &text.sentences[at];
            // A transcript without punctuation does not show questions.
            let is_plain = before.source != sentence.source
                && !before.text.chars().any(char::is_uppercase)
                && !before.text.contains(['.', '?', '!', ',']);
            is_question(&before.text)
                || is_plain
                || before.language.phrases().is_some_and(|phrases| phrases.has(&before.tokens, Meaning::Proposal))
        })
}

/// "By bus or by car?" – "Okay, car then.": finds a short answer without a verb to a question.
fn closes_question(text: &Text, index: usize) -> bool {
    let sentence = &text.sentences[index];
    let Some(phrases) = sentence.language.phrases() else { return false };
    let closes = [Class::Interjection, Class::Consequence];
    let is_short = sentence.tokens.len() <= AGREED_WORDS_MAX && sentence.tokens.len() >= 2;
    let begins = sentence.tokens.first().is_some_and(|token| token.has_any(&closes));
    let has_verb = sentence.tokens.iter().any(|token| token.classes.is_verb() || token.has(Class::Modal));
    if !is_short || !begins || has_verb || takes_on(sentence, phrases) {
        return false;
    }
    let terms = content(sentence, phrases);
    (index.saturating_sub(QUESTION_SENTENCES)..index).any(|at| {
        let before = &text.sentences[at];
        is_question(&before.text)
            && before.language.phrases().is_some_and(|phrases| !content(before, phrases).is_disjoint(&terms))
    })
}

/// Returns true if a sentence agrees with an earlier one. A single word does so only in a short sentence.
fn agrees(sentence: &Sentence, phrases: &Phrases) -> bool {
    let found = phrases.all(&sentence.tokens, |meaning| meaning == Meaning::Agreed);
    found.iter().any(|found| found.end - found.start > 1 || sentence.tokens.len() <= AGREED_WORDS_MAX)
}

/// "So Tom looks after the interns, that's what we'll do": returns true if a sentence agrees with its own content.
fn agrees_on_itself(sentence: &Sentence, phrases: &Phrases) -> bool {
    let tokens = &sentence.tokens;
    let found = phrases.all(tokens, |meaning| meaning == Meaning::Agreed);
    let is_last =
        |found: &Found| found.end == tokens.len() && found.end - found.start > 1 && found.start > AGREED_WORDS_MAX;
    let other = [Meaning::Undecided, Meaning::Hope, Meaning::Habit, Meaning::Joke];
    let is_conditional = tokens.iter().any(|token| token.has(Class::Condition) || token.has(Class::ConditionFirst));
    found.iter().any(is_last) && !is_conditional && !other.iter().any(|meaning| phrases.has(tokens, *meaning))
}

/// Returns true if a sentence states a decision.
fn tells(sentence: &Sentence, phrases: &Phrases) -> bool {
    let tokens = &sentence.tokens;
    let takes_on = takes_on(sentence, phrases);
    let is_meant = |meaning| {
        matches!(meaning, Meaning::Decided | Meaning::Henceforth) || (meaning == Meaning::Concluded && !takes_on)
    };
    let Some(told) = phrases.all(tokens, is_meant).into_iter().next() else {
        return false;
    };
    let is_conditional = tokens[..told.start].iter().enumerate().any(|(at, token)| {
        (token.has(Class::Condition) || token.has(Class::ConditionFirst))
            && (at == 0
                || token.is_after_break()
                || tokens[at - 1].has(Class::Joint)
                || tokens[at - 1].has(Class::Interjection))
    });
    let is_quoted = tokens[..told.start].iter().any(|token| token.has(Class::Report));
    !is_conditional
        && !is_quoted
        && !phrases.has(tokens, Meaning::Undecided)
        && !phrases.has(tokens, Meaning::Hope)
        && (told.meaning == Meaning::Henceforth || !phrases.has(tokens, Meaning::Habit))
        && !phrases.has(tokens, Meaning::Joke)
}

/// Returns the sentence for which agreement is requested ("We stay with May, is everybody fine with that?"), if a
/// person agrees and no one objects first.
fn consented(text: &Text, index: usize) -> Option<usize> {
    let asking = &text.sentences[index];
    let Source::Turn(turn) = asking.source else { return None };
    let speaker = &text.turns[turn].speaker_id;
    let answer = text.sentences[index + 1..].iter().take(ANSWER_SENTENCES).find_map(|sentence| {
        let Source::Turn(turn) = sentence.source else { return None };
        let phrases = sentence.language.phrases().filter(|_| text.turns[turn].speaker_id != *speaker)?;
        (0..sentence.tokens.len().min(3)).find_map(|at| {
            phrases
                .at(&sentence.tokens, at, |one| {
                    matches!(one, Meaning::Yes | Meaning::Agreed | Meaning::Thanks | Meaning::No)
                })
                .map(|found| found.meaning)
        })
    });
    if answer.is_none_or(|meaning| meaning == Meaning::No) {
        return None;
    }
    let says = |at: &usize| {
        let sentence = &text.sentences[*at];
        sentence.language.phrases().is_some_and(|phrases| {
            let is_told = *at == index || !is_question(&sentence.text);
            is_told && sentence.source == asking.source && content(sentence, phrases).len() >= CONSENT_MIN
        })
    };
    (index.saturating_sub(2)..=index).rev().find(says)
}

/// Returns the sentence that is agreed on, unless a decision was stated since: a recent proposal, the speaker's last
/// statement, or the question that is answered.
fn proposal(text: &Text, index: usize, found: &[usize]) -> Option<usize> {
    let from = index.saturating_sub(PROPOSAL_SENTENCES);
    if found.iter().any(|known| *known + 2 >= index) {
        return None;
    }
    let speaker = |at: usize| match text.sentences[at].source {
        Source::Turn(turn) => Some(text.turns[turn].speaker_id.as_str()),
        _ => None,
    };
    let begins_with_yes = text.sentences[index].language.phrases().is_some_and(|phrases| {
        phrases.at(&text.sentences[index].tokens, 0, |meaning| meaning == Meaning::Yes).is_some()
    });
    // "They sign for two years." – "Fine." – "That's decided."
    let mut is_close = true;
    for at in (from..index).rev() {
        let sentence = &text.sentences[at];
        let Some(phrases) = sentence.language.phrases() else { continue };
        let says = content(sentence, phrases).len();
        let is_own = is_close && speaker(at) == speaker(index) && !is_question(&sentence.text);
        let is_answered = at + 1 == index
            && begins_with_yes
            && is_question(&sentence.text)
            && phrases.has(&text.sentences[index].tokens, Meaning::Decided);
        if says > 0 && (is_own || is_answered || phrases.has(&sentence.tokens, Meaning::Proposal)) {
            return Some(at);
        }
        is_close &= says <= NOD_CONTENT_MAX && sentence.tokens.len() <= NOD_WORDS_MAX;
    }
    None
}

/// Returns the terms of a sentence's content words.
fn content(sentence: &Sentence, phrases: &Phrases) -> HashSet<u32> {
    let says = |word: &&crate::text::sentences::Word| {
        let classes = phrases.classes(&crate::languages::token::lowered(&word.surface));
        word.class == WordClass::Content
            && !classes.has(Class::Interjection)
            && !classes.has(Class::Empty)
            && !classes.has(Class::Between)
    };
    let decided = phrases
        .all(&sentence.tokens, |meaning| matches!(meaning, Meaning::Decided | Meaning::Agreed | Meaning::Consent));
    let is_told = |word: &crate::text::sentences::Word| {
        decided.iter().filter(|found| found.is_fixed).any(|found| {
            sentence.tokens[found.start].place.start <= word.place.start
                && word.place.end <= sentence.tokens[found.end - 1].place.end
        })
    };
    sentence.words.iter().filter(says).filter(|word| !is_told(word)).map(|word| word.term).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Material;

    #[test]
    fn a_decision_is_kept_once_and_in_its_own_words() {
        let notes = "We decided to use Postgres. It is fast.\nWe decided to use Postgres!\n- [ ] we decided to test it";
        let material = Material { notes: notes.to_owned(), ..Material::default() };
        let text = Text::of(&material);
        let found: Vec<String> =
            decisions(&text, &by_rules(&text), &[None; 3]).into_iter().map(|decision| decision.text).collect();
        assert_eq!(found, ["We decided to use Postgres."]);
    }
}
