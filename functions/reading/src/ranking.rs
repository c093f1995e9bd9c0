//! The most central sentences: TextRank.
//!
//! Mihalcea and Tarau, "TextRank: Bringing order into texts" (EMNLP 2004): sentences are nodes, two are joined by their
//! shared words over the logarithms of their lengths, and a walk along the edges visits the central ones most.
//!
//! The number of edges grows with the square of the sentences, so at most [`NODES_MAX`] of them take part: the text is
//! divided into `STRETCHES` equal parts, and the sentences with the most frequent words of each part are selected. A
//! day of talk costs no more than an hour, and no part of it is omitted.

use std::collections::HashSet;

use crate::text::sentences::{Source, Text, WordClass};

/// Most sentences that are compared with each other.
pub const NODES_MAX: usize = 600;
/// Number of parts of the text with equal shares.
const STRETCHES: usize = 12;

/// Probability of following an edge rather than starting again.
const DAMPING: f64 = 0.85;
/// Change of every score below which the iteration ends.
const TOLERANCE: f64 = 1e-4;
/// Most iterations; a few dozen are usually sufficient.
const ROUNDS_MAX: usize = 100;

/// Fewest words of a quotable sentence.
const WORDS_MIN: usize = 4;
/// Fewest content words of a quotable sentence.
const CONTENT_MIN: usize = 2;

/// Returns the quotable sentences with their rank, in the order of the text. Of equal sentences only the first takes
/// part.
#[must_use]
pub fn ranks(text: &Text) -> Vec<(usize, f64)> {
    let nodes = bounded(nodes(text), text);
    let edges = edges(&nodes);
    let scores = converged(&edges);
    nodes.iter().map(|node| node.sentence).zip(scores).collect()
}

struct Node {
    sentence: usize,
    /// Distinct content terms, ascending.
    terms: Vec<u32>,
    /// Natural logarithm of the number of words.
    log_length: f64,
}

fn nodes(text: &Text) -> Vec<Node> {
    let mut seen = HashSet::new();
    let mut nodes = Vec::new();
    for (sentence, cut) in text.sentences.iter().enumerate() {
        let mut terms: Vec<u32> =
            cut.words.iter().filter(|word| word.class == WordClass::Content).map(|word| word.term).collect();
        terms.sort_unstable();
        terms.dedup();
        let is_task = matches!(cut.source, Source::OpenTask | Source::DoneTask);
        if cut.words.len() < WORDS_MIN || terms.len() < CONTENT_MIN || is_task {
            continue;
        }
        if seen.insert(cut.words.iter().map(|word| word.term).collect::<Vec<_>>()) {
            nodes.push(Node { sentence, terms, log_length: (cut.words.len() as f64).ln() });
        }
    }
    nodes
}

/// Returns at most [`NODES_MAX`] of the nodes, equally many from every stretch of the text.
fn bounded(nodes: Vec<Node>, text: &Text) -> Vec<Node> {
    if nodes.len() <= NODES_MAX {
        return nodes;
    }
    let mut frequency = vec![0_u32; text.terms as usize];
    for term in nodes.iter().flat_map(|node| &node.terms) {
        frequency[*term as usize] += 1;
    }
    // The mean, so that long sentences have no advantage.
    let weight = |node: &Node| {
        let logs: f64 = node.terms.iter().map(|term| f64::from(frequency[*term as usize]).ln()).sum();
        logs / node.terms.len() as f64
    };
    let width = nodes.len().div_ceil(STRETCHES);
    let mut kept: HashSet<usize> = HashSet::new();
    for stretch in nodes.chunks(width) {
        let mut ranked: Vec<(f64, usize)> = stretch.iter().map(|node| (weight(node), node.sentence)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        kept.extend(ranked.iter().take(NODES_MAX / STRETCHES).map(|(_, sentence)| *sentence));
    }
    nodes.into_iter().filter(|node| kept.contains(&node.sentence)).collect()
}

/// Returns the neighbours of every node, with the weights of the edges.
fn edges(nodes: &[Node]) -> Vec<Vec<(usize, f64)>> {
    let mut edges = vec![Vec::new(); nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        for (j, other) in nodes.iter().enumerate().skip(i + 1) {
            let shared = shared(&node.terms, &other.terms);
            if shared > 0 {
                // Sentences have at least four words, so the sum of the logarithms is not 0.
                let weight = shared as f64 / (node.log_length + other.log_length);
                edges[i].push((j, weight));
                edges[j].push((i, weight));
            }
        }
    }
    edges
}

/// Counts the common numbers of two ascending lists.
fn shared(left: &[u32], right: &[u32]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < left.len() && j < right.len() {
        match left[i].cmp(&right[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                shared += 1;
                i += 1;
                j += 1;
            }
        }
    }
    shared
}

/// Returns the scores after convergence.
fn converged(edges: &[Vec<(usize, f64)>]) -> Vec<f64> {
    let outgoing: Vec<f64> = edges.iter().map(|to| to.iter().map(|(_, weight)| weight).sum()).collect();
    let mut scores = vec![1.0; edges.len()];
    for _ in 0..ROUNDS_MAX {
        let next: Vec<f64> = edges
            .iter()
            .map(|to| {
                let received: f64 = to.iter().map(|(from, weight)| weight / outgoing[*from] * scores[*from]).sum();
                (1.0 - DAMPING) + DAMPING * received
            })
            .collect();
        let moved = scores.iter().zip(&next).map(|(old, new): (&f64, &f64)| (old - new).abs()).fold(0.0, f64::max);
        scores = next;
        if moved < TOLERANCE {
            break;
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::material::{Chunk, Material};

    fn said(lines: &[String]) -> Text {
        let chunk = |line: &String| Chunk { text: line.clone(), language: Some("en".to_owned()), ..Chunk::default() };
        Text::of(&Material { chunks: lines.iter().map(chunk).collect(), ..Material::default() })
    }

    fn lines(of: &[&str]) -> Vec<String> {
        of.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn the_sentence_that_shares_most_with_the_others_ranks_highest() {
        let text = said(&lines(&[
            "The database needs a larger disk.",
            "The budget covers one larger disk.",
            "A larger disk for the database fits the budget.",
            "Somebody baked wonderful cookies yesterday evening.",
        ]));
        let ranks = ranks(&text);
        let best = ranks.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(best.0, 2);
        let alone = ranks.iter().find(|rank| rank.0 == 3).unwrap();
        assert!(
            (alone.1 - (1.0 - DAMPING)).abs() < 1e-9,
            "a sentence without neighbours has the chance of a new start"
        );
    }

    #[test]
    fn two_equal_neighbours_have_the_rank_of_one() {
        // The fixed point of s = 0.15 + 0.85 s is 1.
        for score in converged(&[vec![(1, 0.7)], vec![(0, 0.7)]]) {
            assert!((score - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_star_settles_at_its_fixed_point() {
        // Centre c, leaves l: c = .15 + .85 · 3 l, l = .15 + .85 c / 3.
        let star = [vec![(1, 1.0), (2, 1.0), (3, 1.0)], vec![(0, 1.0)], vec![(0, 1.0)], vec![(0, 1.0)]];
        let centre = (0.15 + 0.85 * 3.0 * 0.15) / (1.0 - 0.85 * 0.85);
        assert!((converged(&star)[0] - centre).abs() < 1e-3);
    }

    #[test]
    fn short_and_repeated_sentences_take_no_part() {
        let text = said(&lines(&[
            "Yes.",
            "The vendor changed the contract.",
            "The vendor changed the contract.",
            "And so on and on.",
        ]));
        let sentences: Vec<usize> = ranks(&text).into_iter().map(|rank| rank.0).collect();
        assert_eq!(sentences, [1]);
    }

    #[test]
    fn a_long_text_is_thinned_evenly() {
        let many: Vec<String> = (0..5000)
            .map(|i| format!("Topic{} meets subject{} in the large plan.", letters(i), letters(i / 7)))
            .collect();
        let sentences: Vec<usize> = ranks(&said(&many)).into_iter().map(|rank| rank.0).collect();
        assert!(sentences.len() <= NODES_MAX);
        for stretch in 0..STRETCHES {
            let part = stretch * 5000 / STRETCHES..(stretch + 1) * 5000 / STRETCHES;
            assert!(sentences.iter().any(|sentence| part.contains(sentence)));
        }
    }

    fn letters(number: usize) -> String {
        number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
    }

    proptest! {
        #[test]
        fn scores_are_finite_and_at_least_that_of_a_new_start(
            weights in prop::collection::vec((0usize..12, 0usize..12, 0.01..5.0f64), 0..40)
        ) {
            let mut edges = vec![Vec::new(); 12];
            for (i, j, weight) in weights {
                if i != j {
                    edges[i].push((j, weight));
                    edges[j].push((i, weight));
                }
            }
            for score in converged(&edges) {
                prop_assert!(score.is_finite() && score >= 1.0 - DAMPING - 1e-9);
            }
        }
    }
}
