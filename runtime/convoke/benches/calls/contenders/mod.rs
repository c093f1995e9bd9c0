//! Who is compared: each a process of its own, started from this very binary.

pub(crate) mod axum;
pub(crate) mod convoke;
pub(crate) mod echo;
pub(crate) mod raw;

use std::io::{BufRead, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bank::{ACCOUNTS, BALANCE};

/// A contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// This runtime, as `serve` runs it.
    Convoke,
    /// hyper alone: reads the request and sends an answer of the same bytes as a query's.
    Echo,
    /// axum and rusqlite as they are written by hand: a pool, `spawn_blocking`, one transaction a call.
    Axum,
    /// The same with a writer thread that commits many transfers at once.
    AxumGrouped,
}

impl FromStr for Contender {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        [Contender::Convoke, Contender::Echo, Contender::Axum, Contender::AxumGrouped]
            .into_iter()
            .find(|contender| format!("{contender:?}") == name)
            .ok_or_else(|| name.to_owned())
    }
}

/// Serves as this contender until its parent ends it. Says one line: its address, a token, and the accounts' ids.
pub(crate) fn serve(contender: Contender, folder: &Path) {
    match contender {
        Contender::Convoke => convoke::serve(folder),
        Contender::Echo => echo::serve(),
        Contender::Axum => axum::serve(folder, axum::Commit::Each),
        Contender::AxumGrouped => axum::serve(folder, axum::Commit::Grouped),
    }
}

/// What a contender says once it serves.
pub(crate) fn announce(address: SocketAddr, token: &str, ids: &[String]) {
    println!("{}", json!({ "address": address, "token": token, "ids": ids }));
    std::io::stdout().flush().unwrap();
}

/// A contender that serves.
pub(crate) struct Server {
    process: Child,
    pub address: SocketAddr,
    pub token: String,
    pub ids: Vec<String>,
    _folder: TempDir,
}

impl Server {
    pub(crate) fn start(contender: Contender) -> Self {
        let folder = TempDir::new().unwrap();
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--contender", &format!("{contender:?}")])
            .arg(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self {
            process,
            address: text(&said["address"]).parse().unwrap(),
            token: text(&said["token"]),
            ids: said["ids"].as_array().unwrap().iter().map(text).collect(),
            _folder: folder,
        }
    }

    /// CPU time of the process so far, by the kernel's count.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap_or_default();
        // After the name in parentheses: state is field 3, utime and stime are 14 and 15, in ticks of 10 ms.
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
        Duration::from_millis(10 * (ticks(11) + ticks(12)))
    }

    /// Adds up every balance.
    pub(crate) fn check_balances(&self) {
        let url = format!("http://{}/api/run/bank/total", self.address);
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let body = executor.block_on(async {
            let client = reqwest::Client::new();
            let request = client.post(url).header("content-type", "application/json").body(r#"{"args":{}}"#);
            request.send().await.unwrap().bytes().await.unwrap()
        });
        let reply: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(reply["value"], json!(ACCOUNTS * BALANCE), "money appeared or vanished: {reply}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
