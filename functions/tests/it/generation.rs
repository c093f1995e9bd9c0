//! The scheduling of generators and the size of their text, for insights and prompts.

use std::sync::atomic::{AtomicUsize, Ordering};

use convoke::prelude::*;
use convoke::testing::{TestApp, TestCaller};
use convoke::{action, args, query, value};
use functions::generation;
use functions::insights::inputs::{Demand, Gather, gather};
use functions::prompts::OfMeeting;
use functions::prompts::inputs::during;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::sync::watch;

use crate::support::{id_of, meeting, system};

const INSIGHTS: &str = "insights/index/generateInsights";
const PROMPTS: &str = "prompts/generation/generatePrompts";

/// Generators of the test, which keep their place until they are released.
struct Held {
    inside: watch::Sender<usize>,
    most: AtomicUsize,
    released: Semaphore,
}

impl Default for Held {
    fn default() -> Self {
        Self { inside: watch::Sender::new(0), most: AtomicUsize::new(0), released: Semaphore::new(0) }
    }
}

/// Generates in a meeting until it is released; returns the name of the thread.
#[action]
pub(crate) async fn hold(ctx: &ActionCtx, args: OfMeeting) -> Result<String> {
    let held = ctx.memory::<Held>();
    let pass = generation::patiently(ctx, generation::enter(ctx, args.meeting_id)).await?;
    held.inside.send_modify(|inside| *inside += 1);
    held.most.fetch_max(*held.inside.borrow(), Ordering::Relaxed);
    held.released.acquire().await.map_err(Error::internal)?.forget();
    held.inside.send_modify(|inside| *inside -= 1);
    generation::work(ctx, pass, || std::thread::current().name().unwrap_or_default().to_owned()).await
}

/// Number to release.
#[args]
pub(crate) struct Count {
    pub count: u32,
}

/// Waits until at least this number is held.
#[action]
pub(crate) async fn until_held(ctx: &ActionCtx, args: Count) -> Result<()> {
    let held = ctx.memory::<Held>();
    let mut inside = held.inside.subscribe();
    inside.wait_for(|inside| *inside >= args.count as usize).await.map_err(Error::internal)?;
    Ok(())
}

/// Releases this number, and returns the greatest number held at once so far.
#[action]
pub(crate) async fn release(ctx: &ActionCtx, args: Count) -> Result<u64> {
    let held = ctx.memory::<Held>();
    held.released.add_permits(args.count as usize);
    Ok(held.most.load(Ordering::Relaxed) as u64)
}

/// The input of generators.
#[value(output)]
pub(crate) struct Amount {
    pub insight_chunks: usize,
    pub insight_bytes: usize,
    pub note_bytes: usize,
    pub prompt_chunks: usize,
    /// Number of rows read completely.
    pub rows: u64,
}

/// Gathers the input of both generators, and returns its size.
#[query]
pub(crate) fn amount(ctx: &QueryCtx, args: OfMeeting) -> Result<Amount> {
    let gathered = ctx.run::<gather>(Gather { meeting_id: args.meeting_id, demand: Demand::Anew, model: None })?;
    let evidence = gathered.ok_or_else(|| Error::internal("nothing gathered"))?.evidence;
    let during = ctx.run::<during>(args)?.ok_or_else(|| Error::internal("nothing said"))?;
    Ok(Amount {
        insight_chunks: evidence.said.len(),
        insight_bytes: evidence.said.iter().map(|said| said.text.len()).sum(),
        note_bytes: evidence.notes.len(),
        prompt_chunks: during.said.len(),
        rows: ctx.db().rows_read(),
    })
}

fn call(path: &'static str, app: &TestApp, args: Value) -> impl Future<Output = Value> {
    let caller = system(app);
    async move { caller.call_async(path, args).await.value().clone() }
}

fn generates(caller: &TestCaller<'_>, path: &'static str, meeting: &str) -> impl Future<Output = ()> {
    let mut args = json!({"meetingId": meeting});
    if path == PROMPTS {
        args["kind"] = json!("in-call");
    }
    async move { drop(caller.call_async(path, args).await.value().clone()) }
}

#[test]
fn generations_of_one_meeting_run_serially_without_blocking_other_meetings() {
    let app = TestApp::configured("[generation]\nat_once = 3\n");
    let ada = app.user("ada");
    let (here, there) = (meeting(&ada, &[]), meeting(&ada, &[]));
    let hold = |meeting: &str| call("generation/hold", &app, json!({"meetingId": meeting}));
    app.block_on(async {
        let tell = async {
            call("generation/untilHeld", &app, json!({"count": 1})).await;
            // A call for another meeting passes those that wait for this one.
            generates(&ada, PROMPTS, &there).await;
            generates(&ada, INSIGHTS, &there).await;
            for _ in 0..3 {
                assert_eq!(call("generation/release", &app, json!({"count": 1})).await, 1, "never two at once");
            }
        };
        let (one, two, three, ()) = tokio::join!(hold(&here), hold(&here), hold(&here), tell);
        assert_eq!([one, two, three], ["convoke-work"; 3], "on a thread of its own");
    });
    app.block_on(generates(&ada, PROMPTS, &here));
}

#[test]
fn few_generate_at_once_and_everybody_else_is_served_meanwhile() {
    let app = TestApp::configured("[generation]\nat_once = 2\n");
    let ada = app.user("ada");
    let id = id_of(&ada);
    let meetings: Vec<String> = (0..6).map(|_| meeting(&ada, &[])).collect();
    app.block_on(async {
        let held = meetings[..4].iter().map(|meeting| call("generation/hold", &app, json!({"meetingId": meeting})));
        let held = futures_util::future::join_all(held);
        let is_through = AtomicUsize::new(0);
        let waiting = async {
            tokio::join!(generates(&ada, PROMPTS, &meetings[4]), generates(&ada, INSIGHTS, &meetings[5]));
            is_through.store(1, Ordering::Relaxed);
        };
        let others = async {
            call("generation/untilHeld", &app, json!({"count": 2})).await;
            for round in 0..20 {
                let reply = ada.call_async("users/queries/getCurrentUser", json!({})).await;
                assert_eq!(reply.value()["_id"], id.as_str());
                let said = json!({
                    "meetingId": meetings[4], "text": "Who pays?", "confidence": 1, "startTime": round, "endTime": round + 1,
                });
                ada.call_async("transcripts/ingestion/ingestTranscriptChunk", said).await.value();
            }
            assert_eq!(is_through.load(Ordering::Relaxed), 0, "they wait for a place");
            assert_eq!(call("generation/release", &app, json!({"count": 4})).await, 2);
        };
        tokio::join!(held, waiting, others);
        assert_eq!(call("generation/release", &app, json!({"count": 0})).await, 2, "never more than two");
    });
    app.advance(std::time::Duration::from_secs(40));
}

#[test]
fn a_generator_reads_the_newest_text_as_far_as_its_window_reaches() {
    let app = TestApp::configured("[generation]\ninsights_window_bytes = 100_000\nprompts_window_bytes = 20_000\n");
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let sentence = |number: usize| format!("I will write chapter {number} of the report. ");
    for batch in 0..6 {
        let chunks: Vec<Value> = (0..50)
            .map(|at| {
                let number = batch * 50 + at;
                let text = sentence(number) + &"Nothing else was of any importance. ".repeat(240);
                json!({
                    "text": text.trim(), "confidence": 1, "startTime": number * 1_000, "endTime": number * 1_000 + 900,
                })
            })
            .collect();
        let args = json!({"meetingId": id, "chunks": chunks});
        ada.call("transcripts/ingestion/ingestTranscriptChunks", args).value();
    }
    let operation = json!({"type": "insert", "position": 0, "content": "- [ ] Ada: call the printer\n".repeat(3_500)});
    for _ in 0..2 {
        let args = json!({"meetingId": id, "clientSequence": 9, "operation": operation});
        ada.call("notes/index/applyNoteOperation", args).value();
    }

    let amount = ada.call("generation/amount", json!({"meetingId": id})).value().clone();
    assert_eq!((&amount["insightChunks"], &amount["promptChunks"]), (&json!(11), &json!(2)));
    assert!(amount["insightBytes"].as_u64().unwrap() <= 100_000);
    assert!((99_000..=100_000).contains(&amount["noteBytes"].as_u64().unwrap()));
    let rows = amount["rows"].as_u64().unwrap();
    assert!(rows < 100, "{rows} rows were read for 13 chunks and 48 pieces of the notes");

    let reply = ada.call(INSIGHTS, json!({"meetingId": id}));
    let lines = reply.log_lines();
    assert!(lines.iter().any(|line| line.contains("11 chunks") && line.contains("older is left out")), "{lines:?}");
    let insight = ada.call("insights/queries/getMeetingInsights", json!({"meetingId": id})).value().to_string();
    assert!(
        insight.contains("chapter 29") && !insight.contains("chapter 28 ") && !insight.contains("chapter 288"),
        "{insight}"
    );
    app.advance(std::time::Duration::from_secs(40));
}
