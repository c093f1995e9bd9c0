//! The cost of a call in comparison with the same work written by hand.
//!
//! ```sh
//! cargo bench -p convoke --bench calls              # all rows, about half an hour
//! cargo bench -p convoke --bench calls -- --quick   # short rounds, held against `recorded.toml`; within two minutes
//! cargo bench -p convoke --bench calls -- list      # the rows whose name contains this
//! cargo bench -p convoke --bench calls -- live      # or one part of it: live, memory, "10 M rows"
//! cargo bench -p convoke --bench calls -- --quick --record
//! e2e/postgres.sh cargo bench -p convoke --features postgres --bench calls -- postgres
//! ```
//!
//! Convoke is `serve` of this very program with its default settings, on functions and tables as the guide teaches them;
//! its log goes to a file. Every contender is a process of its own on a database of its own; 64 connections of this
//! process load one at a time. The contenders of a comparison take turns, round after round, so that a noisy moment meets
//! both; what is printed is the ratio of the rounds: its median, least and greatest. The CPU time of the server a request
//! is printed beside it: it is the steadier figure, and the one that `--quick` is held to. After the transfers every
//! balance is added up: money that appeared or vanished fails the run.
//!
//! Beside that it measures what live queries cost (`live`): how long after a mutation was sent their results are there.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at the first surprise and prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures the machine's time")]

mod bank;
mod contenders;
mod files;
mod live;
mod load;
mod neighbour;
mod report;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use contenders::{Contender, Server};
use files::{Files, Nginx};
use live::Live;
use load::{Load, Wire, Work};
use neighbour::Neighbours;
use report::{Comparison, Recorded, print_head};
use tempfile::TempDir;

/// Rows of each table that is read.
const ROWS: i64 = 100_000;
/// The same where no cache holds them.
const MANY_ROWS: i64 = 10_000_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        // This program as Convoke: `serve` and its options.
        Some("serve") => return convoke::embed::main(),
        Some("--contender") => {
            let [_, name, accounts, folder] = args.as_slice() else { return ExitCode::FAILURE };
            contenders::serve(name.parse().unwrap(), Path::new(folder), accounts.parse().unwrap());
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let quick = has("--quick") || has("--test");
    let only = args.iter().find(|arg| !arg.starts_with("--")).cloned().unwrap_or_default();
    let (rounds, time) = if quick { (3, Duration::from_millis(800)) } else { (7, Duration::from_secs(3)) };
    print_head(rounds, time, load::CONNECTIONS);

    let recorded = Recorded::read();
    let has_to_hold = quick && !has("--record");
    let mut bench = Bench::new(rounds, time, only, has_to_hold.then_some(&recorded));
    let has_rows = !PARTS.contains(&bench.only.as_str());
    if has_rows {
        bench.usual();
        bench.steps();
        bench.files();
    }
    if has_rows && !quick {
        bench.with_neighbours();
        bench.many_at_once();
        bench.copies();
        bench.telemetry();
    }
    if !quick {
        bench.live();
        bench.memory();
        bench.many_rows();
        bench.postgres();
    }
    let comparisons = bench.comparisons;
    if has("--record") {
        recorded.write(&comparisons);
    } else if quick && !recorded.still_holds(&comparisons) {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The contender and its work.
type Side<'a> = (&'a Server, Work, Wire);

struct Bench<'a> {
    rounds: usize,
    time: Duration,
    only: String,
    executor: tokio::runtime::Runtime,
    comparisons: Vec<Comparison>,
    /// Limit of the cost of a call, if the run checks it.
    recorded: Option<&'a Recorded>,
}

/// Number of repetitions of a comparison that appears slower, before it counts.
const TRIES: usize = 3;

impl<'a> Bench<'a> {
    fn new(rounds: usize, time: Duration, only: String, recorded: Option<&'a Recorded>) -> Self {
        let executor = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { rounds, time, only, executor, comparisons: Vec::new(), recorded }
    }

    fn compare(&mut self, title: impl Into<String>, target: f64, ours: Side<'_>, theirs: Side<'_>) {
        let title = title.into();
        if !title.contains(&self.only) {
            return;
        }
        let load =
            |(server, work, wire): Side<'_>| self.executor.block_on(Load { server, work, wire, time: self.time }.run());
        for tried in 1..=TRIES {
            let mut comparison = Comparison::new(title.clone(), target);
            for round in 0..=self.rounds {
                let (first, second) = (load(ours), load(theirs));
                // The first round warms caches and pools.
                if round > 0 {
                    comparison.add(first, second);
                }
            }
            comparison.print();
            // A machine that was busy with something else is asked once more.
            if tried == TRIES || self.recorded.is_none_or(|recorded| recorded.holds(&comparison)) {
                self.comparisons.push(comparison);
                return;
            }
        }
    }

    /// Returns true if a part is run that is left out or run as a whole.
    fn has_part(&self, part: &str) -> bool {
        self.only.is_empty() || self.only == part
    }

    /// The ratio of a comparison that was made before; nothing if it was left out.
    fn ratio(&self, title: &str) -> Option<f64> {
        self.comparisons.iter().find(|comparison| comparison.title() == title).map(Comparison::ratio)
    }

    /// The usual cases: rows that nearly fit into a cache, one call after the other on each connection.
    fn usual(&mut self) {
        let peers = Peers::start(ROWS);
        self.against_peers(&peers, "", &TARGETS);
        let Peers { convoke, echo, .. } = &peers;
        let ours = |work| (convoke, work, Wire::Http1);
        self.compare("list of 50 / the same by encode", 0.9, ours(Work::ListOnce), ours(Work::EncodedListOnce));
        let title = "route that does nothing / call that does nothing";
        self.compare(title, 0.97, ours(Work::Route), ours(Work::Nothing));
        self.compare("with a JWT / without", 0.95, ours(Work::GetWithToken), ours(Work::Get));
        convoke.teach_list(echo);
        self.compare("query by id, kept / query that does nothing", 0.95, ours(Work::GetHot), ours(Work::Nothing));
        let same_bytes = (echo, Work::ListHot, Wire::Http1);
        self.compare("list of 50, kept / bare hyper, the same bytes", 0.75, ours(Work::ListHot), same_bytes);
        // Both again: what was written so far is no part of this.
        let (keeps, keeps_nothing) = (Server::convoke(ROWS, &[]), Server::convoke(ROWS, &[("CONVOKE_CACHE_MIB", "0")]));
        for (name, work) in
            [("query by id, never kept before", Work::GetOnce), ("list of 50, never kept before", Work::ListOnce)]
        {
            let title = format!("{name} / without results kept");
            self.compare(title, 0.95, (&keeps, work, Wire::Http1), (&keeps_nothing, work, Wire::Http1));
        }
        let title = "transfer, nobody watches / without results kept";
        self.compare(title, 0.97, (&keeps, Work::Transfer, Wire::Http1), (&keeps_nothing, Work::Transfer, Wire::Http1));
        keeps.check_balances();
        keeps_nothing.check_balances();
        peers.check_balances();
    }

    /// A step of a workflow beside a call that stores the same.
    fn steps(&mut self) {
        let title = "step of a workflow / insert";
        if !title.contains(&self.only) {
            return;
        }
        let convoke = Server::convoke(ROWS, &[]);
        let insert = Load { server: &convoke, work: Work::Insert, wire: Wire::Http1, time: self.time };
        let mut comparison = Comparison::new(title.to_owned(), 0.8);
        for round in 0..=self.rounds {
            let steps = self.executor.block_on(load::steps(&convoke, self.time));
            let inserts = self.executor.block_on(insert.run());
            // The first round warms caches and pools.
            if round > 0 {
                comparison.add(steps, inserts);
            }
        }
        comparison.print();
        self.comparisons.push(comparison);
    }

    /// Downloads and uploads of files, in MB per second.
    fn files(&mut self) {
        let titles = [DOWNLOAD, UPLOAD];
        if !titles.iter().any(|title| title.contains(&self.only)) {
            return;
        }
        let nginx = Nginx::start();
        if nginx.is_none() {
            println!("{DOWNLOAD}: not measured, because the program nginx is missing");
        }
        let files = Files::new(&self.executor, Server::convoke(0, &[]));
        for (title, target) in titles.into_iter().zip([0.8, 0.7]) {
            let mut comparison = Comparison::new(title.to_owned(), target);
            for round in 0..=self.rounds {
                let (ours, theirs) = match (title, &nginx) {
                    (DOWNLOAD, Some(nginx)) => (
                        self.executor.block_on(files.download(self.time)),
                        self.executor.block_on(nginx.download(self.time)),
                    ),
                    (UPLOAD, _) => (self.executor.block_on(files.upload()), files.write_and_hash()),
                    _ => continue,
                };
                if round > 0 {
                    comparison.add(ours, theirs);
                }
            }
            comparison.print();
            self.comparisons.push(comparison);
        }
    }

    fn against_peers(&mut self, peers: &Peers, suffix: &str, targets: &[f64; 7]) {
        use Work::{ContendedTransfer, GetOnce, Insert, List, ListOnce, Nothing, Transfer};
        let Peers { convoke, echo, axum, grouped } = peers;
        let rows: [(_, Work, &Server, Work); 7] = [
            ("query that does nothing / bare hyper echo", Nothing, echo, Nothing),
            ("query by id / bare hyper echo", GetOnce, echo, GetOnce),
            ("list of 50 / axum + rusqlite", ListOnce, axum, List),
            ("transfer / axum, group commit", Transfer, grouped, Transfer),
            ("transfer, contended / axum, group commit", ContendedTransfer, grouped, ContendedTransfer),
            ("insert / axum, group commit", Insert, grouped, Insert),
            ("transfer / axum, one transaction a call", Transfer, axum, Transfer),
        ];
        for ((title, ours, peer, theirs), target) in rows.into_iter().zip(targets) {
            let title = format!("{title}{suffix}");
            self.compare(title, *target, (convoke, ours, Wire::Http1), (peer, theirs, Wire::Http1));
        }
    }

    /// The same with a thread on each core that does nothing but count.
    fn with_neighbours(&mut self) {
        let peers = Peers::start(ROWS);
        let neighbours = Neighbours::start();
        self.against_peers(&peers, BUSY, &[0.0; 7]);
        drop(neighbours);
        for title in TITLES {
            if let (Some(busy), Some(quiet)) = (self.ratio(&format!("{title}{BUSY}")), self.ratio(title)) {
                report::print_ratio(&format!("{title}: busy / quiet"), 0.9, busy / quiet);
            }
        }
        peers.check_balances();
    }

    /// Cost of live queries for others.
    fn live(&mut self) {
        if !self.has_part("live") {
            return;
        }
        let (watched, unwatched) = (Server::convoke(ROWS, &[]), Server::convoke(ROWS, &[]));
        let mut live = Live::new(&watched);
        live.run(&self.executor);
        let side = |server| (server, Work::TransferUnwatched, Wire::Http1);
        let only = std::mem::take(&mut self.only);
        live.watch_many(&self.executor);
        let title = "transfer, 10,000 watched rows untouched / none watched";
        self.compare(title, 0.9, side(&watched), side(&unwatched));
        self.only = only;
        live.end(&self.executor);
        watched.check_balances();
        unwatched.check_balances();
    }

    /// Cost of an idle connection.
    fn memory(&mut self) {
        if self.has_part("memory") {
            live::print_memory(&self.executor);
        }
    }

    fn many_at_once(&mut self) {
        let convoke = Server::convoke(ROWS, &[]);
        let side = |at_once| (&convoke, Work::Transfer, Wire::Http2(at_once));
        self.compare("transfer, HTTP/2: 64 × 12 at once / 64 × 1", 1.5, side(12), side(1));
        let echo = Server::peer(Contender::Echo, ROWS);
        let title = "transfer, WebSocket: 64 × 40 in flight / bare hyper echo";
        let pipelined = (&convoke, Work::Transfer, Wire::WebSocket(40));
        self.compare(title, 0.6, pipelined, (&echo, Work::Nothing, Wire::Http1));
        convoke.check_balances();
    }

    /// Cost of continuous copies in a folder of the same disk.
    fn copies(&mut self) {
        let titles = ["transfer, copied each second / not copied", "insert, acknowledged by the copy / by the disk"];
        if !titles.iter().any(|title| title.contains(&self.only)) {
            return;
        }
        let (place, acknowledging) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let copy = |place: &TempDir, more: &str| {
            Server::convoke_with(ROWS, &format!("[copy]\nto = \"dir:{}\"\n{more}", place.path().display()))
        };
        let (plain, copied) = (Server::convoke(ROWS, &[]), copy(&place, ""));
        let (transfer, insert) = (Work::Transfer, Work::Insert);
        self.compare(titles[0], 0.9, (&copied, transfer, Wire::Http1), (&plain, transfer, Wire::Http1));
        copied.check_balances();
        drop(copied);
        let waits = copy(&acknowledging, "acknowledge = \"copied\"\n");
        // No mutation is acknowledged before the first snapshot is stored.
        while !acknowledging.path().join("00000001/ltx/9").exists() {
            std::thread::sleep(Duration::from_millis(50));
        }
        self.compare(titles[1], 0.0, (&waits, insert, Wire::Http1), (&plain, insert, Wire::Http1));
    }

    /// Cost of one trace in a hundred that is sent to a collector on this machine, and of a collector that is dead.
    fn telemetry(&mut self) {
        let rows = [
            ("query that does nothing, 1 % of traces / none", Work::Nothing),
            ("transfer, 1 % of traces / none", Work::Transfer),
            ("query that does nothing, dead collector / none", Work::Nothing),
        ];
        if !rows.iter().any(|(title, _)| title.contains(&self.only)) {
            return;
        }
        let collector = Server::peer(Contender::Echo, 0);
        let traced = |collector: &str| {
            let settings = format!("[telemetry]\notlp = \"http://{collector}\"\nsampling = 0.01\nlogs = false\n");
            Server::convoke_with(ROWS, &settings)
        };
        // No service listens on this port.
        let (alive, dead) = (traced(&collector.address.to_string()), traced("127.0.0.1:9"));
        let plain = Server::convoke(ROWS, &[]);
        for ((title, work), server) in rows.into_iter().zip([&alive, &alive, &dead]) {
            self.compare(title, 0.97, (server, work, Wire::Http1), (&plain, work, Wire::Http1));
        }
    }

    /// Rows that no cache holds.
    fn many_rows(&mut self) {
        if !self.has_part("10 M rows") {
            return;
        }
        let (few, many) = (Server::convoke(ROWS, &[]), Server::convoke(MANY_ROWS, &[]));
        let works = [("query by id", Work::GetOnce), ("list of 50", Work::ListOnce), ("transfer", Work::Transfer)];
        self.only.clear();
        for (name, work) in works {
            let title = format!("{name}, 10 M rows / 100,000");
            self.compare(title, 0.7, (&many, work, Wire::Http1), (&few, work, Wire::Http1));
        }
        println!(
            "resident with 10 M rows: {} MiB, with 100,000: {} MiB",
            many.resident_kib() / 1_024,
            few.resident_kib() / 1_024
        );
    }
}

#[cfg(feature = "postgres")]
impl Bench<'_> {
    /// A node on PostgreSQL beside the same by hand, and what each costs the database.
    fn postgres(&mut self) {
        use contenders::postgres::{Spent, address, ids};
        if !self.has_part("postgres") {
            return;
        }
        if address().is_none() {
            return println!("{POSTGRES}");
        }
        let (node, mut by_hand) = (Server::node(ROWS), Server::peer(Contender::AxumPostgres, ROWS));
        by_hand.ids = ids(ROWS);
        self.only.clear();
        for (name, work) in [("query by id", Work::GetOnce), ("transfer", Work::Transfer)] {
            let title = format!("{name}, PostgreSQL / axum + tokio-postgres");
            self.compare(title, 1.0, (&node, work, Wire::Http1), (&by_hand, work, Wire::Http1));
            for (who, server) in [("a node", &node), ("by hand", &by_hand)] {
                let before = self.executor.block_on(Spent::so_far());
                let turn = self.executor.block_on(Load { server, work, wire: Wire::Http1, time: self.time }.run());
                let after = self.executor.block_on(Spent::so_far());
                // Connections are warmed for a fifth of the time, which is not counted otherwise.
                let calls = turn.rate * self.time.as_secs_f64() * 1.2;
                let cpu = (after.cpu - before.cpu).as_secs_f64() * 1e6 / calls;
                let log = (after.log_bytes - before.log_bytes) / calls;
                println!("  {who}: {cpu:.0} µs of the database's CPU a call, {log:.0} bytes of its log");
            }
        }
        node.check_balances();
        by_hand.check_balances();
    }
}

#[cfg(not(feature = "postgres"))]
impl Bench<'_> {
    fn postgres(&self) {
        if self.has_part("postgres") {
            println!("{POSTGRES}");
        }
    }
}

/// Options of the part that needs a server.
const POSTGRES: &str = "PostgreSQL was not measured: e2e/postgres.sh \
                        cargo bench -p convoke --features postgres --bench calls -- postgres";

const DOWNLOAD: &str = "download of 100 MB / nginx, in MB";
const UPLOAD: &str = "upload of 100 MB / write, hash and sync, in MB";

/// Options of a row besides its title.
const PARTS: [&str; 4] = ["live", "memory", "10 M rows", "postgres"];

/// Suffix of a title.
const BUSY: &str = " (busy)";

const TITLES: [&str; 4] = [
    "query that does nothing / bare hyper echo",
    "query by id / bare hyper echo",
    "list of 50 / axum + rusqlite",
    "transfer / axum, group commit",
];

/// Target of each comparison with a peer, in order.
const TARGETS: [f64; 7] = [0.85, 0.75, 1.5, 1.0, 1.3, 1.0, 6.0];

/// Convoke and whom it is compared with.
struct Peers {
    convoke: Server,
    echo: Server,
    axum: Server,
    grouped: Server,
}

impl Peers {
    fn start(accounts: i64) -> Self {
        let (convoke, mut echo) = (Server::convoke(accounts, &[]), Server::peer(Contender::Echo, accounts));
        // It is asked for the same accounts: what is sent to it is to the byte what is sent to Convoke.
        echo.ids.clone_from(&convoke.ids);
        Self {
            convoke,
            echo,
            axum: Server::peer(Contender::Axum, accounts),
            grouped: Server::peer(Contender::AxumGrouped, accounts),
        }
    }

    fn check_balances(&self) {
        for server in [&self.convoke, &self.axum, &self.grouped] {
            server.check_balances();
        }
        println!("balances: every account added up to what was put in");
    }
}
