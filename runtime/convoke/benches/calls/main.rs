//! What a call costs, beside the same work written by hand.
//!
//! ```sh
//! cargo bench -p convoke --bench calls            # all rounds, a few minutes
//! cargo bench -p convoke --bench calls -- --quick # one short round, to see that it runs
//! ```
//!
//! Every contender is a process of its own on a database of its own; 64 connections of this process load one at a
//! time. The contenders of a comparison take turns, round after round, so that a noisy moment meets both; what is
//! printed is the ratio of the rounds: its median, least and greatest. The CPU time of the server a request is printed
//! beside it: it is the steadier figure. After the transfers every balance is added up: money that appeared or vanished
//! fails the run.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at the first surprise and prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures the machine's time")]

mod bank;
mod contenders;
mod load;
mod report;

use std::path::Path;
use std::time::Duration;

use contenders::{Contender, Server};
use load::{Load, Work};
use report::{Comparison, print_head};

/// Connections of the load.
const CONNECTIONS: usize = 64;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, flag, name, folder] = args.as_slice()
        && flag == "--contender"
    {
        return contenders::serve(name.parse().unwrap(), Path::new(folder));
    }
    let quick = args.iter().any(|arg| arg == "--quick" || arg == "--test");
    let (rounds, time) = if quick { (1, Duration::from_millis(300)) } else { (7, Duration::from_secs(3)) };
    print_head(rounds, time, CONNECTIONS);

    let convoke = Server::start(Contender::Convoke);
    let echo = Server::start(Contender::Echo);
    let axum = Server::start(Contender::Axum);
    let grouped = Server::start(Contender::AxumGrouped);
    let executor = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let load =
        |server: &Server, work: Work| executor.block_on(Load { server, work, connections: CONNECTIONS, time }.run());

    let mut comparisons = Vec::new();
    let mut compare = |title, target, ours: (&Server, Work), theirs: (&Server, Work)| {
        let mut comparison = Comparison::new(title, target);
        for round in 0..=rounds {
            let (first, second) = (load(ours.0, ours.1), load(theirs.0, theirs.1));
            // The first round warms caches and pools.
            if round > 0 || quick {
                comparison.add(first, second);
            }
        }
        comparison.print();
        comparisons.push(comparison);
    };
    compare("query by id / bare hyper echo", 0.80, (&convoke, Work::Get), (&echo, Work::Get));
    compare("list of 50 rows / axum + rusqlite", 1.5, (&convoke, Work::List), (&axum, Work::List));
    compare("transfer / axum, group commit", 1.0, (&convoke, Work::Transfer), (&grouped, Work::Transfer));
    compare("transfer / axum, one transaction a call", 6.0, (&convoke, Work::Transfer), (&axum, Work::Transfer));
    compare("query with a JWT / without", 0.90, (&convoke, Work::GetWithToken), (&convoke, Work::Get));

    let mut raw = Comparison::new("transfer / raw rusqlite, no HTTP", 0.75);
    for _ in 0..rounds {
        raw.add(load(&convoke, Work::Transfer), contenders::raw::transfers(time, CONNECTIONS));
    }
    raw.print();

    for server in [&convoke, &axum, &grouped] {
        server.check_balances();
    }
    println!("\nbalances: every account added up to what was put in");
}
