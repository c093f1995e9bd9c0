//! A clock that jumps by up to two hours in both directions under load. Work that is queued before a jump runs after it.

use std::net::TcpStream;
use std::thread::sleep;

use serde_json::json;
use tempfile::TempDir;

use crate::ledger::{self, Running};
use crate::process::{Server, convoke, minted};
use crate::shim::Faults;
use crate::{Numbers, Turn, without_rates};

const CLIENTS: usize = 4;
const QUEUE: &str = "notes/offline/queueOfflineOperations";
const STATUS: &str = "notes/offline/getOfflineQueueStatus";

#[test]
#[ignore = "it takes TORTURE_MINUTES"]
fn clock() {
    let turn = Turn::begin("clock");
    let folder = TempDir::new().unwrap();
    without_rates(folder.path());
    // The issue time of the token is before every time that the server sees.
    let token = minted(folder.path());
    let faults = Faults::new();
    let mut command = convoke(folder.path());
    faults.preload(&mut command, folder.path());
    faults.shift_clock(3_600);
    let server = Server::start(&mut command);
    let running = Running::start(server.address(), &token, ledger::clients(CLIENTS));
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let mut call = |path: &str, args| {
        let reply = ledger::call(&mut stream, &token, path, &args).unwrap();
        assert_eq!(reply["status"], "success", "{path}: {reply}");
        reply["value"].clone()
    };
    let room = call("meetings/lifecycle/createMeeting", json!({ "title": "Offline" }))["meetingId"].clone();
    let (mut numbers, mut jumps) = (Numbers(u64::from(std::process::id())), 0_u64);
    while !turn.is_over() {
        let operation = json!({
            "id": format!("op{jumps}"), "clientId": "phone", "authorId": "ada", "attempts": 0, "position": 0,
            "queuedAt": 0, "sequence": jumps, "timestamp": 0, "status": "pending", "type": "insert", "content": format!("<offline-{jumps}>")
        });
        call(QUEUE, json!({ "clientId": "phone", "meetingId": room, "operations": [operation] }));
        let seconds = i32::try_from(numbers.below(7_200)).unwrap();
        faults.shift_clock(seconds);
        jumps += 1;
        // The server finds due work quickly after each jump.
        let mut pending = 1;
        for _ in 0..3_000 {
            let status = call(STATUS, json!({ "clientId": "phone", "meetingId": room }));
            assert_eq!(status["failed"], 0, "{status}");
            pending = status["pending"].as_u64().unwrap();
            if pending == 0 {
                break;
            }
            sleep(numbers.millis(10, 30));
        }
        assert_eq!(pending, 0, "what was queued before jump {jumps} to {seconds} s waits for the old time");
    }
    let clients = running.stop();
    server.stop();
    ledger::check(folder.path(), &clients);
    let done = ledger::acknowledged(&clients);
    turn.say(&format!("{jumps} jumps, {done} acknowledged, none lost or doubled, all that was queued was drained"));
}
