//! Chains made offline, drained at once and in parts, against what others did meanwhile.

use std::collections::BTreeSet;

use functions::notes::chain::{Chain, Committed};
use functions::notes::operation::{Operation, Rejection, Text};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::drafts::{Draft, Letters, draft, drafts, taken};

/// A base text, what others committed after it, and a chain made on the base; more is committed between its drains.
#[derive(Clone, Debug)]
struct Case {
    base: usize,
    committed: Vec<Draft>,
    /// Each drain takes these operations of the chain, after the others committed those.
    drains: Vec<(Vec<Draft>, Vec<Draft>)>,
}

fn case(drains: std::ops::Range<usize>) -> impl Strategy<Value = Case> {
    (0..12usize, drafts(0..6), prop::collection::vec((drafts(1..6), drafts(0..3)), drains))
        .prop_map(|(base, committed, drains)| Case { base, committed, drains })
}

/// A case played through: the client's side, and a log with the server's text.
struct Played {
    letters: Letters,
    deleted: BTreeSet<char>,
    /// The text as the client sees it.
    own: Text,
    server: Text,
    log: Vec<Operation>,
    /// Log entries of the chain itself, and those from which the second drain has to go on.
    own_entries: BTreeSet<usize>,
    chain: Vec<Operation>,
}

impl Played {
    fn begin(case: &Case) -> Played {
        let mut letters = Letters::default();
        let base = Text::from(letters.take(case.base).as_str());
        let mut played = Played {
            letters,
            deleted: BTreeSet::new(),
            own: base.clone(),
            server: base,
            log: Vec::new(),
            own_entries: BTreeSet::new(),
            chain: Vec::new(),
        };
        played.commit(&case.committed);
        played
    }

    fn commit(&mut self, drafts: &[Draft]) {
        for draft in drafts {
            let before = self.server.clone();
            let operation = draft.apply(&mut self.server, &mut self.letters);
            self.deleted.extend(taken(&before, operation.shape));
            self.log.push(operation);
        }
    }

    fn type_offline(&mut self, drafts: &[Draft]) -> Vec<Operation> {
        let mut made = Vec::new();
        for draft in drafts {
            let before = self.own.clone();
            let operation = draft.apply(&mut self.own, &mut self.letters);
            self.deleted.extend(taken(&before, operation.shape));
            made.push(operation);
        }
        self.chain.extend(made.clone());
        made
    }

    fn entries(&self, from: usize) -> Vec<Committed<usize>> {
        let entries = self.log.iter().enumerate().skip(from);
        entries.map(|(key, operation)| Committed { key, shape: operation.shape }).collect()
    }

    fn append(&mut self, piece: &Operation) -> Result<(), Rejection> {
        self.server.apply(piece)?;
        self.own_entries.insert(self.log.len());
        self.log.push(piece.clone());
        Ok(())
    }

    fn drain(&mut self, chain: &mut Chain<usize>, operations: &[Operation]) -> Result<(), Rejection> {
        for operation in operations {
            let walked = chain.walk(operation.shape, self.server.len())?;
            for piece in &walked.moved.pieces(operation.content.clone()) {
                self.append(piece)?;
            }
            chain.accept(walked);
        }
        Ok(())
    }

    /// The client's text once it has read what others did: the bridge leads there.
    fn own_after(&self, chain: &Chain<usize>) -> Text {
        let mut own = self.own.clone();
        for committed in chain.bridge() {
            let content = self.log[committed.key].content.clone();
            own.apply(&Operation { shape: committed.shape, content }).expect("a bridge fits the text it leaves from");
        }
        own
    }

    /// Every letter typed and not deleted by anybody, once.
    fn is_whole(&self) -> bool {
        let kept: BTreeSet<char> = self.letters.given().filter(|letter| !self.deleted.contains(letter)).collect();
        let text = String::from(&self.server);
        text.chars().count() == kept.len() && text.chars().collect::<BTreeSet<char>>() == kept
    }
}

/// Plays a case with a bridge that is stored after every drain and taken up by the next.
fn play(case: &Case) -> (Played, Chain<usize>) {
    let mut played = Played::begin(case);
    let mut chain = Chain::new(played.entries(0));
    for (typed, meanwhile) in &case.drains {
        let operations = played.type_offline(typed);
        played.drain(&mut chain, &operations).expect("what fits the client's text fits the chain");
        let (bridge, through) = (chain.bridge().to_vec(), played.log.len());
        played.commit(meanwhile);
        chain = Chain::new(bridge);
        chain.extend(played.entries(through));
    }
    (played, chain)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_500))]

    #[test]
    fn a_chain_drained_at_once_converges(case in case(1..2)) {
        let (played, chain) = play(&case);

        prop_assert_eq!(String::from(&played.own_after(&chain)), String::from(&played.server));
        prop_assert!(played.is_whole());
    }

    #[test]
    fn a_chain_drained_in_parts_converges(case in case(2..6)) {
        let (played, chain) = play(&case);

        prop_assert_eq!(String::from(&played.own_after(&chain)), String::from(&played.server));
        prop_assert!(played.is_whole());
        prop_assert_eq!(chain.length(played.server.len()), played.own.len());
    }

    #[test]
    fn single_and_multiple_drains_give_the_same_text_without_other_commits(case in case(1..2), part in 1..4usize) {
        let (at_once, _) = play(&case);
        let mut played = Played::begin(&case);
        let mut chain = Chain::new(played.entries(0));
        let operations = played.type_offline(&case.drains[0].0);
        for operations in operations.chunks(part) {
            played.drain(&mut chain, operations).unwrap();
            chain = Chain::new(chain.bridge().to_vec());
        }
        played.commit(&case.drains[0].1);

        prop_assert_eq!(String::from(&played.server), String::from(&at_once.server));
    }

    #[test]
    fn a_way_gone_in_two_parts_is_the_way_gone_at_once(case in case(1..2), cut in 0..6usize) {
        let mut played = Played::begin(&case);
        let entries = played.entries(0);
        let operations = played.type_offline(&case.drains[0].0);
        let (before, since) = entries.split_at(cut.min(entries.len()));
        let mut ahead = Chain::new(before.to_vec());
        let mut there = before.iter().fold(case.base, |length, entry| entry.shape.length_after(length));
        let mut moved = Vec::new();
        for operation in &operations {
            let walked = ahead.walk(operation.shape, there).unwrap();
            there = walked.moved.length_after(there);
            moved.push(walked.moved.clone());
            ahead.accept(walked);
        }
        let (mut whole, mut rest) = (Chain::new(entries.clone()), Chain::new(since.to_vec()));
        let mut today = played.server.len();
        for (operation, moved) in operations.iter().zip(moved) {
            let (at_once, in_parts) = (whole.walk(operation.shape, today).unwrap(), rest.carry(moved));
            prop_assert_eq!(&at_once.moved, &in_parts.moved);
            today = at_once.moved.length_after(today);
            whole.accept(at_once);
            rest.accept(in_parts);
        }
        prop_assert_eq!(whole.bridge(), [ahead.bridge(), rest.bridge()].concat());
    }

    #[test]
    fn an_operation_that_fails_counts_as_nothing_for_the_ones_after_it(
        case in case(1..2), broken in draft(), place in 0..6usize, beyond in 1..5usize
    ) {
        let (with_none, _) = play(&case);
        let mut played = Played::begin(&case);
        let mut chain = Chain::new(played.entries(0));
        let operations = played.type_offline(&case.drains[0].0);
        let place = place.min(operations.len());
        played.drain(&mut chain, &operations[..place]).unwrap();
        let behind_the_end = chain.length(played.server.len()) + beyond;
        let mut failing = broken.on(behind_the_end, &mut Letters::default());
        failing.shape.position = behind_the_end;
        prop_assert!(chain.walk(failing.shape, played.server.len()).is_err());
        played.drain(&mut chain, &operations[place..]).unwrap();
        played.commit(&case.drains[0].1);

        prop_assert_eq!(String::from(&played.server), String::from(&with_none.server));
    }
}

/// The share of random cases in which `wrong` is true.
fn share(strategy: impl Strategy<Value = Case>, wrong: impl Fn(&Case) -> bool) -> f64 {
    const CASES: u32 = 1_000;
    let mut runner = TestRunner::deterministic();
    let count = (0..CASES).filter(|_| wrong(&strategy.new_tree(&mut runner).expect("a case").current())).count();
    count as f64 / f64::from(CASES)
}

fn ours_is_wrong(case: &Case) -> bool {
    let (played, chain) = play(case);
    played.own_after(&chain) != played.server || !played.is_whole()
}

/// A chain of several operations that meets something, since any way is right about one that meets nothing.
fn contested(drains: usize) -> impl Strategy<Value = Case> {
    let parts = prop::collection::vec((drafts(2..6), drafts(0..3)), drains);
    (4..16usize, drafts(2..8), parts).prop_map(|(base, committed, drains)| Case { base, committed, drains })
}

#[test]
fn each_operation_alone_against_everything_since_the_base_is_wrong_in_most_cases_and_ours_in_none() {
    let naive_is_wrong = |case: &Case| {
        let mut played = Played::begin(case);
        let operations = played.type_offline(&case.drains[0].0);
        for operation in operations {
            // Against the whole log since the base, the siblings that were just appended included.
            let alone = Chain::new(played.entries(0));
            let Ok(walked) = alone.walk(operation.shape, played.server.len()) else {
                return true;
            };
            if walked.moved.pieces(operation.content).iter().any(|piece| played.append(piece).is_err()) {
                return true;
            }
        }
        played.commit(&case.drains[0].1);
        played.server != play(case).0.server
    };

    assert!(share(contested(1), naive_is_wrong) > 0.5);
    assert_eq!(share(contested(1), ours_is_wrong), 0.0);
}

#[test]
fn a_chain_of_two_drains_without_its_bridge_is_wrong_in_many_cases_and_with_it_in_none() {
    let without_bridge_is_wrong = |case: &Case| {
        let mut played = Played::begin(case);
        for (typed, meanwhile) in &case.drains {
            let operations = played.type_offline(typed);
            // Each drain begins at the base again, past what is not the chain's own.
            let mut others = played.entries(0);
            others.retain(|committed| !played.own_entries.contains(&committed.key));
            let mut chain = Chain::new(others);
            if played.drain(&mut chain, &operations).is_err() {
                return true;
            }
            played.commit(meanwhile);
        }
        played.server != play(case).0.server
    };

    assert!(share(contested(2), without_bridge_is_wrong) > 0.2);
    assert_eq!(share(contested(2), ours_is_wrong), 0.0);
}
