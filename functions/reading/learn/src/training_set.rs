//! The training set: each sentence or phrase of the labelled meetings with its features and labels.

use std::collections::{BTreeSet, HashMap};

use reading::action_items::tracking::Tracked;
use reading::commitments::clauses::is_question;
use reading::decisions::by_rules;
use reading::material::{Chunk, Material};
use reading::model::acts::Act;
use reading::model::features::Features;
use reading::model::referents::{NounPhrase, Referents};
use reading::people::Names;
use reading::text::sentences::{Sentence, Source, Text, normalized};
use reading::topics::with_features;

use crate::corpus::{Label, Meeting, Taught, holds};
use crate::table::Table;

/// The weight of an example against the penalty of the weights.
const EXAMPLE_WEIGHT: f64 = 0.1;
/// The same for dialogue acts, chosen by cross-validation.
const ACT_EXAMPLE_WEIGHTS: [f64; Act::ALL.len()] = [0.05, 0.1, 0.1, 0.1, 0.04];
/// Every such meeting is also learned in pieces.
const PIECES_OF: usize = 2;
/// Most turns of a piece of a meeting.
const PIECE_TURNS_MAX: usize = 3;
/// Smallest part of a quote that a sentence must contain to match it.
const QUOTE_MIN: f64 = 0.4;

/// The examples of each classifier.
pub struct TrainingSet {
    /// Sentences, labelled with their dialogue acts.
    acts: Table<{ Act::ALL.len() }>,
    /// Pairs of a sentence and an earlier noun phrase, true if the sentence refers to it.
    referents: Table<1>,
    /// Phrases, true if the phrase is a topic.
    topics: Table<1>,
}

impl Default for TrainingSet {
    fn default() -> TrainingSet {
        let one = || Table::new([EXAMPLE_WEIGHT]);
        TrainingSet { acts: Table::new(ACT_EXAMPLE_WEIGHTS), referents: one(), topics: one() }
    }
}

impl TrainingSet {
    /// Returns the examples of some meetings. The number of a meeting is its index among them.
    #[must_use]
    pub fn of(taught: &[Taught]) -> TrainingSet {
        let mut set = TrainingSet::default();
        taught.iter().enumerate().for_each(|(number, one)| set.add(number, &one.meeting));
        set
    }

    /// Adds a meeting under a number, and pieces of it, so that the weights also suit very short meetings.
    fn add(&mut self, number: usize, meeting: &Meeting) {
        let whole = meeting.material();
        let text = Text::of(&whole);
        let labelled = labelled(meeting, &text);
        self.add_acts(number, &whole, &text, |index| Act::ALL.map(|act| labelled.contains(&(index, act))));
        let said: BTreeSet<(&str, Act)> =
            labelled.iter().map(|(index, act)| (text.sentences[*index].text.as_str(), *act)).collect();
        let pieces = if number.is_multiple_of(PIECES_OF) { pieces(&whole, text.language()) } else { Vec::new() };
        for piece in pieces {
            let text = Text::of(&piece);
            let labels = |index: usize| {
                let own = text.sentences[index].text.as_str();
                Act::ALL.map(|act| said.contains(&(own, act)))
            };
            self.add_acts(number, &piece, &text, labels);
            self.add_topics(number, meeting, &text);
        }
        self.add_referents(number, meeting, &text);
        self.add_topics(number, meeting, &text);
    }

    /// Adds the phrases of a meeting, if its topics are labelled.
    fn add_topics(&mut self, number: usize, meeting: &Meeting, text: &Text) {
        if meeting.topics.is_empty() {
            return;
        }
        for (phrase, features) in with_features(text) {
            let features = features.iter().map(|feature| self.topics.number(feature)).collect();
            self.topics.add(number, features, [meeting.has_topic(&phrase)]);
        }
    }

    fn add_acts(
        &mut self,
        meeting: usize,
        material: &Material,
        text: &Text,
        labels: impl Fn(usize) -> [bool; Act::ALL.len()],
    ) {
        let names = Names::of(&material.people);
        let tracked = Tracked::of(text, material, &names, &by_rules(text).sentences);
        let features = Features::of(text, material, &names, tracked.matches());
        for index in 0..text.sentences.len() {
            let mut own = BTreeSet::new();
            let known = features.write(index, |feature| {
                own.insert(self.acts.number(feature));
            });
            if known.is_some() {
                self.acts.add(meeting, own, labels(index));
            }
        }
    }

    /// Adds the noun phrases before each labelled item.
    fn add_referents(&mut self, meeting: usize, labels: &Meeting, text: &Text) {
        let referents = Referents::of(text);
        for item in &labels.items {
            let label = Label::of(item);
            let Some(index) = label.quote.and_then(|quote| quoted(quote, text)) else { continue };
            let mut own: HashMap<NounPhrase, BTreeSet<u32>> = HashMap::new();
            referents.features(index, |place, feature| {
                own.entry(place.clone()).or_default().insert(self.referents.number(feature));
            });
            let mut own: Vec<(NounPhrase, BTreeSet<u32>)> = own.into_iter().collect();
            own.sort_by_key(|(place, _)| (place.sentence, place.words.start));
            for (place, features) in own {
                let tokens = &text.sentences[place.sentence].tokens[place.words];
                let said = tokens.iter().map(|token| token.lower.as_str()).collect::<Vec<_>>().join(" ");
                let is_meant = label.words.split(' ').any(|word| said.contains(&word.to_lowercase()));
                self.referents.add(meeting, features, [is_meant]);
            }
        }
    }

    /// Returns the lines of the files, learned from some of the meetings.
    pub fn learned(&self, is_taught: impl Fn(usize) -> bool) -> [String; 3] {
        let acts = "a task of the speaker's, one of nobody's, one of somebody else's, a decision, and no task";
        let referents = "a noun phrase being what a sentence is about";
        [
            self.acts.learned(acts, &is_taught),
            self.referents.learned(referents, &is_taught),
            self.topics.learned("a phrase being a topic", &is_taught),
        ]
    }
}

/// Cuts a meeting into pieces of one, two and three turns.
fn pieces(whole: &Material, language: &str) -> Vec<Material> {
    let mut chunks = whole.chunks.clone();
    chunks.sort_by_key(|chunk| chunk.start_ms);
    chunks.iter_mut().for_each(|chunk| chunk.language = Some(language.to_owned()));
    let turns: Vec<&[Chunk]> = chunks.chunk_by(|one, next| one.speaker_id == next.speaker_id).collect();
    let mut rest = &turns[..];
    let mut pieces = Vec::new();
    for count in (1..=PIECE_TURNS_MAX).cycle() {
        let (piece, behind) = rest.split_at(count.min(rest.len()));
        if piece.is_empty() {
            break;
        }
        pieces.push(Material { chunks: piece.concat(), ..whole.clone() });
        rest = behind;
    }
    pieces
}

/// Returns the labelled acts of a meeting, by the index of their sentence.
fn labelled(meeting: &Meeting, text: &Text) -> BTreeSet<(usize, Act)> {
    let decided = decided(meeting, text).into_iter().map(|index| (index, Act::Decision));
    let settled = meeting.items.iter().filter_map(|item| {
        let Label { owner, quote, .. } = Label::of(item);
        let index = quoted(quote?, text)?;
        let Source::Turn(turn) = text.sentences[index].source else { return None };
        let speaker = text.turns[turn].speaker_name.to_lowercase();
        let act = match owner {
            "-" => Act::Unassigned,
            owner if speaker.contains(&owner.to_lowercase()) => Act::Own,
            _ => Act::Others,
        };
        Some((index, act))
    });
    let mut labelled: BTreeSet<(usize, Act)> = settled.chain(decided).collect();
    let told: BTreeSet<usize> = labelled.iter().map(|(index, _)| *index).collect();
    let is_none = |index: &usize| {
        let sentence = &text.sentences[*index].text;
        !told.contains(index) && meeting.no_tasks.iter().any(|words| holds(sentence, words))
    };
    labelled.extend((0..text.sentences.len()).filter(is_none).map(|index| (index, Act::NoTask)));
    labelled
}

/// Returns the sentence that contains most of a quote.
fn quoted(quote: &str, text: &Text) -> Option<usize> {
    let quote = normalized(quote);
    let quote: Vec<&str> = quote.split(' ').collect();
    let shared = |sentence: &Sentence| longest_run(&quote, &normalized(&sentence.text)) as f64 / quote.len() as f64;
    let all = text.sentences.iter().map(shared).enumerate();
    // Of equals, the first one.
    let best = all.rev().max_by(|one, other| one.1.total_cmp(&other.1))?;
    (best.1 >= QUOTE_MIN).then_some(best.0)
}

/// Returns the length of the longest common run of words.
fn longest_run(words: &[&str], other: &str) -> usize {
    let mut before = vec![0; words.len() + 1];
    let mut longest = 0;
    for word in other.split(' ') {
        let mut runs = vec![0; words.len() + 1];
        for at in (0..words.len()).filter(|at| words[*at] == word) {
            runs[at + 1] = before[at] + 1;
            longest = longest.max(runs[at + 1]);
        }
        before = runs;
    }
    longest
}

/// Returns the sentences with a decision's words: of several, one that the rules find, or the last one that is not a
/// question.
fn decided(meeting: &Meeting, text: &Text) -> BTreeSet<usize> {
    let found = by_rules(text).sentences;
    let sentence = |words: &String| {
        let all = 0..text.sentences.len();
        all.filter(|index| holds(&text.sentences[*index].text, words))
            .max_by_key(|index| (found.contains(index), !is_question(&text.sentences[*index].text), *index))
    };
    meeting.decisions.iter().filter_map(sentence).collect()
}
