//! Many concurrent clients: all end with the same text.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use convoke::testing::TestCaller;
use functions::notes::chain::{Chain, Committed};
use functions::notes::operation::{Operation, Text};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::drafts::{Draft, Letters, carry, draft, drafts, taken};
use super::room::{Room, logged, offline, sent, unlimited};
use crate::support::{cases, with};

/// A client with at most one operation in flight, which reads the log in order and buffers the rest.
struct Client<'app> {
    caller: TestCaller<'app>,
    name: usize,
    text: Text,
    seen: usize,
    made: usize,
    in_flight: Option<InFlight>,
    buffer: Vec<Operation>,
}

struct InFlight {
    id: String,
    args: Value,
    /// The sequence of its response, once it arrived.
    operations: Vec<Operation>,
}

/// An event of a client.
#[derive(Clone, Debug)]
enum Event {
    Edit(Draft),
    /// Sends the operation in flight, or the next one of the buffer; the response may get lost, so that it is sent
    /// again.
    Send,
    /// Reads this number of log entries.
    Read(usize),
}

fn event() -> impl Strategy<Value = (usize, Event)> {
    let event = prop_oneof![
        3 => draft().prop_map(Event::Edit),
        3 => Just(Event::Send),
        2 => (0..4usize).prop_map(Event::Read),
    ];
    (0..3usize, event)
}

impl Client<'_> {
    fn edit(&mut self, draft: Draft, letters: &mut Letters, deleted: &mut BTreeSet<char>) {
        let operation = draft.on(self.text.len(), letters);
        deleted.extend(taken(&self.text, operation.shape));
        self.text.apply(&operation).expect("a draft fits its text");
        self.buffer.push(operation);
    }

    fn send(&mut self, room: &Room<'_>) {
        if self.in_flight.is_none() {
            if self.buffer.is_empty() {
                return;
            }
            let operation = self.buffer.remove(0);
            self.made += 1;
            let id = format!("{}-{}", self.name, self.made);
            let args = json!({"clientSequence": self.seen, "operationId": id, "operation": sent(&operation)});
            self.in_flight = Some(InFlight { id, args, operations: vec![operation] });
        }
        if let Some(in_flight) = &self.in_flight {
            room.apply_with(&self.caller, in_flight.args.clone()).value();
        }
    }

    fn read(&mut self, log: &[Value], count: usize) {
        for entry in log.iter().skip(self.seen).take(count) {
            self.seen += 1;
            let own = self.in_flight.as_ref().is_some_and(|in_flight| entry["operationId"] == in_flight.id.as_str());
            if own {
                // The other pieces of a split have no id; they follow immediately, in the same version.
                let version = &entry["version"];
                let pieces = log.iter().skip(self.seen).take_while(|entry| entry["version"] == *version).count();
                self.seen += pieces;
                self.in_flight = None;
                return;
            }
            let theirs = logged(entry);
            let mut shapes = vec![theirs.shape];
            if let Some(in_flight) = &mut self.in_flight {
                shapes = shapes.into_iter().flat_map(|shape| carry(&mut in_flight.operations, shape)).collect();
            }
            shapes = shapes.into_iter().flat_map(|shape| carry(&mut self.buffer, shape)).collect();
            for shape in shapes {
                self.text
                    .apply(&Operation { shape, content: theirs.content.clone() })
                    .expect("what comes from the log fits");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(48), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn clients_with_one_operation_in_flight_end_with_the_servers_text(
        events in prop::collection::vec(event(), 20..60),
    ) {
        let app = unlimited();
        let room = Room::new(&app);
        let mut letters = Letters::default();
        let mut deleted = BTreeSet::new();
        let mut clients: Vec<Client<'_>> = [&room.ada, &room.ben, &room.ben]
            .into_iter()
            .enumerate()
            .map(|(name, caller)| Client {
                caller: caller.clone(), name, text: Text::default(), seen: 0, made: 0, in_flight: None,
                buffer: Vec::new(),
            })
            .collect();
        for (who, event) in events {
            let client = &mut clients[who];
            match event {
                Event::Edit(draft) => client.edit(draft, &mut letters, &mut deleted),
                Event::Send => client.send(&room),
                Event::Read(count) => client.read(&room.log(), count),
            }
        }
        for client in &mut clients {
            loop {
                client.send(&room);
                client.read(&room.log(), usize::MAX);
                if client.in_flight.is_none() && client.buffer.is_empty() {
                    break;
                }
            }
        }
        let log = room.log();
        let text = room.text();
        for client in &mut clients {
            client.read(&log, usize::MAX);
            prop_assert_eq!(String::from(&client.text), text.as_str());
        }
        prop_assert_eq!(room.replayed(), text.as_str());
        let kept: BTreeSet<char> = text.chars().collect();
        prop_assert_eq!(kept.len(), text.chars().count(), "no insertion is there twice");
        let expected: BTreeSet<char> = letters.given().filter(|letter| !deleted.contains(letter)).collect();
        prop_assert_eq!(kept, expected, "what was inserted is there unless somebody deleted it");
    }
}

/// An event while a client is offline, and afterwards.
#[derive(Clone, Debug)]
enum Turn {
    /// Another user edits the current text.
    Online(Draft),
    /// The client sends this number of further operations in one call, perhaps twice, perhaps all of them again.
    Queue(usize, Again),
    /// The client requests a drain of this number.
    Sync(usize),
    /// A second passes.
    Wait,
}

#[derive(Clone, Copy, Debug)]
enum Again {
    Never,
    Call,
    All,
}

fn turn() -> impl Strategy<Value = Turn> {
    let again = prop_oneof![Just(Again::Never), Just(Again::Call), Just(Again::All)];
    prop_oneof![
        3 => draft().prop_map(Turn::Online),
        3 => (1..5usize, again).prop_map(|(count, again)| Turn::Queue(count, again)),
        2 => (1..6usize).prop_map(Turn::Sync),
        1 => Just(Turn::Wait),
    ]
}

/// An operation of the chain; some do not fit their text.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub operation: Operation,
    fits: bool,
}

/// A chain made on `text`: every valid operation was made on the result of the ones before it.
pub(super) fn made(text: &str, drafts: &[(Draft, bool)], letters: &mut Letters) -> Vec<Made> {
    let mut text = Text::from(text);
    drafts
        .iter()
        .map(|(draft, fits)| match fits {
            true => Made { operation: draft.apply(&mut text, letters), fits: true },
            false => Made { operation: Operation::delete(text.len(), 1), fits: false },
        })
        .collect()
}

/// The expected notes: the chain transformed past the other log entries, in the order of the log.
///
/// The log shows the order of the chain's operations; their entries are recomputed from the client's operations.
pub(super) fn expected(base: &str, chain: &[Made], log: &[Value]) -> String {
    let mut text = Text::from(base);
    let mut walk: Chain<usize> = Chain::new([]);
    let mut own = chain.iter().filter(|made| made.fits);
    let mut entries = log.iter().peekable();
    let is_own = |entry: &Value| entry["operationId"].as_str().is_some_and(|id| id.starts_with("c/"));
    while let Some(entry) = entries.next() {
        if !is_own(entry) {
            let operation = logged(entry);
            text.apply(&operation).expect("an entry fits");
            walk.extend([Committed { key: 0, shape: operation.shape }]);
            continue;
        }
        let operation = own.next().expect("nothing is applied twice").operation.clone();
        let walked = walk.walk(operation.shape, text.len()).expect("the chain fits its own text");
        let pieces = walked.moved.pieces(operation.content);
        for piece in &pieces {
            text.apply(piece).expect("a walked piece fits");
        }
        for _ in 1..pieces.len() {
            entries.next();
        }
        walk.accept(walked);
    }
    String::from(&text)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(64), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chain_across_calls_and_drains_preserves_the_clients_intent(
        before in drafts(0..6),
        offline_drafts in prop::collection::vec((draft(), prop::bool::weighted(0.9)), 1..16),
        turns in prop::collection::vec(turn(), 4..24),
    ) {
        let app = unlimited();
        let room = Room::new(&app);
        let mut letters = Letters::default();
        for draft in before {
            edit(&room, draft, &mut letters);
        }
        let (base, base_text) = (room.notes()["sequence"].clone(), room.text());
        let chain = made(&base_text, &offline_drafts, &mut letters);
        let all: Vec<Value> = chain
            .iter()
            .enumerate()
            .map(|(place, made)| {
                let sequence = i64::try_from(place).expect("few");
                offline("c", &format!("o{place}"), sequence, sent(&made.operation))
            })
            .collect();
        let mut queued = 0;
        let queue = |queued: &mut usize, count: usize, again: Again| {
            let until = (*queued + count).min(all.len());
            let from = if matches!(again, Again::All) { 0 } else { *queued };
            let call = json!(all[from..until]);
            room.queue(&room.ben, "c", call.clone(), json!({"baseSequence": base})).value();
            if matches!(again, Again::Call) {
                let repeated = room.queue(&room.ben, "c", call, json!({"baseSequence": base}));
                assert_eq!(repeated.value()["queued"], 0);
            }
            *queued = until;
        };
        for turn in turns {
            match turn {
                Turn::Online(draft) => edit(&room, draft, &mut letters),
                Turn::Queue(count, again) => queue(&mut queued, count, again),
                Turn::Sync(count) => {
                    room.of_queue(&room.ben, "c", "syncOfflineOperations", json!({"maxOperations": count}));
                }
                Turn::Wait => app.advance(Duration::from_secs(1)),
            }
        }
        queue(&mut queued, all.len(), Again::All);
        app.advance(Duration::from_secs(1));

        let log = room.log();
        let since: Vec<Value> = log.iter().skip(base.as_u64().map_or(0, |base| base as usize)).cloned().collect();
        prop_assert_eq!(room.text(), expected(&base_text, &chain, &since));
        prop_assert_eq!(room.replayed(), room.text());
        let ids: Vec<&str> = log.iter().filter_map(|entry| entry["operationId"].as_str()).collect();
        prop_assert_eq!(ids.len(), chain.iter().filter(|made| made.fits).count(), "nothing is lost");
        prop_assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "nothing is applied twice");
        let status = room.of_queue(&room.ben, "c", "getOfflineQueueStatus", json!({}));
        prop_assert_eq!(&status["failed"], chain.iter().filter(|made| !made.fits).count());
        prop_assert_eq!(&status["pending"], 0);
    }
}

/// Ada edits the current text.
fn edit(room: &Room<'_>, draft: Draft, letters: &mut Letters) {
    let notes = room.notes();
    let length = notes["content"].as_str().expect("content is a text").chars().count();
    let operation = draft.on(length, letters);
    let args = json!({"clientSequence": notes["sequence"], "operation": sent(&operation)});
    room.apply_with(&room.ada, with(args, json!({"strict": false}))).value();
}
