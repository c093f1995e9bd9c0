//! The choice of pairs: a matching of maximum total weight in a general graph.
//!
//! The solution is exact per component up to a size. Larger components are thinned first, and the largest are matched
//! greedily and then improved. The result names the method. The same users and edges give the same pairs in any order.
//! `conditions` defines the edges and weights.

use std::collections::VecDeque;

use mwmatching::{Matching, SENTINEL};

/// A waiting user: `since` is the start of waiting (ms since the epoch), and the id breaks ties.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node<I> {
    pub since: i64,
    pub id: I,
}

/// Two nodes, by index, that may be matched. A weight of 0 or less means no edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub a: usize,
    pub b: usize,
    pub weight: i32,
}

/// The size limits of each method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most nodes of a component that is solved exactly.
    pub exact_nodes_max: usize,
    /// Most nodes of a component that is thinned and then solved exactly.
    pub thinned_nodes_max: usize,
    /// Number of each node's heaviest edges that thinning keeps.
    pub best_edges: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { exact_nodes_max: 400, thinned_nodes_max: 2_000, best_edges: 12 }
    }
}

/// The method of a run: the least exact one of all components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    Exact,
    Thinned,
    Greedy,
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Method::Exact => "exact",
            Method::Thinned => "thinned",
            Method::Greedy => "greedy",
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Pairs of node indexes. The longer-waiting node comes first in its pair, and the longest-waiting pair comes
    /// first.
    pub pairs: Vec<(usize, usize)>,
    pub total_weight: i64,
    pub method: Method,
}

/// Chooses pairs with the greatest total weight that the limits allow to find.
///
/// Among choices of equal weight, longer-waiting nodes and then smaller ids come first. Edges from a node to itself and
/// to missing nodes are ignored. Of two edges between the same nodes, the heavier one counts.
pub fn assign<I: Ord>(nodes: &[Node<I>], edges: &[Edge], limits: &Limits) -> Assignment {
    let mut by_rank: Vec<usize> = (0..nodes.len()).collect();
    by_rank.sort_by(|&a, &b| nodes[a].cmp(&nodes[b]));
    let graph = Graph::ranked(&by_rank, edges);
    let mut mates = vec![None; nodes.len()];
    let mut method = Method::Exact;
    for component in graph.components() {
        let used = method_for(component.len(), limits);
        match used {
            Method::Exact => solve_exactly(&graph, &component, &mut mates),
            Method::Thinned => {
                let thin = graph.thinned(limits.best_edges);
                thin.components_of(&component).iter().for_each(|part| solve_exactly(&thin, part, &mut mates));
                add_greedily(&graph, &component, &mut mates);
            }
            Method::Greedy => {
                add_greedily(&graph, &component, &mut mates);
                improve(&graph, &component, limits.best_edges, &mut mates);
            }
        }
        prefer_the_longer_waiting(&graph, &component, &mut mates);
        method = method.max(used);
    }
    assignment(&graph, &by_rank, &mates, method)
}

fn method_for(nodes: usize, limits: &Limits) -> Method {
    if nodes <= limits.exact_nodes_max {
        Method::Exact
    } else if nodes <= limits.thinned_nodes_max {
        Method::Thinned
    } else {
        Method::Greedy
    }
}

fn assignment(graph: &Graph, by_rank: &[usize], mates: &[Option<usize>], method: Method) -> Assignment {
    let ranks =
        mates.iter().enumerate().filter_map(|(rank, mate)| mate.filter(|mate| rank < *mate).map(|mate| (rank, mate)));
    let pairs: Vec<(usize, usize)> = ranks.collect();
    let total_weight = pairs.iter().map(|&(a, b)| i64::from(graph.weight(a, b).unwrap_or_default())).sum();
    let pairs = pairs.into_iter().map(|(a, b)| (by_rank[a], by_rank[b])).collect();
    Assignment { pairs, total_weight, method }
}

/// Edges between ranks (0 has waited longest), in both directions, sorted by the other rank.
struct Graph {
    edges: Vec<Vec<(usize, i32)>>,
}

impl Graph {
    fn ranked(by_rank: &[usize], edges: &[Edge]) -> Graph {
        let mut ranks = vec![0; by_rank.len()];
        by_rank.iter().enumerate().for_each(|(rank, &node)| ranks[node] = rank);
        let mut graph = Graph { edges: vec![Vec::new(); by_rank.len()] };
        for edge in edges {
            if edge.weight > 0 && edge.a != edge.b && edge.a.max(edge.b) < by_rank.len() {
                let (a, b) = (ranks[edge.a], ranks[edge.b]);
                graph.edges[a].push((b, edge.weight));
                graph.edges[b].push((a, edge.weight));
            }
        }
        for list in &mut graph.edges {
            list.sort_unstable_by_key(|&(other, weight)| (other, -weight));
            list.dedup_by_key(|(other, _)| *other);
        }
        graph
    }

    fn weight(&self, a: usize, b: usize) -> Option<i32> {
        let list = &self.edges[a];
        list.binary_search_by_key(&b, |&(other, _)| other).ok().map(|place| list[place].1)
    }

    /// Returns a node's heaviest edges, the heaviest first.
    fn best(&self, node: usize, count: usize) -> Vec<(usize, i32)> {
        let mut list = self.edges[node].clone();
        list.sort_by_key(|&(other, weight)| (-weight, other));
        list.truncate(count);
        list
    }

    /// Returns a graph with the edges that are among the `count` heaviest of one of their ends.
    fn thinned(&self, count: usize) -> Graph {
        let mut thin = Graph { edges: vec![Vec::new(); self.edges.len()] };
        for node in 0..self.edges.len() {
            for (other, weight) in self.best(node, count) {
                thin.edges[node].push((other, weight));
                thin.edges[other].push((node, weight));
            }
        }
        for list in &mut thin.edges {
            list.sort_unstable();
            list.dedup();
        }
        thin
    }

    /// Returns the sorted connected components with at least one edge.
    fn components(&self) -> Vec<Vec<usize>> {
        self.components_of(&(0..self.edges.len()).collect::<Vec<_>>())
    }

    /// Returns the components of the given nodes.
    fn components_of(&self, nodes: &[usize]) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.edges.len()];
        let mut components = Vec::new();
        for &start in nodes {
            if seen[start] || self.edges[start].is_empty() {
                continue;
            }
            seen[start] = true;
            let mut component = vec![start];
            let mut queue = VecDeque::from([start]);
            while let Some(node) = queue.pop_front() {
                for &(other, _) in &self.edges[node] {
                    if !std::mem::replace(&mut seen[other], true) {
                        component.push(other);
                        queue.push_back(other);
                    }
                }
            }
            component.sort_unstable();
            components.push(component);
        }
        components
    }

    /// Returns the edges inside a sorted component, each once.
    fn edges_of(&self, component: &[usize]) -> Vec<(usize, usize, i32)> {
        let forward = |&node: &usize| {
            self.edges[node]
                .iter()
                .filter(move |(other, _)| node < *other)
                .map(move |&(other, weight)| (node, other, weight))
        };
        component.iter().flat_map(forward).collect()
    }
}

/// Solves one component exactly by Edmonds' blossom algorithm with Galil's duals.
fn solve_exactly(graph: &Graph, component: &[usize], mates: &mut [Option<usize>]) {
    let place = |node: usize| component.binary_search(&node).expect("an edge of a component stays inside it");
    let edges = graph.edges_of(component).into_iter().map(|(a, b, weight)| (place(a), place(b), weight)).collect();
    for (index, mate) in Matching::new(edges).solve().into_iter().enumerate() {
        if mate != SENTINEL {
            mates[component[index]] = Some(component[mate]);
        }
    }
}

/// Adds the heaviest edge between two free nodes repeatedly.
fn add_greedily(graph: &Graph, component: &[usize], mates: &mut [Option<usize>]) {
    let mut edges = graph.edges_of(component);
    edges.sort_by_key(|&(a, b, weight)| (-weight, a, b));
    for (a, b, _) in edges {
        if mates[a].is_none() && mates[b].is_none() {
            pair(mates, a, b);
        }
    }
}

/// Improves a matching by local exchanges until none helps: a pair gives one node to a free node, or both nodes to two
/// free nodes, or two pairs swap partners. Every exchange adds weight, so the loop ends; a limit of rounds bounds its
/// time.
fn improve(graph: &Graph, component: &[usize], best_edges: usize, mates: &mut [Option<usize>]) {
    const ROUNDS_MAX: usize = 32;
    let best: Vec<Vec<(usize, i32)>> = component.iter().map(|&node| graph.best(node, best_edges)).collect();
    let best_of = |node: usize| component.binary_search(&node).map(|place| best[place].as_slice()).unwrap_or_default();
    for _ in 0..ROUNDS_MAX {
        let mut improved = false;
        for &node in component {
            improved |= exchange(graph, &best_of, node, mates);
        }
        if !improved {
            return;
        }
    }
}

/// Makes the most profitable exchange in which a matched node leaves its mate. Returns true if there was one.
fn exchange<'a>(
    graph: &Graph,
    best_of: &impl Fn(usize) -> &'a [(usize, i32)],
    node: usize,
    mates: &mut [Option<usize>],
) -> bool {
    let Some(mate) = mates[node] else {
        return false;
    };
    let held = graph.weight(node, mate).unwrap_or_default();
    let mut found: Option<(i32, usize, Option<usize>)> = None;
    for &(other, weight) in best_of(node) {
        if other == mate {
            continue;
        }
        // The new partner of the mate that is left: the node that is left on the other side, or a free node.
        let (lost, left) = match mates[other] {
            Some(abandoned) => {
                let lost = held + graph.weight(other, abandoned).unwrap_or_default();
                (lost, graph.weight(mate, abandoned).map(|gained| (abandoned, gained)))
            }
            None => (held, best_of(mate).iter().find(|(free, _)| *free != other && mates[*free].is_none()).copied()),
        };
        let gain = weight + left.map_or(0, |(_, gained)| gained) - lost;
        if gain > found.map_or(0, |(gain, _, _)| gain) {
            found = Some((gain, other, left.map(|(left, _)| left)));
        }
    }
    let Some((_, other, left)) = found else {
        return false;
    };
    if let Some(abandoned) = mates[other] {
        mates[abandoned] = None;
    }
    mates[mate] = None;
    pair(mates, node, other);
    if let Some(left) = left {
        pair(mates, mate, left);
    }
    true
}

/// Replaces a matched node by a free node that has waited longer, if the weight stays the same.
fn prefer_the_longer_waiting(graph: &Graph, component: &[usize], mates: &mut [Option<usize>]) {
    for &node in component {
        if mates[node].is_some() {
            continue;
        }
        let place = graph.edges[node].iter().find_map(|&(other, weight)| {
            let holder = mates[other]?;
            (holder > node && graph.weight(other, holder) == Some(weight)).then_some((other, holder))
        });
        if let Some((other, holder)) = place {
            mates[holder] = None;
            pair(mates, node, other);
        }
    }
}

fn pair(mates: &mut [Option<usize>], a: usize, b: usize) {
    mates[a] = Some(b);
    mates[b] = Some(a);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: i64) -> Vec<Node<i64>> {
        (0..count).map(|id| Node { since: id, id }).collect()
    }

    fn edge(a: usize, b: usize, weight: i32) -> Edge {
        Edge { a, b, weight }
    }

    #[test]
    fn the_heaviest_edge_gives_way_to_two_that_weigh_more_together() {
        let edges = [edge(0, 1, 6), edge(1, 2, 10), edge(2, 3, 6)];

        let assignment = assign(&nodes(4), &edges, &Limits::default());

        assert_eq!(assignment.pairs, [(0, 1), (2, 3)]);
        assert_eq!(assignment.total_weight, 12);
        assert_eq!(assignment.method, Method::Exact);
    }

    #[test]
    fn equal_weights_match_the_two_longest_waiting_users() {
        let alike = [edge(0, 1, 5), edge(1, 2, 5), edge(0, 2, 5)];
        let waiting = [Node { since: 30, id: 'a' }, Node { since: 10, id: 'c' }, Node { since: 10, id: 'b' }];

        let assignment = assign(&waiting, &alike, &Limits::default());

        assert_eq!(assignment.pairs, [(2, 1)]);
    }

    #[test]
    fn empty_input_and_invalid_edges_make_no_pair() {
        let none = Assignment { pairs: vec![], total_weight: 0, method: Method::Exact };

        assert_eq!(assign(&nodes(0), &[], &Limits::default()), none);
        assert_eq!(assign(&nodes(2), &[edge(0, 0, 5), edge(0, 1, 0), edge(1, 7, 5)], &Limits::default()), none);
    }

    #[test]
    fn whom_thinning_left_without_an_edge_is_still_matched() {
        // The heaviest edge of each node leads to node 0; thinning removes the edge between 2 and 3.
        let edges = [edge(0, 1, 10), edge(0, 2, 9), edge(0, 3, 8), edge(2, 3, 5)];
        let limits = Limits { exact_nodes_max: 3, best_edges: 1, ..Limits::default() };

        let assignment = assign(&nodes(4), &edges, &limits);

        assert_eq!(assignment.pairs, [(0, 1), (2, 3)]);
        assert_eq!(assignment.total_weight, 15);
    }

    #[test]
    fn a_component_over_a_limit_is_solved_the_next_way() {
        let path: Vec<Edge> = (0..5).map(|node| edge(node, node + 1, 5)).collect();
        let method = |exact_nodes_max, thinned_nodes_max| {
            assign(&nodes(6), &path, &Limits { exact_nodes_max, thinned_nodes_max, best_edges: 2 }).method.name()
        };

        assert_eq!(method(6, 6), "exact");
        assert_eq!(method(5, 6), "thinned");
        assert_eq!(method(5, 5), "greedy");
    }
}
