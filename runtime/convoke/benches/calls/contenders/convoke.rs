//! This runtime: the program's own `serve` with its default settings, its log going to a file.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use convoke::Caller;
use convoke::embed::{Runtime, RuntimeOptions};
use convoke_core::clock::SystemClock;
use convoke_server::auth::Environment;
use convoke_server::auth::development::{DevelopmentIssuer, DevelopmentUser};

use super::{Server, Started};
use crate::bank::{self, OPENED_AT_ONCE, OpenAccounts};

/// Fills a database and serves it, with these variables of the environment.
pub(crate) fn start(folder: &Path, accounts: i64, settings: &[(&str, &str)]) -> Started {
    let executor = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let ids = executor.block_on(async {
        let runtime = Runtime::start(RuntimeOptions::in_folder(folder, convoke::embed::default_engine())).unwrap();
        let mut ids = Vec::new();
        for first in (0..accounts).step_by(usize::try_from(OPENED_AT_ONCE).unwrap()) {
            ids.extend(runtime.run::<bank::open_accounts>(Caller::Nobody, OpenAccounts { first }).await.unwrap());
        }
        runtime.store().close();
        ids.iter().map(ToString::to_string).collect()
    });
    let (process, address) = serve(folder, settings);
    let token = tokens(folder, &["ada".to_owned()]).remove(0);
    Started { process, address, token, ids }
}

/// Serves what a folder, or the store that the environment names, holds.
pub(crate) fn serve(folder: &Path, settings: &[(&str, &str)]) -> (Child, SocketAddr) {
    let log = folder.join("serve.log");
    // Without a provider of identities, the environment of development has an issuer of its own; nothing else differs.
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["serve", "--env", "development", "--listen", "127.0.0.1:0", "--data"])
        .arg(folder)
        .envs(settings.iter().copied())
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    loop {
        let said = BufReader::new(File::open(&log).unwrap()).lines().map_while(Result::ok);
        let address =
            said.filter_map(|line| line.split_once("listening on http://").map(|(_, at)| at.to_owned())).next();
        if let Some(address) = address {
            return (process, address.parse().unwrap());
        }
        let ended = process.try_wait().unwrap();
        assert!(ended.is_none(), "{}", std::fs::read_to_string(&log).unwrap());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn tokens(folder: &Path, subjects: &[String]) -> Vec<String> {
    let issuer = DevelopmentIssuer::open(folder, Environment::Development, Arc::new(SystemClock::new())).unwrap();
    let token = |subject: &String| issuer.mint(&DevelopmentUser::new(subject), Duration::from_secs(3_600)).unwrap();
    subjects.iter().map(token).collect()
}

impl Server {
    /// Tokens of so many people.
    pub(crate) fn tokens(&self, people: usize) -> Vec<String> {
        let subjects: Vec<String> = (0..people).map(|number| format!("person-{number}")).collect();
        tokens(self.folder.path(), &subjects)
    }

    /// Resident memory of the process, in KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}
