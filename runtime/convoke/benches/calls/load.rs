//! The load: connections that send requests and read each answer to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use rand::distr::weighted::WeightedIndex;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

use crate::bank::LISTED;
use crate::contenders::Server;
use crate::live;
use crate::report::Turn;

/// Connections of the load.
pub(crate) const CONNECTIONS: usize = 64;
/// Different requests of one connection; they are sent over and over.
const REQUESTS: usize = 2_048;
/// Skew of contended accounts: the n-th has a weight of n to the power of minus this.
const ALPHA: f64 = 1.5;

/// The operation of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A function that does nothing.
    Nothing,
    /// The same as a route.
    Route,
    /// One account by its id.
    Get,
    /// The same, with a token.
    GetWithToken,
    /// The same account each time: its result is kept.
    GetHot,
    /// One account by its id, with arguments that no call had before: no result is kept for it.
    GetOnce,
    /// Fifty accounts.
    List,
    /// The same fifty accounts each time.
    ListHot,
    /// Fifty accounts, with arguments that no call had before.
    ListOnce,
    /// The same, written without structs.
    EncodedListOnce,
    /// Money from one account to another.
    Transfer,
    /// The same among accounts that no one watches.
    TransferUnwatched,
    /// The same, mostly between the same few.
    ContendedTransfer,
    /// A new row.
    Insert,
}

/// The transport of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// One after the other on each connection.
    Http1,
    /// So many at once on each connection.
    Http2(usize),
    /// The same number of mutations of the sync protocol, which the server runs in their order.
    WebSocket(usize),
}

/// Runs of a workflow at the same time: as many as connections of the load.
const RUNS: usize = CONNECTIONS;

/// One turn of a server that runs the steps of workflows, without requests meanwhile.
pub(crate) async fn steps(server: &Server, time: Duration) -> Turn {
    let warm_up = time / 5;
    let time_ms = (2 * warm_up + time).as_millis();
    call(server, "startSteps", format!("{{\"runs\":{RUNS},\"timeMs\":{time_ms}}}")).await;
    tokio::time::sleep(warm_up).await;
    let before = count(server).await;
    let (start, cpu) = (Instant::now(), server.cpu());
    tokio::time::sleep(time).await;
    let (elapsed, cpu) = (start.elapsed(), server.cpu() - cpu);
    let after = count(server).await;
    // The runs end before the turn of the peer.
    let mut last = after;
    loop {
        tokio::time::sleep(2 * warm_up).await;
        match count(server).await {
            now if now == last => break,
            now => last = now,
        }
    }
    let steps = (after - before) as f64;
    Turn { rate: steps / elapsed.as_secs_f64(), cpu_us: cpu.as_secs_f64() * 1e6 / steps }
}

async fn count(server: &Server) -> u64 {
    call(server, "countSteps", "{}".to_owned()).await["value"].as_u64().unwrap()
}

pub(crate) async fn call(server: &Server, function: &str, args: String) -> Value {
    let url = format!("http://{}/api/run/bank/{function}", server.address);
    let request = reqwest::Client::new().post(url).header("content-type", "application/json");
    let answer = request.body(format!("{{\"args\":{args}}}")).send().await.unwrap().bytes().await.unwrap();
    require_success(&answer);
    serde_json::from_slice(&answer).unwrap()
}

/// One turn of one contender.
pub(crate) struct Load<'a> {
    pub server: &'a Server,
    pub work: Work,
    pub wire: Wire,
    pub time: Duration,
}

/// Calls so far whose arguments are to be new.
static TURNS: AtomicU64 = AtomicU64::new(0);

impl Work {
    /// The function.
    fn path(self) -> &'static str {
        match self {
            Work::Nothing | Work::Route => "nothing",
            Work::Get | Work::GetWithToken | Work::GetHot => "getAccount",
            Work::GetOnce => "getAccountOnce",
            Work::List | Work::ListHot => "listAccounts",
            Work::ListOnce => "listAccountsOnce",
            Work::EncodedListOnce => "encodeAccountsOnce",
            Work::Transfer | Work::TransferUnwatched | Work::ContendedTransfer => "transfer",
            Work::Insert => "postMessage",
        }
    }

    /// The path of requests.
    fn target(self) -> String {
        if self == Work::Route { "/nothing".to_owned() } else { format!("/api/run/bank/{}", self.path()) }
    }

    /// Returns true if each request has an argument `turn` that no other has.
    fn is_new_each_time(self) -> bool {
        matches!(self, Work::GetOnce | Work::ListOnce | Work::EncodedListOnce)
    }
}

impl Load<'_> {
    pub(crate) async fn run(&self) -> Turn {
        let done = Arc::new(AtomicBool::new(false));
        let requests = Arc::new(AtomicU64::new(0));
        let address = self.server.address;
        let mut tasks = Vec::new();
        let chosen = Chosen::new(self.server.accounts);
        for connection in 0..CONNECTIONS {
            let bodies = Arc::new(self.bodies(connection, &chosen));
            let (target, is_new, is_call) =
                (self.work.target(), self.work.is_new_each_time(), self.work != Work::Route);
            let (done, requests) = (done.clone(), requests.clone());
            let token = (self.work == Work::GetWithToken).then(|| self.server.token.clone());
            match self.wire {
                Wire::Http1 => tasks.push(tokio::spawn(async move {
                    let token = token.map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"));
                    let mut stream = TcpStream::connect(address).await.unwrap();
                    stream.set_nodelay(true).unwrap();
                    let mut buffer = Vec::with_capacity(64 * 1024);
                    let mut head = Vec::with_capacity(1_024);
                    for body in bodies.iter().cycle() {
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                        head.clear();
                        let body = if is_new { &with_turn(body) } else { body };
                        let length = body.len();
                        std::io::Write::write_fmt(
                            &mut head,
                            format_args!(
                                "POST {target} HTTP/1.1\r\nhost: localhost\r\n\
                                 content-type: application/json\r\n{token}content-length: {length}\r\n\r\n{body}"
                            ),
                        )
                        .unwrap();
                        stream.write_all(&head).await.unwrap();
                        read_response(&mut stream, &mut buffer).await;
                        if is_call {
                            require_success(&buffer);
                        }
                        requests.fetch_add(1, Ordering::Relaxed);
                    }
                })),
                Wire::WebSocket(at_once) => {
                    let stream = live::connect(self.server, connection).await;
                    let function = self.work.path();
                    tasks.push(tokio::spawn(async move {
                        let (mut socket, _) = client_async("ws://localhost/api/sync", stream).await.unwrap();
                        let session = format!("00000000-0000-4000-8000-{connection:012}");
                        socket.send(Message::text(live::connect_message(&session))).await.unwrap();
                        let mut bodies = (0u32..).zip(bodies.iter().cycle());
                        let mut waiting = 0;
                        while waiting > 0 || !done.load(Ordering::Relaxed) {
                            while waiting < at_once && !done.load(Ordering::Relaxed) {
                                let (request, body) = bodies.next().unwrap();
                                let args = body.strip_prefix("{\"args\":").and_then(|body| body.strip_suffix('}'));
                                socket.feed(Message::text(format!(
                                    "{{\"type\":\"Mutation\",\"requestId\":{request},\"udfPath\":\"bank:{function}\",\
                                     \"args\":[{}]}}",
                                    args.unwrap()
                                )))
                                .await
                                .unwrap();
                                waiting += 1;
                            }
                            socket.flush().await.unwrap();
                            let answer = socket.next().await.unwrap().unwrap().into_text().unwrap();
                            if answer.contains("\"MutationResponse\"") {
                                assert!(answer.contains("\"success\":true"), "{answer}");
                                waiting -= 1;
                                requests.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }));
                }
                Wire::Http2(at_once) => {
                    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
                    for at in 0..at_once {
                        let (client, bodies, target) = (client.clone(), bodies.clone(), target.clone());
                        let (done, requests) = (done.clone(), requests.clone());
                        tasks.push(tokio::spawn(async move {
                            for body in bodies.iter().cycle().skip(at).step_by(at_once) {
                                if done.load(Ordering::Relaxed) {
                                    break;
                                }
                                let url = format!("http://{address}{target}");
                                let request = client.post(url).header("content-type", "application/json");
                                let answer = request.body(body.clone()).send().await.unwrap().bytes().await.unwrap();
                                require_success(&answer);
                                requests.fetch_add(1, Ordering::Relaxed);
                            }
                        }));
                    }
                }
            }
        }
        // Connections are made, statements prepared and pages read before the time runs.
        tokio::time::sleep(self.time / 5).await;
        let (start, cpu, before) = (Instant::now(), self.server.cpu(), requests.load(Ordering::Relaxed));
        tokio::time::sleep(self.time).await;
        let (elapsed, cpu_end, after) = (start.elapsed(), self.server.cpu(), requests.load(Ordering::Relaxed));
        done.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.unwrap();
        }
        let count = (after - before) as f64;
        let cpu = (cpu_end - cpu).as_secs_f64();
        Turn { rate: count / elapsed.as_secs_f64(), cpu_us: cpu * 1e6 / count }
    }

    /// The bodies of one connection's requests: different accounts each time, the same ones in every run.
    fn bodies(&self, connection: usize, chosen: &Chosen) -> Vec<String> {
        let mut random = SmallRng::seed_from_u64(connection as u64);
        let accounts = self.server.accounts;
        (0..REQUESTS)
            .map(|_| {
                let args = match self.work {
                    Work::Nothing | Work::Route => "{}".to_owned(),
                    Work::GetHot => format!("{{\"id\":\"{}\"}}", self.server.ids[0]),
                    Work::Get | Work::GetWithToken | Work::GetOnce => {
                        let ids = &self.server.ids;
                        format!("{{\"id\":\"{}\"}}", ids[random.random_range(0..ids.len())])
                    }
                    Work::ListHot => "{\"owner\":\"owner-0\"}".to_owned(),
                    Work::List | Work::ListOnce | Work::EncodedListOnce => {
                        format!("{{\"owner\":\"owner-{}\"}}", random.random_range(0..accounts / LISTED))
                    }
                    Work::Transfer => transfer([(); 2].map(|()| random.random_range(0..accounts))),
                    Work::TransferUnwatched => transfer([(); 2].map(|()| random.random_range(accounts / 2..accounts))),
                    Work::ContendedTransfer => transfer([(); 2].map(|()| chosen.account(&mut random))),
                    Work::Insert => {
                        let author = random.random_range(0..accounts);
                        format!("{{\"author\":{author},\"text\":\"a message like every other\"}}")
                    }
                };
                format!("{{\"args\":{args}}}")
            })
            .collect()
    }
}

/// The body with an argument that no other request has.
fn with_turn(body: &str) -> String {
    let turn = TURNS.fetch_add(1, Ordering::Relaxed);
    format!("{},\"turn\":{turn}}}}}", body.trim_end_matches('}'))
}

/// Two accounts that are the same one are taken apart.
fn transfer([from, to]: [i64; 2]) -> String {
    let to = if to == from { from ^ 1 } else { to };
    format!("{{\"from\":{from},\"to\":{to},\"amount\":1}}")
}

/// Which accounts are met when some are met more often than others.
struct Chosen(WeightedIndex<f64>);

impl Chosen {
    fn new(accounts: i64) -> Self {
        Self(WeightedIndex::new((1..=accounts.min(100_000)).map(|rank| (rank as f64).powf(-ALPHA))).unwrap())
    }

    fn account(&self, random: &mut SmallRng) -> i64 {
        i64::try_from(random.sample(&self.0)).unwrap()
    }
}

/// Anything but a success stops the run.
fn require_success(body: &[u8]) {
    assert!(memchr::memmem::find(body, b"\"status\":\"success\"").is_some(), "{}", String::from_utf8_lossy(body));
}

/// Reads one response to its end.
async fn read_response(stream: &mut TcpStream, buffer: &mut Vec<u8>) {
    buffer.clear();
    let mut expected = None;
    loop {
        if expected.is_none()
            && let Some(head) = memchr::memmem::find(buffer, b"\r\n\r\n")
        {
            assert!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(buffer));
            let text = std::str::from_utf8(&buffer[..head]).unwrap();
            let length = text.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            expected = Some(head + 4 + length.unwrap());
        }
        if expected.is_some_and(|expected| buffer.len() >= expected) {
            return;
        }
        assert_ne!(stream.read_buf(buffer).await.unwrap(), 0, "the server hung up");
    }
}
