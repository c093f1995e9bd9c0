//! What the heavy functions cost a call: notes on a short and on a long document, ingestion, presence, listing; and what
//! it costs to read an hour's transcript.
//!
//! ```sh
//! cargo bench -p functions --bench cost
//! ```
//!
//! In process, on a real database with durable commits, 64 calls at a time. The short and the long document take turns,
//! round after round; what counts is their ratio.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at the first surprise and prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures the machine's time")]

use std::time::Instant;

use convoke::testing::{TestApp, TestCaller};
use serde_json::{Value, json};

/// Calls at a time.
const CONCURRENT: usize = 64;
/// Turns of every work.
const ROUNDS: usize = 9;

fn main() {
    let rates = "[rates]\nnotes = 0\nwrite = 0\nread = 0\ntranscripts = 0";
    let app = TestApp::with(|options| options.settings = rates.parse().unwrap());
    let ada = app.user("ada");
    let short = meeting(&app, 0);
    let long = meeting(&app, 0);
    lengthen(&ada, &long);
    let (few, many) = (meeting(&app, 1), meeting(&app, 200));

    let edit = |meeting: &Value| {
        let operation = json!({ "type": "insert", "position": 7, "content": "typed" });
        json!({ "meetingId": meeting, "clientSequence": i64::from(i32::MAX), "operation": operation })
    };
    let base = |ada: &TestCaller<'_>, meeting: &Value| ada.call("notes/queries/getMeetingNotes", id(meeting));
    assert!(base(&ada, &long).value()["content"].as_str().unwrap().len() >= 100_000);
    edit_first(&ada, &short);
    compare(&app, "applyNoteOperation: 100,000 units, 10,000 entries / a short one", EDIT, &edit(&long), &edit(&short));
    compare(&app, "listMeetingParticipants: 200 people / 2", LIST, &id(&many), &id(&few));

    let chunk = json!({
        "meetingId": short, "text": "and so we decided to ship it in March", "confidence": 0.9,
        "startTime": 1_000, "endTime": 4_000,
    });
    alone(&app, "ingestTranscriptChunk", "transcripts/ingestion/ingestTranscriptChunk", &chunk);
    let presence = json!({ "meetingId": short, "presence": "joined", "metadata": { "on": "web" } });
    alone(&app, "batchUpdatePresence", "realtime/batchedOperations/batchUpdatePresence", &presence);
    app.run_due();
    hour();
}

/// Cost of reading an hour's transcript and one of four hours; it should grow with the length.
fn hour() {
    use functions::insights::generator::analysis::Analysis;
    use reading::material::{Chunk, Material, Person};

    let said = [
        ("Ada", "So the launch date for the mobile app is the big one today, and the app store review is late."),
        ("Bob", "Could you draft the release notes for the app store, please?"),
        ("Ada", "Sure, I'll have them ready by Friday. We also need to rotate the signing key of team"),
        ("Bob", "I think the vector database needs a larger disk because the index grows every month."),
        ("Cleo", "Okay, we've decided to move the launch date to April. Dana will send us her comments on page"),
        ("Ada", "If it gets bad again, I'll call the vendor. Who pays for the larger disk?"),
    ];
    let people =
        ["Ada", "Bob", "Cleo"].map(|name| Person { id: name.to_owned(), name: name.to_owned(), ..Person::default() });
    let material = |hours: i64| {
        let chunks = (0..hours * 720).map(|at| {
            let (speaker, text) = said[usize::try_from(at).unwrap() % said.len()];
            Chunk {
                speaker_id: speaker.to_owned(),
                speaker_name: speaker.to_owned(),
                start_ms: at * 5_000,
                end_ms: at * 5_000 + 4_800,
                text: format!("{text} {}.", at % 97),
                language: None,
            }
        });
        Material { chunks: chunks.collect(), people: people.to_vec(), held_ms: Some(0), ..Material::default() }
    };
    for hours in [1, 4] {
        let material = material(hours);
        let read = || {
            let start = Instant::now();
            assert!(!Analysis::of(&material).insights_for("Ada").action_items.is_empty());
            start.elapsed().as_secs_f64() * 1e3
        };
        read();
        let turns = sorted((0..ROUNDS).map(|_| read()));
        println!(
            "insights of {hours} h of talk: {:.0} ms [{:.0} … {:.0}]",
            turns[ROUNDS / 2],
            turns[0],
            turns[ROUNDS - 1]
        );
    }
}

const EDIT: &str = "notes/index/applyNoteOperation";
const LIST: &str = "meetings/queries/listMeetingParticipants";

fn id(meeting: &Value) -> Value {
    json!({ "meetingId": meeting })
}

/// An active meeting with so many others in it.
fn meeting(app: &TestApp, others: usize) -> Value {
    let ada = app.user("ada");
    let meeting = ada.call("meetings/lifecycle/createMeeting", json!({ "title": "Cost" })).value()["meetingId"].clone();
    for i in 0..others {
        let user = format!("user-{i}");
        app.user(&user).call("users/mutations/updateLastSeen", json!({})).value();
        let args = json!({ "meetingId": meeting, "userId": user });
        ada.call("meetings/lifecycle/addParticipant", args).value();
    }
    meeting
}

/// Makes the notes 100,000 units long, with more than 10,000 entries behind them.
fn lengthen(ada: &TestCaller<'_>, meeting: &Value) {
    let batch = |operations: Vec<Value>| {
        let operations: Vec<Value> =
            operations.into_iter().map(|operation| json!({ "operation": operation })).collect();
        let args = json!({ "meetingId": meeting, "operations": operations });
        ada.call("notes/index/batchApplyNoteOperations", args).value();
    };
    batch(vec![json!({ "type": "insert", "position": 0, "content": "x".repeat(100_000) })]);
    for turn in 0..101 {
        let position = turn * 7_919 % 100_000;
        let insert = json!({ "type": "insert", "position": position, "content": "y" });
        let delete = json!({ "type": "delete", "position": position, "length": 1 });
        batch((0..50).flat_map(|_| [insert.clone(), delete.clone()]).collect());
    }
}

fn edit_first(ada: &TestCaller<'_>, meeting: &Value) {
    let operation = json!({ "type": "insert", "position": 0, "content": "a few words" });
    ada.call(EDIT, json!({ "meetingId": meeting, "clientSequence": 0, "operation": operation })).value();
}

/// Microseconds a call, 64 at a time.
fn turn(app: &TestApp, path: &str, args: &Value) -> f64 {
    let ada = app.user("ada");
    let start = Instant::now();
    let replies =
        app.block_on(futures_util::future::join_all((0..CONCURRENT).map(|_| ada.call_async(path, args.clone()))));
    let elapsed = start.elapsed();
    for reply in &replies {
        reply.value();
    }
    elapsed.as_secs_f64() * 1e6 / CONCURRENT as f64
}

fn compare(app: &TestApp, title: &str, path: &str, heavy: &Value, light: &Value) {
    turn(app, path, heavy);
    turn(app, path, light);
    let turns: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (turn(app, path, heavy), turn(app, path, light))).collect();
    let ratios = sorted(turns.iter().map(|(heavy, light)| heavy / light));
    println!(
        "{title}: {:.2} [{:.2} … {:.2}]; {:.0} µs and {:.0} µs a call",
        ratios[ROUNDS / 2],
        ratios[0],
        ratios[ROUNDS - 1],
        sorted(turns.iter().map(|turn| turn.0))[ROUNDS / 2],
        sorted(turns.iter().map(|turn| turn.1))[ROUNDS / 2],
    );
}

fn alone(app: &TestApp, title: &str, path: &str, args: &Value) {
    turn(app, path, args);
    let turns = sorted((0..ROUNDS).map(|_| turn(app, path, args)));
    println!("{title}: {:.0} µs a call [{:.0} … {:.0}]", turns[ROUNDS / 2], turns[0], turns[ROUNDS - 1]);
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
