//! Lessons from the labelled meetings: for each sentence or phrase its clues, and what the labels say it tells.

use std::collections::{BTreeSet, HashMap};

use reading::action_items::hearing::Heard;
use reading::commitments::clauses::is_question;
use reading::decisions::told;
use reading::material::{Chunk, Material};
use reading::model::clues::Clues;
use reading::model::referents::{Place, Referents};
use reading::model::tellings::Telling;
use reading::people::Names;
use reading::text::sentences::{Sentence, Source, Text, normalized};
use reading::topics::with_clues;

use crate::corpus::{Label, Meeting, Taught, holds};
use crate::table::Table;

/// How much a lesson counts against the penalty of the weights.
const TRUST: f64 = 0.1;
/// The same for what sentences tell, chosen by how well each of it is told in meetings that were left out.
const TRUST_OF_TELLINGS: [f64; Telling::ALL.len()] = [0.05, 0.1, 0.1, 0.1, 0.04];
/// One in so many meetings is also learned in pieces.
const PIECES_OF: usize = 2;
/// The most turns of a piece of a meeting that is a lesson by itself.
const PIECE_TURNS_MAX: usize = 3;
/// How much of a quote a sentence must hold to be meant.
const QUOTE_MIN: f64 = 0.4;

/// What meetings teach.
pub struct Lessons {
    /// Of sentences, what they tell.
    tellings: Table<{ Telling::ALL.len() }>,
    /// Of sentences and a noun phrase before, whether that one is what they are about.
    referents: Table<1>,
    /// Of phrases, whether they are topics.
    topics: Table<1>,
}

impl Default for Lessons {
    fn default() -> Lessons {
        let one = || Table::new([TRUST]);
        Lessons { tellings: Table::new(TRUST_OF_TELLINGS), referents: one(), topics: one() }
    }
}

impl Lessons {
    /// The lessons of some meetings. A meeting's number is its place among them.
    #[must_use]
    pub fn of(taught: &[Taught]) -> Lessons {
        let mut lessons = Lessons::default();
        taught.iter().enumerate().for_each(|(number, one)| lessons.add(number, &one.meeting));
        lessons
    }

    /// Adds a meeting under a number, and pieces of it: what is said in a meeting of two sentences is to be read, too.
    fn add(&mut self, number: usize, meeting: &Meeting) {
        let whole = meeting.material();
        let text = Text::of(&whole);
        let labelled = labelled(meeting, &text);
        self.hear(number, &whole, &text, |index| Telling::ALL.map(|telling| labelled.contains(&(index, telling))));
        let said: BTreeSet<(&str, Telling)> =
            labelled.iter().map(|(index, telling)| (text.sentences[*index].text.as_str(), *telling)).collect();
        let pieces = if number.is_multiple_of(PIECES_OF) { pieces(&whole, text.language()) } else { Vec::new() };
        for piece in pieces {
            let text = Text::of(&piece);
            let tells = |index: usize| {
                let own = text.sentences[index].text.as_str();
                Telling::ALL.map(|telling| said.contains(&(own, telling)))
            };
            self.hear(number, &piece, &text, tells);
            self.name(number, meeting, &text);
        }
        self.look_back(number, meeting, &text);
        self.name(number, meeting, &text);
    }

    /// Which phrases are topics, where somebody has named some.
    fn name(&mut self, number: usize, meeting: &Meeting, text: &Text) {
        if meeting.topics.is_empty() {
            return;
        }
        for (phrase, clues) in with_clues(text) {
            let clues = clues.iter().map(|clue| self.topics.number(clue)).collect();
            self.topics.add(number, clues, [meeting.has_topic(&phrase)]);
        }
    }

    fn hear(
        &mut self,
        meeting: usize,
        material: &Material,
        text: &Text,
        tells: impl Fn(usize) -> [bool; Telling::ALL.len()],
    ) {
        let names = Names::of(&material.people);
        let heard = Heard::of(text, material, &names, &told(text).sentences);
        let clues = Clues::of(text, material, &names, heard.hints());
        for index in 0..text.sentences.len() {
            let mut own = BTreeSet::new();
            let known = clues.tell(index, |clue| {
                own.insert(self.tellings.number(clue));
            });
            if known.is_some() {
                self.tellings.add(meeting, own, tells(index));
            }
        }
    }

    /// Where the words stand that name what an item is about.
    fn look_back(&mut self, meeting: usize, labels: &Meeting, text: &Text) {
        let referents = Referents::of(text);
        for item in &labels.items {
            let label = Label::of(item);
            let Some(index) = label.quote.and_then(|quote| quoted(quote, text)) else { continue };
            let mut own: HashMap<Place, BTreeSet<u32>> = HashMap::new();
            referents.clues(index, |place, clue| {
                own.entry(place.clone()).or_default().insert(self.referents.number(clue));
            });
            let mut own: Vec<(Place, BTreeSet<u32>)> = own.into_iter().collect();
            own.sort_by_key(|(place, _)| (place.sentence, place.words.start));
            for (place, clues) in own {
                let tokens = &text.sentences[place.sentence].tokens[place.words];
                let said = tokens.iter().map(|token| token.lower.as_str()).collect::<Vec<_>>().join(" ");
                let is_meant = label.words.split(' ').any(|word| said.contains(&word.to_lowercase()));
                self.referents.add(meeting, clues, [is_meant]);
            }
        }
    }

    /// The lines of the files that some of the meetings teach.
    pub fn learned(&self, is_taught: impl Fn(usize) -> bool) -> [String; 3] {
        let tellings = "a task of the speaker's, one of nobody's, one of somebody else's, a decision, and no task";
        let referents = "a noun phrase being what a sentence is about";
        [
            self.tellings.learned(tellings, &is_taught),
            self.referents.learned(referents, &is_taught),
            self.topics.learned("a phrase being a topic", &is_taught),
        ]
    }
}

/// A meeting cut into pieces of one, two and three turns.
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

/// Which sentences tell what, as a meeting is labelled.
fn labelled(meeting: &Meeting, text: &Text) -> BTreeSet<(usize, Telling)> {
    let decided = decided(meeting, text).into_iter().map(|index| (index, Telling::Decision));
    let settled = meeting.items.iter().filter_map(|item| {
        let Label { owner, quote, .. } = Label::of(item);
        let index = quoted(quote?, text)?;
        let Source::Turn(turn) = text.sentences[index].source else { return None };
        let speaker = text.turns[turn].speaker_name.to_lowercase();
        let telling = match owner {
            "-" => Telling::Nobodys,
            owner if speaker.contains(&owner.to_lowercase()) => Telling::Own,
            _ => Telling::Others,
        };
        Some((index, telling))
    });
    let mut labelled: BTreeSet<(usize, Telling)> = settled.chain(decided).collect();
    let told: BTreeSet<usize> = labelled.iter().map(|(index, _)| *index).collect();
    let is_none = |index: &usize| {
        let sentence = &text.sentences[*index].text;
        !told.contains(index) && meeting.no_tasks.iter().any(|words| holds(sentence, words))
    };
    labelled.extend((0..text.sentences.len()).filter(is_none).map(|index| (index, Telling::Nothing)));
    labelled
}

/// The sentence that holds most of a quote.
fn quoted(quote: &str, text: &Text) -> Option<usize> {
    let quote = normalized(quote);
    let quote: Vec<&str> = quote.split(' ').collect();
    let shared = |sentence: &Sentence| longest_run(&quote, &normalized(&sentence.text)) as f64 / quote.len() as f64;
    let all = text.sentences.iter().map(shared).enumerate();
    // Of equals the first.
    let best = all.rev().max_by(|one, other| one.1.total_cmp(&other.1))?;
    (best.1 >= QUOTE_MIN).then_some(best.0)
}

/// How many words in a row two texts share at most.
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

/// The sentences that hold a decision's words: of several one that the rules find, or the last that asks nothing.
fn decided(meeting: &Meeting, text: &Text) -> BTreeSet<usize> {
    let found = told(text).sentences;
    let sentence = |words: &String| {
        let all = 0..text.sentences.len();
        all.filter(|index| holds(&text.sentences[*index].text, words))
            .max_by_key(|index| (found.contains(index), !is_question(&text.sentences[*index].text), *index))
    };
    meeting.decisions.iter().filter_map(sentence).collect()
}
