//! Live queries: a thousand connections that watch, each its own rows or all the same one.

use std::ops::Range;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::contenders::Server;
use crate::load::{Load, Wire, Work};
use crate::report::print_most;

/// Connections that watch.
const WATCHERS: usize = 1_000;
/// Queries of each.
const QUERIES: usize = 10;
/// Mutations that change the result of one subscriber.
const TOUCHES: usize = 1_000;
/// Mutations that all of them are told of.
const ROUNDS: usize = 20;
/// Connections from one address of this machine: the server takes no more from one by default.
const FROM_ONE_ADDRESS: usize = 50;
/// Time without a call after which a connection is idle; checked every 10 s.
const UNTIL_IDLE: Duration = Duration::from_secs(25);
/// A result that is not there by then never comes.
const PATIENCE: Duration = Duration::from_secs(30);

/// An event that reached a watcher.
struct Seen {
    watcher: usize,
    at: Instant,
    text: String,
}

/// Those who watch a server.
pub(crate) struct Live<'a> {
    server: &'a Server,
    client: reqwest::Client,
    watchers: JoinSet<()>,
    told: UnboundedSender<Seen>,
    seen: UnboundedReceiver<Seen>,
    /// Amount moved so far, so that each move changes a balance.
    moved: i64,
}

impl<'a> Live<'a> {
    pub(crate) fn new(server: &'a Server) -> Self {
        let (told, seen) = unbounded_channel();
        Self { server, client: reqwest::Client::new(), watchers: JoinSet::new(), told, seen, moved: 0 }
    }

    /// Measures what those who watch are told, and when.
    pub(crate) fn run(&mut self, executor: &Runtime) {
        executor.block_on(async {
            self.watch(0..WATCHERS, |watcher| own_rows(self.server, watcher), |_| None).await;
            let mut times = Vec::new();
            for touch in 0..TOUCHES {
                // Far apart, and none of them watched by another: no query is held back for having run just now.
                let watcher = touch * 7 % WATCHERS;
                times.push(self.touch_one(watcher, watcher * QUERIES + touch % QUERIES).await);
            }
            print_most("live: told of one of 10,000 queries, p99", 20.0, p99(times), "ms");
            self.leave().await;

            self.watch(
                0..WATCHERS,
                |_| vec![json!({ "path": "bank/getAccount", "args": { "id": self.server.ids[0] } })],
                |_| None,
            )
            .await;
            self.touch_all("live: 1,000 connections, one shared run, p99", 150.0).await;
            self.leave().await;

            let tokens = self.server.tokens(WATCHERS);
            let asks = json!({ "path": "bank/getAccountSignedIn", "args": { "id": self.server.ids[0] } });
            self.watch(0..WATCHERS, |_| vec![asks.clone()], |watcher| Some(tokens[watcher].clone())).await;
            self.touch_all("live: 1,000 identities, a run for each, p99", 500.0).await;
            self.leave().await;
        });
    }

    /// Has ten thousand rows watched, until [`Live::end`].
    pub(crate) fn watch_many(&mut self, executor: &Runtime) {
        executor.block_on(self.watch(0..WATCHERS, |watcher| own_rows(self.server, watcher), |_| None));
    }

    /// No one watches any more.
    pub(crate) fn end(mut self, executor: &Runtime) {
        executor.block_on(self.leave());
    }

    async fn leave(&mut self) {
        self.watchers.shutdown().await;
        // The server has noticed that they are gone when it holds none of them any more.
        while self.metric("convoke_live_connections").await > 0.0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        while self.seen.try_recv().is_ok() {}
    }

    /// Connects watchers, and waits until each has its first results.
    async fn watch(
        &mut self,
        watchers: Range<usize>,
        queries: impl Fn(usize) -> Vec<Value>,
        token: impl Fn(usize) -> Option<String>,
    ) {
        for watcher in watchers {
            let body = json!({ "queries": queries(watcher) }).to_string();
            let stream = connect(self.server, watcher).await;
            self.watchers.spawn(follow(stream, watcher, body, token(watcher), self.told.clone()));
            // One after the other, as clients come.
            self.next().await;
        }
    }

    async fn next(&mut self) -> Seen {
        tokio::time::timeout(PATIENCE, self.seen.recv()).await.expect("a result is missing").unwrap()
    }

    /// Moves money from a watched account to one that no one watches; tells when it was sent, and the new balance.
    async fn touch(&mut self, account: usize) -> (Instant, i64) {
        self.moved += 1;
        let unwatched = self.server.accounts - 1;
        let args = json!({ "args": { "from": account, "to": unwatched, "amount": self.moved } }).to_string();
        let url = format!("http://{}/api/run/bank/transfer", self.server.address);
        let request = self.client.post(url).header("content-type", "application/json").body(args);
        let sent = Instant::now();
        let answer: Value = serde_json::from_slice(&request.send().await.unwrap().bytes().await.unwrap()).unwrap();
        (sent, answer["value"].as_i64().unwrap_or_else(|| panic!("{answer}")))
    }

    /// Time from sending a mutation to the arrival of its result at a subscriber.
    async fn touch_one(&mut self, watcher: usize, account: usize) -> Duration {
        let (sent, balance) = self.touch(account).await;
        let seen = self.next().await;
        assert_eq!(seen.watcher, watcher, "a subscriber got the row of another");
        assert!(seen.text.contains(&format!("\"value\":{balance}")), "{balance} is not in {}", seen.text);
        seen.at.saturating_duration_since(sent)
    }

    async fn touch_all(&mut self, title: &str, most: f64) {
        let runs = self.metric("convoke_live_runs_total").await;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            // Longer apart than a query may be held back for having run just now.
            tokio::time::sleep(Duration::from_millis(250)).await;
            let (sent, balance) = self.touch(0).await;
            for _ in 0..WATCHERS {
                let seen = self.next().await;
                assert!(seen.text.contains(&format!("\"value\":{balance}")), "{balance} is not in {}", seen.text);
                times.push(seen.at.saturating_duration_since(sent));
            }
        }
        print_most(title, most, p99(times), "ms");
        let runs = self.metric("convoke_live_runs_total").await - runs;
        println!("    {:.0} runs a mutation", runs / ROUNDS as f64);
    }

    /// The sum of a metric over its labels.
    async fn metric(&self, name: &str) -> f64 {
        let url = format!("http://{}/metrics", self.server.address);
        let text = self.client.get(url).send().await.unwrap().text().await.unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix(name)).filter(|rest| rest.starts_with(['{', ' ']));
        lines.map(|rest| rest.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }
}

/// Prints what a silent connection takes of the server's memory: one of the second half, for which nothing has to be made
/// that all of them share.
pub(crate) fn print_memory(executor: &Runtime) {
    let [calls, events, web_sockets] = [(); 3].map(|()| Server::convoke(10_000, &[]));
    executor.block_on(async {
        let mut streams = Vec::new();
        let weighed = halves(&calls, async |numbers| silent(&calls, numbers, &mut streams).await);
        print_most("memory of an idle connection that has made a call", 12.0, weighed.await, "KiB");
        let mut live = Live::new(&events);
        let queries = |watcher| own_rows(&events, watcher).into_iter().take(3).collect();
        let weighed = halves(&events, async |numbers| live.watch(numbers, queries, |_| None).await);
        print_most("memory of an idle live connection with 3 queries", 30.0, weighed.await, "KiB");
        live.leave().await;
        let mut streams = Vec::new();
        let weighed = halves(&web_sockets, async |numbers| sockets(&web_sockets, numbers, &mut streams).await);
        print_most("memory of an idle WebSocket with 3 queries", 30.0, weighed.await, "KiB");
    });
}

/// Memory added by each connection of the second half, in KiB.
async fn halves(server: &Server, mut connect: impl AsyncFnMut(Range<usize>)) -> f64 {
    let half = WATCHERS / 2;
    load(server, &[Work::GetOnce, Work::Get, Work::Transfer]).await;
    connect(0..half).await;
    let before = weigh(server).await;
    connect(half..WATCHERS).await;
    (weigh(server).await - before) / half as f64
}

/// Resident memory in KiB, while others are served: what is not needed any more is given back by those who work.
async fn weigh(server: &Server) -> f64 {
    tokio::time::sleep(UNTIL_IDLE).await;
    load(server, &[Work::Nothing]).await;
    server.resident_kib() as f64
}

async fn load(server: &Server, works: &[Work]) {
    for work in works {
        Load { server, work: *work, wire: Wire::Http1, time: Duration::from_secs(1) }.run().await;
    }
}

/// WebSockets of the sync protocol, each with three queries of its own and their results.
async fn sockets(server: &Server, numbers: Range<usize>, sockets: &mut Vec<WebSocketStream<TcpStream>>) {
    for number in numbers {
        let stream = connect(server, number).await;
        let (mut socket, _) = client_async("ws://localhost/api/sync", stream).await.unwrap();
        let session = format!("00000000-0000-4000-8000-{number:012}");
        let queries: Vec<Value> = (0..)
            .zip(own_rows(server, number).into_iter().take(3))
            .map(|(id, query)| {
                json!({ "type": "Add", "queryId": id, "udfPath": "bank:getAccount", "args": [query["args"]] })
            })
            .collect();
        let modify = json!({ "type": "ModifyQuerySet", "baseVersion": 0, "newVersion": 1, "modifications": queries });
        for message in [connect_message(&session), modify.to_string()] {
            socket.send(Message::text(message)).await.unwrap();
        }
        loop {
            let answer = socket.next().await.unwrap().unwrap().into_text().unwrap();
            if answer.contains("\"Transition\"") {
                assert_eq!(answer.matches("QueryUpdated").count(), 3, "{answer}");
                break;
            }
        }
        sockets.push(socket);
    }
}

/// Connections that have made one call each.
async fn silent(server: &Server, numbers: Range<usize>, streams: &mut Vec<TcpStream>) {
    for number in numbers {
        let mut stream = connect(server, number).await;
        let body = "{\"args\":{}}";
        stream.write_all(post("run/bank/nothing", None, body).as_bytes()).await.unwrap();
        let mut buffer = [0; 1_024];
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(buffer[..read].starts_with(b"HTTP/1.1 200"));
        streams.push(stream);
    }
}

/// The rows that only this watcher asks for.
fn own_rows(server: &Server, watcher: usize) -> Vec<Value> {
    let ids = &server.ids[watcher * QUERIES % server.ids.len()..][..QUERIES];
    ids.iter().map(|id| json!({ "path": "bank/getAccount", "args": { "id": id } })).collect()
}

/// First message of a client of the sync protocol.
pub(crate) fn connect_message(session: &str) -> String {
    json!({
        "type": "Connect", "sessionId": session, "connectionCount": 0, "lastCloseReason": "InitialConnect", "clientTs": 0,
    })
    .to_string()
}

pub(crate) async fn connect(server: &Server, number: usize) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    let host = u8::try_from(2 + number / FROM_ONE_ADDRESS).unwrap();
    socket.bind(([127, 0, 0, host], 0).into()).unwrap();
    let stream = socket.connect(server.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn post(path: &str, token: Option<&str>, body: &str) -> String {
    let token = token.map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"));
    format!(
        "POST /api/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{token}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Tells of each event with results.
async fn follow(
    mut stream: TcpStream,
    watcher: usize,
    body: String,
    token: Option<String>,
    told: UnboundedSender<Seen>,
) {
    stream.write_all(post("live", token.as_deref(), &body).as_bytes()).await.unwrap();
    let mut buffer = Vec::with_capacity(4_096);
    loop {
        assert_ne!(stream.read_buf(&mut buffer).await.unwrap(), 0, "the server hung up");
        let at = Instant::now();
        while let Some(end) = memchr::memmem::find(&buffer, b"\n\n") {
            let text = String::from_utf8_lossy(&buffer[..end]).into_owned();
            buffer.drain(..end + 2);
            assert!(!text.contains("event: end"), "{text}");
            if text.contains("event: results") {
                let _ = told.send(Seen { watcher, at, text });
            }
        }
    }
}

/// In milliseconds.
fn p99(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() * 99 / 100].as_secs_f64() * 1_000.0
}
