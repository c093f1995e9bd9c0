//! Mixed load from 64 clients: memory, descriptors and latency must stay at the values after the warm-up. The stored data
//! grows, and the memory of the process must not grow with it.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ledger::call;
use crate::process::{Server, convoke, minted};
use crate::{Numbers, Turn, resources, without_rates};

const CLIENTS: usize = 64;
/// Number of calls of one client in one meeting before it creates the next.
const CALLS_A_MEETING: u64 = 500;
const SAMPLES: usize = 30;

#[test]
#[ignore = "it takes TORTURE_MINUTES"]
fn soak() {
    let turn = Turn::begin("soak");
    let folder = TempDir::new().unwrap();
    without_rates(folder.path());
    let token = minted(folder.path());
    let server = Server::start(&mut convoke(folder.path()));
    let stop = Arc::new(AtomicBool::new(false));
    let began = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|name| {
            let (address, token, stop) = (server.address(), token.clone(), stop.clone());
            std::thread::spawn(move || work(address, &token, name, began, &stop))
        })
        .collect();
    let step = turn.end.saturating_duration_since(began) / u32::try_from(SAMPLES).unwrap();
    let mut samples = Vec::new();
    for _ in 0..SAMPLES {
        std::thread::sleep(step);
        samples.push(resources(server.id()));
    }
    stop.store(true, Ordering::Relaxed);
    let elapsed: Vec<(Duration, Duration)> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
    let third = |part: u32| {
        let within = |at: Duration| at >= step * 10 * part && at < step * 10 * (part + 1);
        let mut times: Vec<Duration> = elapsed.iter().filter(|(at, _)| within(*at)).map(|(_, time)| *time).collect();
        times.sort_unstable();
        let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
        let samples = &samples[10 * part as usize..10 * (part as usize + 1)];
        let most = |of: fn(&(u64, usize)) -> u64| samples.iter().map(of).max().unwrap();
        let (kib, files) = (most(|sample| sample.0), most(|sample| sample.1 as u64));
        turn.say(&format!(
            "third {}: {} calls, p50 {:.1} ms, p99 {:.1} ms, {} MiB resident, {files} descriptors",
            part + 1,
            times.len(),
            at(50).as_secs_f64() * 1e3,
            at(99).as_secs_f64() * 1e3,
            kib / 1024
        ));
        (kib, files)
    };
    let (_, warm, last) = (third(0), third(1), third(2));
    // A margin for fragmentation in the allocator.
    assert!(last.0 <= warm.0 + warm.0 / 10 + 32 * 1024, "memory grows: {warm:?} KiB, then {last:?}");
    assert!(last.1 <= warm.1 + 8, "descriptors grow: {warm:?}, then {last:?}");
    let database = std::fs::metadata(folder.path().join("data/convoke.db")).unwrap().len();
    turn.say(&format!("the database has {} MiB", database >> 20));
    server.stop();
}

/// Makes the mixed calls of a meeting. Records the start of each, relative to the beginning, and its duration.
fn work(address: SocketAddr, token: &str, name: usize, began: Instant, stop: &AtomicBool) -> Vec<(Duration, Duration)> {
    let mut stream = TcpStream::connect(address).unwrap();
    let (mut numbers, mut elapsed, mut calls) = (Numbers(name as u64), Vec::new(), 0_u64);
    let mut meeting = Value::Null;
    while !stop.load(Ordering::Relaxed) {
        let (path, args) = if calls.is_multiple_of(CALLS_A_MEETING) {
            ("meetings/lifecycle/createMeeting", json!({ "title": format!("Meeting {name} {calls}") }))
        } else {
            mix(&mut numbers, &meeting, calls)
        };
        let start = Instant::now();
        let reply = call(&mut stream, token, path, &args).expect("the server lives");
        // A short overload is reported to the client and is no fault.
        let code = reply["errorData"]["code"].as_str().unwrap_or_default();
        assert!(reply["status"] == "success" || matches!(code, "OVERLOADED" | "TIMEOUT"), "{path}: {reply}");
        elapsed.push((start - began, start.elapsed()));
        if let Some(made) = reply["value"].get("meetingId") {
            meeting = made.clone();
        }
        // A rejected call is retried, because the next calls need its meeting.
        calls += u64::from(!meeting.is_null());
        std::thread::sleep(numbers.millis(1, 20));
    }
    elapsed
}

fn mix(numbers: &mut Numbers, meeting: &Value, n: u64) -> (&'static str, Value) {
    match numbers.below(10) {
        0 | 1 => {
            let operation = json!({ "type": "insert", "position": 0, "content": format!("{n} ") });
            let args = json!({ "meetingId": meeting, "clientSequence": 1_u64 << 40, "operation": operation });
            ("notes/index/applyNoteOperation", args)
        }
        2 | 3 => {
            let metadata = json!({ "handRaised": n.is_multiple_of(2) });
            let args = json!({ "meetingId": meeting, "presence": "joined", "metadata": metadata });
            ("realtime/batchedOperations/batchUpdatePresence", args)
        }
        4 => {
            let args = json!({
                "meetingId": meeting, "text": format!("We said this, and then that, {n} times."), "confidence": 0.9,
                "startTime": n * 1_000, "endTime": n * 1_000 + 900
            });
            ("transcripts/ingestion/ingestTranscriptChunk", args)
        }
        5 => ("users/mutations/updateLastSeen", json!({})),
        6 => ("meetings/queries/listMeetingParticipants", json!({ "meetingId": meeting })),
        7 => ("notes/queries/getMeetingNotes", json!({ "meetingId": meeting })),
        8 => ("transcripts/ingestion/getTranscriptStats", json!({ "meetingId": meeting })),
        _ => ("meetings/queries/listUserMeetings", json!({ "limit": 20 })),
    }
}
