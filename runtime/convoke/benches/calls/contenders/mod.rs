//! The contenders: each is a process started from this binary.

pub(crate) mod axum;
pub(crate) mod convoke;
pub(crate) mod echo;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod raw;

use std::io::{BufRead, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bank::{BALANCE, OPENED_AT_ONCE};

/// A contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// hyper alone: reads the request and sends an answer of the same bytes as a query's.
    Echo,
    /// axum and rusqlite as they are written by hand: a pool, `spawn_blocking`, one transaction a call.
    Axum,
    /// The same with a writer thread that commits at once what waits.
    AxumGrouped,
    /// axum and tokio-postgres by hand.
    #[cfg(feature = "postgres")]
    AxumPostgres,
}

impl FromStr for Contender {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        [
            Contender::Echo,
            Contender::Axum,
            Contender::AxumGrouped,
            #[cfg(feature = "postgres")]
            Contender::AxumPostgres,
        ]
        .into_iter()
        .find(|contender| format!("{contender:?}") == name)
        .ok_or_else(|| name.to_owned())
    }
}

/// Serves so many accounts as this contender until its parent ends it. Says one line: its address.
pub(crate) fn serve(contender: Contender, folder: &Path, accounts: i64) {
    match contender {
        Contender::Echo => echo::serve(),
        Contender::Axum => axum::serve(folder, axum::Commit::Each, accounts),
        Contender::AxumGrouped => axum::serve(folder, axum::Commit::Grouped, accounts),
        #[cfg(feature = "postgres")]
        Contender::AxumPostgres => postgres::serve(accounts),
    }
}

/// Output of a contender once it serves.
pub(crate) fn announce(address: SocketAddr) {
    println!("{}", json!({ "address": address }));
    std::io::stdout().flush().unwrap();
}

/// A process that serves.
pub(crate) struct Started {
    process: Child,
    address: SocketAddr,
    token: String,
    ids: Vec<String>,
}

/// A contender that serves.
pub(crate) struct Server {
    process: Child,
    pub address: SocketAddr,
    pub token: String,
    /// The accounts' ids, where accounts are asked for by them.
    pub ids: Vec<String>,
    pub accounts: i64,
    folder: TempDir,
}

impl Server {
    /// Starts a peer.
    pub(crate) fn peer(contender: Contender, accounts: i64) -> Self {
        Self::of(accounts, |folder| {
            let mut process = Command::new(std::env::current_exe().unwrap())
                .args(["--contender", &format!("{contender:?}"), &accounts.to_string()])
                .arg(folder)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut line = String::new();
            BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let said: Value = serde_json::from_str(&line).unwrap();
            let address = said["address"].as_str().unwrap().parse().unwrap();
            Started { process, address, token: String::new(), ids: Vec::new() }
        })
    }

    /// Starts `serve` of this program.
    pub(crate) fn convoke(accounts: i64, settings: &[(&str, &str)]) -> Self {
        Self::of(accounts, |folder| convoke::start(folder, accounts, settings))
    }

    /// Starts `serve` of this program with a settings file.
    pub(crate) fn convoke_with(accounts: i64, settings: &str) -> Self {
        Self::of(accounts, |folder| {
            let file = folder.join("convoke.toml");
            std::fs::write(&file, settings).unwrap();
            convoke::start(folder, accounts, &[("CONVOKE_CONFIG", file.to_str().unwrap())])
        })
    }

    fn of(accounts: i64, start: impl FnOnce(&Path) -> Started) -> Self {
        let folder = TempDir::new().unwrap();
        let Started { process, address, token, ids } = start(folder.path());
        Self { process, address, token, ids, accounts, folder }
    }

    /// CPU time of the process so far, by the kernel's count.
    pub(crate) fn cpu(&self) -> Duration {
        cpu_of(self.process.id())
    }

    /// Has the bare hyper answer a list with the bytes that this server answers it with.
    pub(crate) fn teach_list(&self, echo: &Server) {
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = reqwest::Client::new();
        let at = |server: &Server| format!("http://{}/api/run/bank/listAccounts", server.address);
        let args = r#"{"args":{"owner":"owner-0"}}"#;
        executor.block_on(async {
            let list =
                client.post(at(self)).header("content-type", "application/json").body(args).send().await.unwrap();
            let list = list.bytes().await.unwrap();
            client.put(at(echo)).body(list.clone()).send().await.unwrap();
            let taught = client.post(at(echo)).body(args).send().await.unwrap().bytes().await.unwrap();
            assert_eq!(taught, list);
        });
    }

    /// Adds up every balance.
    pub(crate) fn check_balances(&self) {
        let url = format!("http://{}/api/run/bank/total", self.address);
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = reqwest::Client::new();
        let total: i64 = (0..self.accounts)
            .step_by(usize::try_from(OPENED_AT_ONCE).unwrap())
            .map(|first| {
                let args = json!({ "args": { "first": first, "count": OPENED_AT_ONCE } }).to_string();
                let request = client.post(&url).header("content-type", "application/json").body(args);
                let body = executor.block_on(async { request.send().await.unwrap().bytes().await.unwrap() });
                let reply: Value = serde_json::from_slice(&body).unwrap();
                reply["value"].as_i64().unwrap_or_else(|| panic!("{reply}"))
            })
            .sum();
        assert_eq!(total, self.accounts * BALANCE, "money appeared or vanished");
    }
}

/// CPU time of a process so far, by the kernel's count.
pub(crate) fn cpu_of(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // After the name in parentheses: state is field 3, utime and stime are 14 and 15, in ticks of 10 ms.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
