//! A disk whose reads, writes and syncs fail, or that is full, at random moments and for random durations under load.
//! Sometimes the process is killed during a fault.

use std::thread::sleep;

use tempfile::TempDir;

use crate::ledger::{self, Running};
use crate::process::{Server, convoke, minted};
use crate::shim::{Calls, EIO, ENOSPC, Faults};
use crate::{Numbers, Turn, without_rates};

const CLIENTS: usize = 8;
const FAULTS: [(Calls, i32); 4] =
    [(Calls::Reads, EIO), (Calls::Writes, EIO), (Calls::Writes, ENOSPC), (Calls::Syncs, EIO)];

#[test]
#[ignore = "it takes TORTURE_MINUTES"]
fn disk() {
    let turn = Turn::begin("disk");
    let folder = TempDir::new().unwrap();
    without_rates(folder.path());
    let token = minted(folder.path());
    // The library identifies the database by its folder, so the folder must exist.
    Server::start(&mut convoke(folder.path())).stop();
    let faults = Faults::new();
    let mut numbers = Numbers(u64::from(std::process::id()));
    let (mut clients, mut failed, mut kills) = (ledger::clients(CLIENTS), 0_u64, 0_u64);
    while !turn.is_over() {
        let mut command = convoke(folder.path());
        faults.preload(&mut command, &folder.path().join("data/convoke.db"));
        let server = Server::start(&mut command);
        let running = Running::start(server.address(), &token, clients);
        let mut killed = false;
        for _ in 0..20 {
            sleep(numbers.millis(20, 200));
            let (calls, errno) = FAULTS[usize::try_from(numbers.below(4)).unwrap()];
            faults.fail(calls, errno);
            failed += 1;
            sleep(numbers.millis(5, 150));
            if numbers.below(20) == 0 {
                killed = true;
                break;
            }
            faults.mend(calls);
            server.until(|| server.get("/readyz").0 == 200);
        }
        if killed {
            drop(server);
            kills += 1;
            clients = running.stop();
        } else {
            clients = running.stop();
            server.stop();
        }
        for (calls, _) in FAULTS {
            faults.mend(calls);
        }
    }
    ledger::check(folder.path(), &clients);
    let done = ledger::acknowledged(&clients);
    assert!(done > 0 && failed > 0);
    turn.say(&format!("{failed} faults, {kills} kills among them, {done} acknowledged, none lost or doubled"));
}
