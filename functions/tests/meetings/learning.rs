//! Learns from the labelled meetings what the clues of a sentence, or of a phrase, speak for.
//!
//! For each thing that they can tell a logistic regression with squared weights as its penalty, by rounds over the
//! clues, each of which goes a step that cannot be too long. The same meetings, phrases and senses give the same weights.
//! Held out meetings teach nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use functions::reading::action_items::hearing::Heard;
use functions::reading::clues::Clues;
use functions::reading::commitments::clauses::is_question;
use functions::reading::decisions::told;
use functions::reading::material::{Chunk, Material};
use functions::reading::people::Names;
use functions::reading::referents::{Place, Referents};
use functions::reading::tellings::Telling;
use functions::reading::text::{Sentence, Source, Text, normalized};
use functions::reading::topics::with_clues;

use crate::scoring::{Label, Meeting, holds, is_apt, material};

/// How much a lesson counts against the penalty of the weights.
const TRUST: f64 = 0.1;
/// The same for what sentences tell, chosen by how well each of it is told in meetings that were left out.
const TRUST_OF_TELLINGS: [f64; Telling::ALL.len()] = [0.05, 0.1, 0.1, 0.1, 0.04];
/// Lessons that a clue must stand in.
const LESSONS_MIN: usize = 4;
const ROUNDS: usize = 25;
/// Every so many rounds all clues go on, in between those that went far enough.
const ALL_ROUNDS: usize = 6;
/// How far that is.
const STEP_MIN: f64 = 0.01;
/// One in so many meetings is also learned in pieces.
const PIECES_OF: usize = 2;
/// The most turns of a piece of a meeting that is a lesson by itself.
const PIECE_TURNS_MAX: usize = 3;
/// The smallest weight that is kept, hundredths.
const WEIGHT_MIN: f64 = 2.0;
/// How much of a quote a sentence must hold to be meant.
const QUOTE_MIN: f64 = 0.4;

/// What meetings teach.
pub(crate) struct Lessons {
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
    /// Adds a meeting under a number, and pieces of it: what is said in a meeting of two sentences is to be read, too.
    pub(crate) fn add(&mut self, number: usize, meeting: &Meeting) {
        let whole = material(meeting);
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
            self.topics.add(number, clues, [is_apt(&phrase, meeting)]);
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
        let heard = Heard::of(text, material, &names);
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
    pub(crate) fn learned(&self, is_taught: impl Fn(usize) -> bool) -> [String; 3] {
        let tellings = "a task of the speaker's, one of nobody's, one of somebody else's, a decision, and no task";
        let referents = "a noun phrase being what a sentence is about";
        [
            self.tellings.learned(tellings, &is_taught),
            self.referents.learned(referents, &is_taught),
            self.topics.learned("a phrase being a topic", &is_taught),
        ]
    }
}

/// What is to be told apart, with its clues.
struct Table<const COLUMNS: usize> {
    /// The number of each clue.
    clues: BTreeMap<String, u32>,
    lessons: Vec<Lesson<COLUMNS>>,
    trust: [f64; COLUMNS],
}

struct Lesson<const COLUMNS: usize> {
    meeting: usize,
    clues: Vec<u32>,
    tells: [bool; COLUMNS],
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    fn new(trust: [f64; COLUMNS]) -> Table<COLUMNS> {
        Table { clues: BTreeMap::new(), lessons: Vec::new(), trust }
    }

    fn number(&mut self, clue: &str) -> u32 {
        let next = u32::try_from(self.clues.len()).unwrap();
        let known = self.clues.get(clue).copied();
        known.unwrap_or_else(|| *self.clues.entry(clue.to_owned()).or_insert(next))
    }

    fn add(&mut self, meeting: usize, clues: BTreeSet<u32>, tells: [bool; COLUMNS]) {
        self.lessons.push(Lesson { meeting, clues: clues.into_iter().collect(), tells });
    }

    /// The weights as the lines of their file, by clue.
    fn learned(&self, what: &str, is_taught: impl Fn(usize) -> bool) -> String {
        let lessons: Vec<&Lesson<COLUMNS>> = self.lessons.iter().filter(|lesson| is_taught(lesson.meeting)).collect();
        let mut having: Vec<Vec<u32>> = vec![Vec::new(); self.clues.len()];
        for (index, lesson) in (0..).zip(&lessons) {
            lesson.clues.iter().for_each(|clue| having[*clue as usize].push(index));
        }
        having.iter_mut().filter(|of| of.len() < LESSONS_MIN).for_each(Vec::clear);
        let columns: Vec<Vec<f64>> = (0..COLUMNS)
            .map(|column| {
                let tells: Vec<bool> = lessons.iter().map(|one| one.tells[column]).collect();
                weights(&having, &tells, self.trust[column])
            })
            .collect();
        let mut lines = format!("# How much a clue speaks for {what}, in hundredths.\n# Learned; see `weights.rs`.\n");
        for (clue, number) in &self.clues {
            let own = columns.iter().map(|column| (column[*number as usize] * 100.0).round());
            let own: Vec<f64> = own.map(|weight| if weight.abs() < WEIGHT_MIN { 0.0 } else { weight }).collect();
            if own.iter().any(|weight| *weight != 0.0) {
                own.iter().for_each(|weight| write!(lines, "{}\t", *weight as i32).unwrap());
                writeln!(lines, "{clue}").unwrap();
            }
        }
        lines
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

/// The weight of each clue by the lessons that have it.
fn weights(having: &[Vec<u32>], tells: &[bool], trust: f64) -> Vec<f64> {
    let mut clues: Vec<Clue> = having.iter().map(|_| Clue { weight: 0.0, reach: 1.0, step: 1.0 }).collect();
    let mut sums = vec![0.0_f64; tells.len()];
    for round in 0..ROUNDS {
        for (clue, lessons) in clues.iter_mut().zip(having).filter(|(_, lessons)| !lessons.is_empty()) {
            // Most have soon come to rest.
            if round % ALL_ROUNDS != 0 && clue.step.abs() < STEP_MIN {
                continue;
            }
            let (mut slope, mut bend) = (clue.weight, 1.0);
            // Within reach the curve bends at most so much more than here.
            let more = clue.reach.exp();
            for lesson in lessons {
                let lesson = *lesson as usize;
                let likelihood = 1.0 / (1.0 + f64::exp(-sums[lesson]));
                slope += if tells[lesson] { trust * (likelihood - 1.0) } else { trust * likelihood };
                bend += trust * (likelihood * (1.0 - likelihood) * more).min(0.25);
            }
            clue.step = (slope / bend).clamp(-clue.reach, clue.reach);
            clue.reach = (2.0 * clue.step.abs()).max(clue.reach / 2.0);
            clue.weight -= clue.step;
            for lesson in lessons {
                sums[*lesson as usize] -= clue.step;
            }
        }
    }
    clues.into_iter().map(|clue| clue.weight).collect()
}

/// How far a clue is learned.
struct Clue {
    weight: f64,
    /// How far it may go in the next round.
    reach: f64,
    /// How far it went in the last one.
    step: f64,
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
