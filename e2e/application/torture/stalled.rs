//! Hundreds of clients that send nothing, stop in the middle of a head or a body, or do not read their responses, over
//! HTTP/1.1 and HTTP/2. Other clients are served, memory stays bounded, and no resources remain afterwards.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ledger;
use crate::process::{Server, convoke, minted, minted_for};
use crate::{Turn, resources, without_rates};

/// Number of connections per kind of stalled client.
const STALLED: usize = 100;
/// Number of calls per HTTP/2 connection whose responses are not read.
const STREAMS: usize = 100;
const HTTP2_CONNECTIONS: usize = 10;
/// Largest memory of the process.
const RESIDENT_KIB_MAX: u64 = 512 * 1024;
const LIST: &str = "transcripts/queries/listTranscriptChunks";

#[test]
#[ignore = "it takes TORTURE_MINUTES"]
fn stalled() {
    let turn = Turn::begin("stalled");
    let folder = TempDir::new().unwrap();
    without_rates(folder.path());
    // Short timeouts, so that the test does not wait a minute for each disconnect.
    let toml = std::fs::read_to_string(folder.path().join("convoke.toml")).unwrap();
    std::fs::write(folder.path().join("convoke.toml"), format!("{toml}response_stall_timeout = \"5s\"\n")).unwrap();
    let token = minted(folder.path());
    let server = Server::start(&mut convoke(folder.path()));
    let caller = |token: String| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        move |path: &str, args: Value| {
            let reply = ledger::call(&mut stream, &token, path, &args).expect("others are served");
            assert_eq!(reply["status"], "success", "{path}: {reply}");
            reply["value"].clone()
        }
    };
    // The guarantee covers other users than the one whose clients stall.
    let mut call = caller(minted_for(folder.path(), "bob"));
    let own = call("meetings/lifecycle/createMeeting", json!({ "title": "Of somebody else" }))["meetingId"].clone();
    let meeting = transcript(&mut caller(token.clone()));
    let args = json!({ "meetingId": meeting, "limit": 300 });
    let (mut rounds, mut served, mut most) = (0_u64, 0_u64, 0);
    let (_, before) = resources(server.id());
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    while !turn.is_over() {
        let stalled = of_http1(server.address(), &token, &args);
        let streams = executor.block_on(of_http2(server.address(), &token, &args));
        for n in 0..200 {
            call("users/mutations/updateLastSeen", json!({}));
            call("meetings/queries/getMeeting", json!({ "meetingId": own }));
            served += 2;
            most = most.max(resources(server.id()).0);
            // The HTTP/2 clients answer pings but do not read responses.
            let pause = Duration::from_millis(if n % 10 == 0 { 50 } else { 1 });
            executor.block_on(async { tokio::time::sleep(pause).await });
        }
        assert!(most < RESIDENT_KIB_MAX, "{most} KiB after {rounds} rounds");
        drop((stalled, streams));
        rounds += 1;
    }
    server.until(|| resources(server.id()).1 <= before + 8);
    turn.say(&format!(
        "{rounds} rounds of {} stalled connections, {served} calls of others, at most {} MiB resident",
        4 * STALLED + HTTP2_CONNECTIONS,
        most / 1024
    ));
}

/// Creates a meeting with several megabytes of transcript. Returns its id.
fn transcript(call: &mut impl FnMut(&str, Value) -> Value) -> Value {
    let meeting = call("meetings/lifecycle/createMeeting", json!({ "title": "Long" }))["meetingId"].clone();
    let text = "All that was said. ".repeat(470);
    for batch in 0..3 {
        let chunks: Vec<Value> = (batch * 100..(batch + 1) * 100)
            .map(|n| json!({ "text": text, "confidence": 0.9, "startTime": n * 1_000, "endTime": n * 1_000 + 900 }))
            .collect();
        call("transcripts/ingestion/ingestTranscriptChunks", json!({ "meetingId": meeting, "chunks": chunks }));
    }
    meeting
}

fn request(token: &str, body: &str) -> String {
    format!(
        "POST /api/run/{LIST} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         authorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Opens connections that send nothing, that stop in the head or the body, or that read nothing.
fn of_http1(address: SocketAddr, token: &str, args: &Value) -> Vec<TcpStream> {
    let whole = request(token, &json!({ "args": args }).to_string());
    let large = request(token, &format!("{{\"args\":{{\"padding\":\"{}\"}}}}", "x".repeat(900_000)));
    let mut held = Vec::new();
    for sent in [&whole[..0], &whole[..60], &large[..100_000], &whole[..]] {
        for _ in 0..STALLED {
            let Ok(mut stream) = TcpStream::connect(address) else { continue };
            // A server that rejects further connections closes them, which is allowed.
            let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
            let _ = stream.write_all(sent.as_bytes());
            held.push(stream);
        }
    }
    held
}

/// Opens connections that answer pings and never open the flow-control window for responses.
async fn of_http2(address: SocketAddr, token: &str, args: &Value) -> tokio::task::JoinSet<()> {
    let body = json!({ "args": args }).to_string();
    let mut held = tokio::task::JoinSet::new();
    for _ in 0..HTTP2_CONNECTIONS {
        let Ok(stream) = tokio::net::TcpStream::connect(address).await else { continue };
        let Ok((mut sender, connection)) =
            h2::client::Builder::new().initial_window_size(0).handshake::<_, bytes::Bytes>(stream).await
        else {
            continue;
        };
        held.spawn(async move {
            let _ = connection.await;
        });
        for _ in 0..STREAMS {
            let request = http::Request::post(format!("http://localhost/api/run/{LIST}"))
                .header("content-type", "application/json")
                .header("authorization", format!("Bearer {token}"))
                .body(())
                .unwrap();
            let Ok((answer, mut out)) = sender.send_request(request, false) else { break };
            let _ = out.send_data(body.clone().into(), true);
            // Dropping the stream would reset it.
            held.spawn(async move {
                let _answer = answer.await;
                std::future::pending::<()>().await;
            });
            tokio::task::yield_now().await;
        }
    }
    held
}
