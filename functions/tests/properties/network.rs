//! Several clients and a server, with messages that are late, lost and repeated.
//!
//! Each client has one operation in flight and buffers the rest; it repeats what is in flight until it sees it in the
//! log, which it reads in order.

use std::collections::BTreeSet;

use functions::notes::chain::{Chain, Committed};
use functions::notes::operation::{Operation, Text};
use proptest::prelude::*;

use crate::drafts::{Draft, Letters, carry, draft, taken};

/// One entry of the log.
#[derive(Clone, Debug)]
struct Entry {
    author: usize,
    /// The author's own number of the operation, and whether this is the last piece of it.
    number: usize,
    is_last: bool,
    operation: Operation,
}

/// A message of a client, which may be repeated.
#[derive(Clone, Debug)]
struct Message {
    author: usize,
    number: usize,
    base: usize,
    operation: Operation,
}

#[derive(Debug, Default)]
struct Server {
    text: Text,
    log: Vec<Entry>,
    /// The text at every sequence.
    history: Vec<String>,
}

impl Server {
    fn receive(&mut self, message: &Message) {
        if self.log.iter().any(|entry| (entry.author, entry.number) == (message.author, message.number)) {
            return;
        }
        let since = self.log.iter().enumerate().skip(message.base);
        let chain = Chain::new(since.map(|(key, entry)| Committed { key, shape: entry.operation.shape }));
        let walked = chain.walk(message.operation.shape, self.text.len()).expect("clients send what fits their text");
        let pieces = walked.moved.pieces(message.operation.content.clone());
        let count = pieces.len();
        for (index, piece) in pieces.iter().enumerate() {
            self.text.apply(piece).expect("every position in the log is valid when its turn comes");
            self.log.push(Entry {
                author: message.author,
                number: message.number,
                is_last: index + 1 == count,
                operation: piece.clone(),
            });
            self.history.push(String::from(&self.text));
        }
    }
}

#[derive(Debug, Default)]
struct Client {
    name: usize,
    text: Text,
    seen: usize,
    numbered: usize,
    in_flight: Option<(Message, Vec<Operation>)>,
    buffer: Vec<Operation>,
}

impl Client {
    fn edit(&mut self, draft: Draft, letters: &mut Letters, deleted: &mut BTreeSet<char>) {
        let operation = draft.on(self.text.len(), letters);
        deleted.extend(taken(&self.text, operation.shape));
        self.text.apply(&operation).expect("a draft fits its text");
        self.buffer.push(operation);
    }

    /// The operation in flight, or the next one of the buffer, which then is in flight.
    fn send(&mut self) -> Option<Message> {
        if self.in_flight.is_none() && !self.buffer.is_empty() {
            let operation = self.buffer.remove(0);
            self.numbered += 1;
            let message =
                Message { author: self.name, number: self.numbered, base: self.seen, operation: operation.clone() };
            self.in_flight = Some((message, vec![operation]));
        }
        self.in_flight.as_ref().map(|(message, _)| message.clone())
    }

    fn read(&mut self, log: &[Entry], count: usize) {
        for entry in log.iter().skip(self.seen).take(count) {
            self.seen += 1;
            if entry.author == self.name {
                if entry.is_last {
                    self.in_flight = None;
                }
                continue;
            }
            let mut shapes = vec![entry.operation.shape];
            if let Some((_, pending)) = &mut self.in_flight {
                shapes = shapes.into_iter().flat_map(|shape| carry(pending, shape)).collect();
            }
            shapes = shapes.into_iter().flat_map(|shape| carry(&mut self.buffer, shape)).collect();
            for shape in shapes {
                let operation = Operation { shape, content: entry.operation.content.clone() };
                self.text.apply(&operation).expect("what comes from the log fits");
            }
        }
    }

    fn is_done(&self, log: &[Entry]) -> bool {
        self.in_flight.is_none() && self.buffer.is_empty() && self.seen == log.len()
    }
}

/// Something that happens to one client.
#[derive(Clone, Debug)]
enum Event {
    Edit(Draft),
    /// Sends; the message arrives, is lost, or is put aside to arrive later, once or twice.
    Send(Fate),
    /// Reads up to so many entries.
    Read(usize),
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives,
    Lost,
    Late,
    Twice,
}

fn event() -> impl Strategy<Value = Event> {
    let fate = prop_oneof![
        4 => Just(Fate::Arrives), 1 => Just(Fate::Lost), 2 => Just(Fate::Late), 1 => Just(Fate::Twice)
    ];
    prop_oneof![4 => draft().prop_map(Event::Edit), 3 => fate.prop_map(Event::Send), 2 => (1..5usize).prop_map(Event::Read)]
}

/// The result of a run.
struct Outcome {
    server: Server,
    clients: Vec<Client>,
    inserted: BTreeSet<char>,
    deleted: BTreeSet<char>,
}

fn run(count: usize, events: Vec<(usize, Event)>) -> Outcome {
    let mut server = Server::default();
    let mut clients: Vec<Client> = (0..count).map(|name| Client { name, ..Client::default() }).collect();
    let (mut letters, mut deleted) = (Letters::default(), BTreeSet::new());
    let mut late: Vec<Message> = Vec::new();
    for (who, event) in events {
        let client = &mut clients[who % count];
        match event {
            Event::Edit(draft) => client.edit(draft, &mut letters, &mut deleted),
            Event::Read(count) => client.read(&server.log, count),
            Event::Send(fate) => {
                let Some(message) = client.send() else {
                    continue;
                };
                match fate {
                    Fate::Lost => {}
                    Fate::Late => late.push(message),
                    Fate::Arrives => server.receive(&message),
                    Fate::Twice => {
                        server.receive(&message);
                        late.push(message);
                    }
                }
            }
        }
        // Late messages arrive out of order, between others.
        if late.len() > 2 {
            let message = late.remove(who % late.len());
            server.receive(&message);
        }
    }
    while !clients.iter().all(|client| client.is_done(&server.log)) {
        for client in &mut clients {
            if let Some(message) = client.send() {
                server.receive(&message);
            }
            late.drain(..).for_each(|message| server.receive(&message));
            client.read(&server.log, usize::MAX);
        }
    }
    Outcome { server, clients, inserted: letters.given().collect(), deleted }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn clients_converge_to_the_servers_text_and_no_edit_is_lost_or_done_twice(
        count in 2..5usize, events in prop::collection::vec((0..60usize, event()), 1..70)
    ) {
        let outcome = run(count, events);
        let text = String::from(&outcome.server.text);

        for client in &outcome.clients {
            prop_assert_eq!(&String::from(&client.text), &text);
        }
        let kept: BTreeSet<char> = outcome.inserted.difference(&outcome.deleted).copied().collect();
        prop_assert_eq!(text.chars().count(), kept.len());
        prop_assert_eq!(text.chars().collect::<BTreeSet<char>>(), kept);
    }

    #[test]
    fn a_replay_of_the_log_gives_the_text_at_every_sequence(
        count in 2..4usize, events in prop::collection::vec((0..60usize, event()), 1..50)
    ) {
        let outcome = run(count, events);
        let mut text = Text::default();

        for (entry, then) in outcome.server.log.iter().zip(&outcome.server.history) {
            prop_assert_eq!(text.apply(&entry.operation), Ok(()));
            prop_assert_eq!(&String::from(&text), then);
        }
        prop_assert_eq!(text, outcome.server.text);
    }
}
