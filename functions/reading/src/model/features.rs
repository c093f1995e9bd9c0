//! The features of a sentence for the classifier.
//!
//! - Of one language: its words and their pairs.
//! - Of all languages, so that a meeting in one language helps to read others: its classes, phrases, the sequence of its
//!   kinds of words, the senses of its words, and the findings of the rules.
//! - Of its context: the speakers, questions, names and phrases of adjacent sentences, and its position in its turn and
//!   in the meeting.

use super::acts::RuleMatches;
use super::feature_sink::{FeatureSink, step};
use crate::commitments::clauses::is_question;
use crate::languages::classes::{Class, Classes};
use crate::languages::meanings::{Meaning, Pronoun};
use crate::languages::phrases::Phrases;
use crate::languages::token::Token;
use crate::material::Material;
use crate::people::{Named, Names};
use crate::text::sentences::{Sentence, Source, Text};

/// Steps of the number of words in a sentence.
const LENGTHS: [usize; 7] = [2, 4, 6, 9, 12, 16, 22];
/// Steps for adjacent sentences.
const FEW_LENGTHS: [usize; 3] = [3, 8, 14];
/// Steps for features that include the position of the sentence.
const PLACED_LENGTHS: [usize; 3] = [3, 6, 12];
/// Steps of the progress of the meeting, in hundredths.
const PLACES: [usize; 6] = [10, 30, 60, 80, 90, 96];
/// Number of previous sentences, by distance, and number of those whose kinds of words are features.
const BEFORE: [&str; 3] = ["1", "2", "3"];
const BEFORE_CLOSELY: usize = 2;
/// Number of following sentences, by distance.
const BEHIND: [&str; 2] = ["1", "2"];
/// Most sentences since another person spoke.
const OTHER_BEFORE: usize = 4;
/// Number of first words of a sentence whose classes are features.
const FIRST_WORDS: [&str; 3] = ["0", "1", "2"];
/// Positions in which a phrase begins its sentence.
const FIRST_PHRASES: usize = 2;
/// Most consecutive kinds of words in one feature.
const OUTLINE_MAX: usize = 3;
/// Most consecutive groups of words in one feature.
const GROUPS_MAX: usize = 3;
/// Number of groups behind its neighbour with which a group forms one feature.
const APART_GROUPS: usize = 4;
/// Number of words of the following sentence whose lemmas are features.
const BEHIND_LEMMAS: usize = 3;

/// Placeholders for words of one kind in all features.
const TIME: &str = "<time>";
const PARTICIPANT: &str = "<who>";
const NUMBER: &str = "<number>";
/// Meaning of a name in the files of `senses`.
const NAME: &str = "name";
const UNKNOWN: &str = "?";

/// The sentences of a meeting, prepared for their features.
pub struct Features<'t> {
    views: Vec<Option<View<'t>>>,
    /// Number of spoken sentences.
    said: usize,
    people: usize,
}

/// A sentence of the transcript, prepared for its features.
struct View<'t> {
    sentence: &'t Sentence,
    phrases: &'static Phrases,
    speaker: &'t str,
    /// Index of the participant.
    participant: Option<usize>,
    turn: usize,
    words: Vec<&'t str>,
    /// Kinds of its words, without repetitions.
    outline: Vec<&'static str>,
    /// Meanings of its words, with runs of unknown ones merged: their lemmas, and their groups.
    lemmas: Vec<&'static str>,
    groups: Vec<&'static str>,
    classes: Classes,
    meanings: Vec<Meaning>,
    first_meanings: Vec<Meaning>,
    matches: &'t RuleMatches,
    /// The participants that it names.
    named: Vec<usize>,
    names_others: bool,
    asks: bool,
    has_time: bool,
    has_deadline: bool,
}

impl<'t> Features<'t> {
    /// Prepares all sentences of a meeting.
    #[must_use]
    pub fn of(text: &'t Text, material: &Material, names: &Names, matches: &'t [RuleMatches]) -> Features<'t> {
        debug_assert_eq!(text.sentences.len(), matches.len(), "each sentence has its matches");
        let sentences = text.sentences.iter().zip(matches);
        let views: Vec<Option<View<'t>>> =
            sentences.map(|(sentence, matches)| View::of(sentence, matches, text, material, names)).collect();
        Features { said: views.iter().flatten().count(), views, people: names.people() }
    }

    /// Emits each feature of a sentence, some more than once. Returns None for notes and languages without phrases.
    pub fn write(&self, index: usize, mut emit: impl FnMut(&str)) -> Option<()> {
        let view = self.views.get(index)?.as_ref()?;
        let mut features = FeatureSink::new(&mut emit);
        view.write_words(&mut features);
        view.write_kinds(&mut features);
        view.write_senses(&mut features);
        view.write_hints(&mut features);
        self.write_place(index, view, &mut features);
        self.write_before(index, view, &mut features);
        self.write_behind(index, view, &mut features);
        Some(())
    }

    fn at(&self, index: usize) -> Option<&View<'t>> {
        self.views.get(index)?.as_ref()
    }

    fn write_place(&self, index: usize, view: &View<'_>, features: &mut FeatureSink<'_>) {
        let is_of_turn = |other: Option<&View<'_>>| other.is_some_and(|other| other.turn == view.turn);
        let opens = !is_of_turn(index.checked_sub(1).and_then(|before| self.at(before)));
        let closes = !is_of_turn(self.at(index + 1));
        features.format(format_args!("opens {opens}"));
        features.format(format_args!("closes {closes}"));
        features.format(format_args!("opens {opens} closes {closes} length {}", step(view.length(), &PLACED_LENGTHS)));
        features.format(format_args!("place {}", step(index * 100 / self.said.max(1), &PLACES)));
        features.format(format_args!("people {}", self.people));
    }

    fn write_before(&self, index: usize, view: &View<'_>, features: &mut FeatureSink<'_>) {
        let code = view.phrases.code;
        for (distance, far) in (1..).zip(BEFORE) {
            let Some(before) = index.checked_sub(distance).and_then(|before| self.at(before)) else {
                features.words(&["before", far, "none"]);
                continue;
            };
            let is_own = before.speaker == view.speaker;
            let whose = if is_own { "own" } else { "other" };
            features.words(&["before", far, whose]);
            if before.asks {
                features.words(&["before", far, whose, "question"]);
            }
            if distance <= BEFORE_CLOSELY {
                before.meanings.iter().for_each(|one| features.words(&["before", far, whose, "means", one.into()]));
                for one in &before.matches.announced {
                    features.format(format_args!("before {far} {whose} announces {one}"));
                }
                if !is_own && before.calls(view.participant) {
                    features.words(&["before", far, "calls"]);
                }
                features.format(format_args!("before {far} {whose} length {}", step(before.length(), &FEW_LENGTHS)));
            }
            if distance == 1 {
                let opens = before.turn != view.turn;
                let length = step(view.length(), &PLACED_LENGTHS);
                features.format(format_args!("before {whose} question {} length {length} opens {opens}", before.asks));
                before.words.iter().take(2).for_each(|word| features.words(&[code, "before", whose, "^", word]));
                before.words.last().into_iter().for_each(|word| features.words(&[code, "before", whose, word, "$"]));
                if !is_own {
                    before.words.iter().for_each(|word| features.words(&[code, "before", word]));
                    before.outline.iter().for_each(|kind| features.words(&["outline before", kind]));
                    runs(&before.outline, 2..=2, |run| features.run("outline before", run));
                }
            }
        }
        let mut others = (0..index).rev().take(OTHER_BEFORE).filter_map(|before| self.at(before));
        if let Some(other) = others.find(|before| before.speaker != view.speaker) {
            if other.calls(view.participant) {
                features.words(&["last other calls"]);
            }
            features.format(format_args!("last other question {}", other.asks));
            other.meanings.iter().for_each(|one| features.words(&["last other means", one.into()]));
        }
    }

    fn write_behind(&self, index: usize, view: &View<'_>, features: &mut FeatureSink<'_>) {
        let code = view.phrases.code;
        for (distance, far) in (1..).zip(BEHIND) {
            let Some(behind) = self.at(index + distance) else {
                features.words(&["behind", far, "none"]);
                continue;
            };
            let whose = if behind.speaker == view.speaker { "own" } else { "other" };
            features.words(&["behind", far, whose]);
            if behind.asks {
                features.words(&["behind", far, whose, "question"]);
            }
            behind.meanings.iter().for_each(|one| features.words(&["behind", far, whose, "means", one.into()]));
            if distance == 1 {
                behind.words.iter().take(2).for_each(|word| features.words(&[code, "behind", whose, "^", word]));
                behind
                    .lemmas
                    .iter()
                    .take(BEHIND_LEMMAS)
                    .for_each(|lemma| features.words(&["lemma behind", whose, lemma]));
                features.format(format_args!("behind {whose} length {}", step(behind.length(), &FEW_LENGTHS)));
            }
        }
    }
}

impl<'t> View<'t> {
    fn of(
        sentence: &'t Sentence,
        matches: &'t RuleMatches,
        text: &'t Text,
        material: &Material,
        names: &Names,
    ) -> Option<View<'t>> {
        let phrases = sentence.language.phrases()?;
        let Source::Turn(turn) = sentence.source else { return None };
        let speaker = text.turns.get(turn)?.speaker_id.as_str();
        let tokens = &sentence.tokens;
        let times = phrases.calendar.all(tokens, None);
        let mut kinds: Vec<Option<&'static str>> = vec![None; tokens.len()];
        let (mut named, mut names_others) = (Vec::new(), false);
        let mut at = 0;
        while at < tokens.len() {
            let Some((who, end)) = names.at(tokens, at, &sentence.text, phrases) else {
                at += 1;
                continue;
            };
            let kind = if let Named::Participant(index) = who {
                named.push(index);
                PARTICIPANT
            } else {
                names_others = true;
                "<name>"
            };
            kinds[at..end].fill(Some(kind));
            at = end.max(at + 1);
        }
        times.iter().for_each(|time| kinds[time.start..time.end].fill(Some(TIME)));
        let mut words: Vec<&'t str> = Vec::new();
        let mut outline: Vec<&'static str> = Vec::new();
        for (token, kind) in tokens.iter().zip(&kinds) {
            let word = match kind {
                Some(kind) if [TIME, PARTICIPANT].contains(kind) => kind,
                _ if token.lower.chars().any(|c| c.is_ascii_digit()) => NUMBER,
                _ => token.lower.as_str(),
            };
            if word == NUMBER || !word.starts_with('<') || words.last() != Some(&word) {
                words.push(word);
            }
            let kind = kind.unwrap_or_else(|| kind_of(token, phrases));
            if outline.last() != Some(&kind) || ![TIME, PARTICIPANT, PLAIN].contains(&kind) {
                outline.push(kind);
            }
        }
        let (lemmas, groups) = senses(tokens, &kinds, phrases);
        let classes = Classes::of_all(tokens);
        Some(View {
            sentence,
            phrases,
            speaker,
            participant: material.people.iter().position(|person| person.id == speaker),
            turn,
            words,
            outline,
            lemmas,
            groups,
            classes,
            meanings: meanings(tokens),
            first_meanings: meanings(&tokens[..tokens.len().min(FIRST_PHRASES)]),
            matches,
            named,
            names_others,
            asks: is_question(&sentence.text),
            has_time: !times.is_empty(),
            has_deadline: times.iter().any(|time| time.is_deadline),
        })
    }

    fn length(&self) -> usize {
        self.sentence.tokens.len()
    }

    /// Returns true if it names a participant.
    fn calls(&self, who: Option<usize>) -> bool {
        who.is_some_and(|who| self.named.contains(&who))
    }

    fn write_words(&self, features: &mut FeatureSink<'_>) {
        let code = self.phrases.code;
        features.words(&["always"]);
        features.words(&["language", code]);
        let mut before = "^";
        for word in &self.words {
            features.words(&[code, word]);
            features.words(&[code, before, word]);
            before = word;
        }
        features.words(&[code, before, "$"]);
    }

    fn write_kinds(&self, features: &mut FeatureSink<'_>) {
        features.format(format_args!("length {}", step(self.length(), &LENGTHS)));
        let tells = [
            (self.asks, "question"),
            (self.has_time, "time"),
            (self.has_deadline, "deadline"),
            (!self.named.is_empty(), "names participant"),
            (self.names_others, "names other"),
            (self.matches.announced.is_empty(), "announces nothing"),
        ];
        tells.iter().filter(|(is_so, _)| *is_so).for_each(|(_, feature)| features.words(&[feature]));
        self.classes.iter().for_each(|class| features.words(&["class", class.into()]));
        for (token, place) in self.sentence.tokens.iter().zip(FIRST_WORDS) {
            token.classes.iter().for_each(|class| features.words(&["class", place, class.into()]));
        }
        self.meanings.iter().for_each(|one| features.words(&["means", one.into()]));
        // "I'll be on holiday": an announcement that the rest of the sentence negates.
        let is_silent = |one: &&Meaning| self.matches.announced.is_empty() && one.announces();
        self.meanings.iter().filter(is_silent).for_each(|one| features.words(&["silent", one.into()]));
        self.first_meanings.iter().for_each(|one| features.words(&["begins", one.into()]));
        self.matches.announced.iter().for_each(|one| features.format(format_args!("announces {one}")));
        runs(&self.outline, 1..=OUTLINE_MAX, |run| features.run("outline", run));
    }

    fn write_hints(&self, features: &mut FeatureSink<'_>) {
        if self.matches.decides {
            features.words(&["decides"]);
        }
        if self.matches.drafts.is_empty() {
            features.words(&["draft", "none"]);
        }
        for draft in &self.matches.drafts {
            let (stage, act, fate) = (draft.stage.into(), draft.act.into(), draft.fate.into());
            features.words(&["draft", act, fate]);
            features.words(&["draft", stage, act, fate]);
            if draft.has_due {
                features.words(&["draft", stage, act, fate, "due"]);
            }
        }
    }

    fn write_senses(&self, features: &mut FeatureSink<'_>) {
        runs(&self.lemmas, 1..=2, |run| features.run("lemma", run));
        runs(&self.groups, 1..=GROUPS_MAX, |run| features.run("sense", run));
        for (at, group) in self.groups.iter().enumerate() {
            let apart = self.groups.iter().skip(at + 2).take(APART_GROUPS);
            apart.for_each(|other| features.words(&["sense", group, "…", other]));
        }
    }
}

/// Returns the distinct meanings of the phrases that begin at some words.
fn meanings(tokens: &[Token]) -> Vec<Meaning> {
    let mut all: Vec<Meaning> = tokens.iter().flat_map(|token| &token.phrases).map(|found| found.meaning).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Emits each run of kinds with the given lengths. The beginning and the end of the sentence are kinds, too.
fn runs(kinds: &[&str], lengths: std::ops::RangeInclusive<usize>, mut emit: impl FnMut(&[&str])) {
    let mut all = Vec::with_capacity(kinds.len() + 2);
    all.push("^");
    all.extend_from_slice(kinds);
    all.push("$");
    for length in lengths {
        all.windows(length).for_each(&mut emit);
    }
}

/// Returns the meanings of the words of a sentence: lemmas and groups.
fn senses(
    tokens: &[Token],
    kinds: &[Option<&'static str>],
    phrases: &Phrases,
) -> (Vec<&'static str>, Vec<&'static str>) {
    let (mut lemmas, mut groups) = (Vec::with_capacity(tokens.len()), Vec::with_capacity(tokens.len()));
    for (token, kind) in tokens.iter().zip(kinds) {
        let (lemma, group) = match kind {
            Some(kind) if [TIME, PARTICIPANT].contains(kind) => (*kind, *kind),
            _ if token.lower.chars().any(|c| c.is_ascii_digit()) => (NUMBER, NUMBER),
            kind => {
                let unknown = if kind.is_some() { (NAME, NAME) } else { (UNKNOWN, UNKNOWN) };
                phrases.sense(&token.lower).map_or(unknown, |sense| (sense.lemma, sense.group))
            }
        };
        if ![TIME, PARTICIPANT, NAME, UNKNOWN].contains(&lemma) || lemmas.last() != Some(&lemma) {
            lemmas.push(lemma);
            groups.push(group);
        }
    }
    (lemmas, groups)
}

/// A word of no known kind.
const PLAIN: &str = "word";

fn kind_of(token: &Token, phrases: &Phrases) -> &'static str {
    if let Some(pronoun) = phrases.pronoun(&token.lower) {
        return match pronoun {
            Pronoun::Speaker => "I",
            Pronoun::Addressed => "you",
            Pronoun::Everybody => "we",
            Pronoun::Thing => "it",
            Pronoun::Somebody => "somebody",
        };
    }
    // Of several classes, the most specific one.
    let kinds = [
        (Class::Me, "send-1"),
        (Class::MeLater, "later-1"),
        (Class::Infinitive, "send"),
        (Class::Order, "send!"),
        (Class::We, "send-4"),
        (Class::WeLater, "later-4"),
        (Class::Third, "send-3"),
        (Class::ThirdLater, "later-3"),
        (Class::You, "send-2"),
        (Class::Modal, "can"),
        (Class::Negation, "not"),
        (Class::Condition, "if"),
        (Class::ConditionFirst, "if?"),
        (Class::Past, "past"),
        (Class::Interjection, "oh"),
        (Class::Joint, "and"),
        (Class::Contrary, "but"),
        (Class::Preposition, "of"),
        (Class::Determiner, "the"),
        (Class::Between, "just"),
        (Class::Report, "says"),
        (Class::Role, "plumber"),
    ];
    kinds.iter().find(|(class, _)| token.has(*class)).map_or(PLAIN, |(_, kind)| kind)
}
