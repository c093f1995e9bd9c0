//! Matchings against an independent exact solver, and in every way of solving.

use std::collections::BTreeSet;

use functions::matching::assignment::{Assignment, Edge, Limits, Method, Node, assign};
use proptest::prelude::*;

/// The greatest total weight, by trying every set of nodes: independent of the crate that the product uses.
fn optimum(count: usize, edges: &[Edge]) -> i64 {
    let mut weights = vec![vec![0i64; count]; count];
    for edge in edges {
        let weight = weights[edge.a][edge.b].max(i64::from(edge.weight));
        (weights[edge.a][edge.b], weights[edge.b][edge.a]) = (weight, weight);
    }
    let mut best = vec![0i64; 1 << count];
    for set in 1..1usize << count {
        // The first node of the set stays alone or is matched with another one of it.
        let first = set.trailing_zeros() as usize;
        let rest = set & (set - 1);
        best[set] = best[rest];
        for other in (first + 1..count).filter(|other| rest & (1 << other) != 0) {
            best[set] = best[set].max(weights[first][other] + best[rest & !(1 << other)]);
        }
    }
    best[(1 << count) - 1]
}

fn nodes(count: usize) -> Vec<Node<usize>> {
    // Several wait equally long, so that ids decide as well.
    (0..count).map(|id| Node { since: (id as i64 * 7) % 4, id }).collect()
}

/// A graph of 2 … 11 nodes, from sparse to full, with weights that tie often or hardly ever.
fn graph() -> impl Strategy<Value = (usize, Vec<Edge>)> {
    let weight_max = prop_oneof![Just(3), Just(1_060_000)];
    (2..12usize, weight_max).prop_flat_map(|(count, max)| {
        let edge =
            (0..count, 1..count, 1..=max).prop_map(move |(a, step, weight)| Edge { a, b: (a + step) % count, weight });
        (Just(count), prop::collection::vec(edge, 0..count * (count - 1) / 2 + 1))
    })
}

/// No one twice, only along edges, and the total is what the pairs weigh.
fn assert_valid(assignment: &Assignment, edges: &[Edge]) {
    let mut seen = BTreeSet::new();
    let mut total = 0;
    for &(a, b) in &assignment.pairs {
        assert!(seen.insert(a) && seen.insert(b), "{a} or {b} is matched twice");
        let between = edges.iter().filter(|edge| (edge.a, edge.b) == (a, b) || (edge.a, edge.b) == (b, a));
        total += i64::from(between.map(|edge| edge.weight).max().expect("pairs are edges"));
    }
    assert_eq!(total, assignment.total_weight);
}

const THINNED: Limits = Limits { exact_nodes_max: 0, thinned_nodes_max: 100, best_edges: 2 };
const GREEDY: Limits = Limits { exact_nodes_max: 0, thinned_nodes_max: 0, best_edges: 3 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn the_total_weight_is_the_greatest_there_is((count, edges) in graph()) {
        let assignment = assign(&nodes(count), &edges, &Limits::default());

        assert_valid(&assignment, &edges);
        prop_assert_eq!(assignment.method, Method::Exact);
        prop_assert_eq!(assignment.total_weight, optimum(count, &edges));
    }

    #[test]
    fn a_thinned_or_greedy_matching_is_valid_and_not_far_from_the_best((count, edges) in graph()) {
        let best = optimum(count, &edges);
        for limits in [THINNED, GREEDY] {
            let assignment = assign(&nodes(count), &edges, &limits);

            assert_valid(&assignment, &edges);
            prop_assert!(assignment.total_weight <= best);
            // A greedy matching has at least half of the best weight, and improving never takes weight away.
            prop_assert!(assignment.total_weight * 2 >= best, "{:?} {}", assignment, best);
        }
    }

    #[test]
    fn no_exchange_is_left_that_would_add_weight((count, mut edges) in graph()) {
        // No two weights alike, so that what comes after the exchanges finds no tie to turn.
        for (index, edge) in edges.iter_mut().enumerate() {
            edge.weight = edge.weight * 64 + index as i32;
        }
        let weight = |a: usize, b: usize| {
            let between = edges.iter().filter(|edge| (edge.a, edge.b) == (a, b) || (edge.a, edge.b) == (b, a));
            between.map(|edge| edge.weight).max()
        };
        let assignment = assign(&nodes(count), &edges, &Limits { best_edges: 12, ..GREEDY });
        let matched: BTreeSet<usize> = assignment.pairs.iter().flat_map(|&(a, b)| [a, b]).collect();

        for (place, &(a, b)) in assignment.pairs.iter().enumerate() {
            let held = weight(a, b).unwrap_or_default();
            for free in (0..count).filter(|node| !matched.contains(node)) {
                prop_assert!(weight(a, free).max(weight(b, free)).is_none_or(|weight| weight <= held));
            }
            for &(c, d) in &assignment.pairs[place + 1..] {
                let both = held + weight(c, d).unwrap_or_default();
                for (one, other) in [(weight(a, c), weight(b, d)), (weight(a, d), weight(b, c))] {
                    prop_assert!(one.zip(other).is_none_or(|(one, other)| one + other <= both));
                }
            }
        }
    }

    #[test]
    fn nothing_is_lost_by_thinning_that_keeps_every_edge((count, edges) in graph()) {
        let all = assign(&nodes(count), &edges, &Limits { best_edges: 12, ..THINNED });

        prop_assert_eq!(all.total_weight, optimum(count, &edges));
    }

    #[test]
    fn the_order_in_which_users_and_edges_are_listed_changes_nothing(
        (count, edges) in graph(), shift in 0..12usize, way in 0..3usize
    ) {
        let limits = [Limits::default(), THINNED, GREEDY][way];
        let users = nodes(count);
        let turn = |node: usize| (node + shift) % count;
        let mut turned_users = users.clone();
        (0..count).for_each(|node| turned_users[turn(node)] = users[node].clone());
        let mut turned_edges: Vec<Edge> =
            edges.iter().rev().map(|edge| Edge { a: turn(edge.b), b: turn(edge.a), weight: edge.weight }).collect();
        let middle = turned_edges.len() / 2;
        turned_edges.rotate_left(middle);

        let here = assign(&users, &edges, &limits);
        let there = assign(&turned_users, &turned_edges, &limits);

        let turned: Vec<(usize, usize)> = here.pairs.iter().map(|&(a, b)| (turn(a), turn(b))).collect();
        prop_assert_eq!(turned, there.pairs);
    }

    #[test]
    fn longer_waiting_user_is_preferred_between_equal_pairs((count, edges) in graph()) {
        let users = nodes(count);
        let weight = |a: usize, b: usize| {
            let between = edges.iter().filter(|edge| (edge.a, edge.b) == (a, b) || (edge.a, edge.b) == (b, a));
            between.map(|edge| edge.weight).max()
        };
        let assignment = assign(&users, &edges, &Limits::default());
        let matched: BTreeSet<usize> = assignment.pairs.iter().flat_map(|&(a, b)| [a, b]).collect();

        for alone in (0..count).filter(|node| !matched.contains(node)) {
            for &(a, b) in &assignment.pairs {
                for (kept, left) in [(a, b), (b, a)] {
                    let same = weight(kept, alone).is_some() && weight(kept, alone) == weight(kept, left);
                    prop_assert!(!(same && users[alone] < users[left]), "{} for {}", alone, left);
                }
            }
        }
    }
}

/// Numbers that look random and are the same every time.
fn numbers() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(88_172_645_463_325_252_u64), |number| {
        let mut next = *number;
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        Some(next)
    })
    .map(|number| (number >> 16) as usize)
}

/// A connected graph with a perfect matching of edges heavier than all others, so that its best weight is known.
fn planted(count: usize, others: usize) -> (Vec<Edge>, i64) {
    let mut random = numbers();
    let mut next = |below: usize| random.next().expect("endless") % below;
    let mut edges: Vec<Edge> = (0..count / 2)
        .map(|pair| Edge { a: pair * 2, b: pair * 2 + 1, weight: 900_000 + next(160_000) as i32 })
        .collect();
    let best = edges.iter().map(|edge| i64::from(edge.weight)).sum();
    edges.extend((1..count).map(|node| Edge { a: node, b: next(node), weight: 600_000 }));
    edges.retain(|edge| edge.a / 2 != edge.b / 2 || edge.weight >= 900_000);
    let tied = (0..others).map(|_| (next(count), next(count), 600_000 + next(300_000) as i32));
    edges.extend(tied.filter(|(a, b, _)| a / 2 != b / 2).map(|(a, b, weight)| Edge { a, b, weight }));
    (edges, best)
}

#[test]
fn a_matching_that_was_planted_is_found_at_every_size() {
    for (count, others, method) in [
        (120, 3_000, Method::Exact),
        (400, 2_000, Method::Exact),
        (402, 2_000, Method::Thinned),
        (2_002, 9_000, Method::Greedy),
    ] {
        let (edges, best) = planted(count, others);

        let assignment = assign(&nodes(count), &edges, &Limits::default());

        assert_valid(&assignment, &edges);
        assert_eq!((assignment.method, assignment.total_weight), (method, best));
    }
}

#[test]
fn exchanges_improve_on_taking_the_heaviest_edge_first() {
    // The middle edge of a path is the heaviest, and its two neighbours together weigh more.
    let edges = [(0, 1, 6), (1, 2, 10), (2, 3, 6)].map(|(a, b, weight)| Edge { a, b, weight });

    assert_eq!(assign(&nodes(4), &edges, &GREEDY).total_weight, 12);

    // Two pairs that are better off with each other's partners.
    let edges = [(0, 1, 10), (2, 3, 2), (0, 2, 9), (1, 3, 9)].map(|(a, b, weight)| Edge { a, b, weight });

    assert_eq!(assign(&nodes(4), &edges, &GREEDY).total_weight, 18);
}
