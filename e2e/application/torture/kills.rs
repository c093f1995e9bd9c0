//! SIGKILL at random moments under load, many times on one data folder.

use std::path::Path;

use tempfile::TempDir;

use crate::ledger::{self, Client, Running};
use crate::process::{Server, convoke, minted};
use crate::{Numbers, Turn, without_rates};

/// Number of kills of the short test.
const KILLS: u64 = 50;
const CLIENTS: usize = 8;

#[test]
fn acknowledged_meetings_survive_sigkill_completely() {
    let mut left = KILLS;
    let kills = kill(Numbers(0x5eed), |_| {
        left -= 1;
        left > 0
    });
    assert_eq!(kills, KILLS);
}

#[test]
#[ignore = "it takes TORTURE_MINUTES"]
fn kills() {
    let turn = Turn::begin("kills");
    let kills = kill(Numbers(u64::from(std::process::id())), |clients| {
        if turn.is_over() {
            turn.say(&format!("{} acknowledged, none lost or doubled", ledger::acknowledged(clients)));
        }
        !turn.is_over()
    });
    turn.say(&format!("{kills} kills"));
}

/// Repeats start, load and kill, then checks the data. Returns the number of kills.
fn kill(mut moments: Numbers, mut goes_on: impl FnMut(&[Client]) -> bool) -> u64 {
    let folder = TempDir::new().unwrap();
    without_rates(folder.path());
    let token = minted(folder.path());
    let (mut clients, mut kills) = (ledger::clients(CLIENTS), 0);
    loop {
        clients = until_killed(folder.path(), &token, &mut moments, clients);
        kills += 1;
        if !goes_on(&clients) {
            break;
        }
    }
    let done = ledger::acknowledged(&clients);
    assert!(done >= usize::try_from(kills).unwrap(), "{done} calls in {kills} lives");
    ledger::check(folder.path(), &clients);
    kills
}

fn until_killed(folder: &Path, token: &str, moments: &mut Numbers, clients: Vec<Client>) -> Vec<Client> {
    let server = Server::start(&mut convoke(folder));
    let running = Running::start(server.address(), token, clients);
    // Each process has handled calls, on slow machines too.
    server.until(|| running.acknowledged() > 0);
    std::thread::sleep(moments.millis(5, 125));
    // Dropping it sends SIGKILL: no handler runs, and no file is closed.
    drop(server);
    running.stop()
}
