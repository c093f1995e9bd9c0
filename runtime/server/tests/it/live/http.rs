//! Live queries as server-sent events, on a real port.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use convoke::testing::{TestApp, TestServer};
use convoke_calls::call::envelope::LogLinesOn;
use convoke_http::HttpOptions;
use convoke_server::auth::development::DevelopmentUser;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpSocket;

use super::of;
use crate::admin::Door;
use crate::observe::support::Samples;

/// One event.
#[derive(Debug, Default)]
struct Event {
    id: String,
    name: String,
    data: Value,
}

/// The events of a response, as a client reads them.
struct Events {
    response: Response,
    held: Vec<u8>,
}

impl Events {
    async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Self { response, held: Vec::new() }
    }

    /// The next one; none at the end.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.held.windows(2).position(|pair| pair == b"\n\n") {
                let text: Vec<u8> = self.held.drain(..end + 2).collect();
                let mut event = Event::default();
                for line in std::str::from_utf8(&text).unwrap().lines().filter(|line| !line.is_empty()) {
                    match line.split_once(": ") {
                        Some(("id", id)) => event.id = id.to_owned(),
                        Some(("event", name)) => event.name = name.to_owned(),
                        Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                        other => assert_eq!((line, other), (":", None), "a comment"),
                    }
                }
                if event.name.is_empty() {
                    continue;
                }
                return Some(event);
            }
            let chunk = tokio::time::timeout(Duration::from_secs(60), self.response.chunk()).await;
            self.held.extend_from_slice(&chunk.expect("an event comes").unwrap()?);
        }
    }

    async fn results(&mut self) -> Event {
        let event = self.next().await.expect("the response goes on");
        assert_eq!(event.name, "results", "{event:?}");
        event
    }
}

impl Event {
    /// An event of a query.
    fn value(&self, query: usize) -> &Value {
        let told = self.data["results"].as_array().unwrap().iter().find(|told| told["query"] == query);
        let told = told.unwrap_or_else(|| panic!("nothing of query {query}: {self:?}"));
        assert_eq!(told["status"], "success");
        &told["value"]
    }
}

fn post(server: &TestServer<'_>, token: Option<&str>, queries: &Value) -> RequestBuilder {
    let url = format!("http://{}/api/live", server.address());
    let body = json!({ "queries": queries }).to_string();
    let request = reqwest::Client::new().post(url).header("content-type", "application/json").body(body);
    match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

fn add(app: &TestApp, names: &str) {
    outside(|| drop(app.nobody().call("live/functions/add", of("r", names)).value().clone()));
}

/// Does it on a thread of its own: the test is within the app's executor.
fn outside(work: impl FnOnce() + Send) {
    std::thread::scope(|threads| threads.spawn(work).join().unwrap());
}

#[test]
fn first_event_has_every_query_and_later_ones_the_changed() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token("ada");
    let queries = json!([
        { "path": "live/functions:count", "args": of("r", "x") },
        { "path": "live/functions/top", "args": { "room": "r", "rows": 5 } },
        { "path": "live/functions/countAsGuest", "args": of("r", "x") },
    ]);
    let open = app.block_on(async {
        let mut events = Events::of(post(&server, Some(&token), &queries)).await;
        let first = events.results().await;
        assert_eq!((first.value(0), first.value(1)), (&json!(0), &json!([])));
        let refused = &first.data["results"][2];
        assert_eq!(refused["errorData"]["code"], "FORBIDDEN");
        assert_eq!((&refused["status"], &refused["logLines"]), (&json!("error"), &json!([])));
        add(&app, "x");
        let second = events.results().await;
        assert_eq!((second.value(0), second.value(1)), (&json!(1), &json!(["x"])));
        assert_eq!(second.data["results"].as_array().unwrap().len(), 2);
        let commit = |event: &Event| event.id.split_once('-').unwrap().0.parse::<u64>().unwrap();
        assert!(commit(&second) > commit(&first));

        let url = format!("http://{}/api/live?path=live/functions/count&args=", server.address());
        let one = reqwest::Client::new().get(url + "%7B%22room%22:%22r%22,%22name%22:%22x%22%7D");
        let mut one = Events::of(one).await;
        assert_eq!(one.results().await.value(0), &json!(1));
        [events, one]
    });
    let samples = Samples::scrape(&app, &server);
    assert_eq!(samples.value("convoke_live_connections"), 2.0);
    assert_eq!(samples.value("convoke_live_subscriptions"), 4.0);
    assert_eq!(samples.value("convoke_live_runs_total{cause=\"changed\"}"), 2.0);
    assert_eq!(samples.value("convoke_live_sent_total"), 6.0);
    assert_eq!(samples.value("convoke_live_bounds_met_total{bound=\"runs\"}"), 0.0);
    drop(open);
}

#[test]
fn reconnected_client_gets_the_changes_since_its_last_event() {
    let app = TestApp::new();
    let server = app.serve();
    let (ada, bob) = (server.token("ada"), server.token("bob"));
    let count = |name| json!({ "path": "live/functions/count", "args": of("r", name) });
    let queries = json!([count("x"), count("y"), { "path": "live/functions/time", "args": {} }]);
    app.block_on(async {
        let resumed =
            |token, id: &str, queries: &Value| post(&server, Some(token), queries).header("last-event-id", id);
        let first = Events::of(post(&server, Some(&ada), &queries)).await.results().await;
        while app.live().counts().0 > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // While no one watches.
        add(&app, "x");
        let mut events = Events::of(resumed(&ada, &first.id, &queries)).await;
        let second = events.results().await;
        assert_eq!(second.value(0), &json!(1));
        assert_eq!(second.data["results"].as_array().unwrap().len(), 2, "the time, too, and not what stands");
        add(&app, "y");
        assert_eq!(events.results().await.value(1), &json!(1), "what was left out is watched all the same");

        let pair = json!([count("x"), count("y")]);
        let first = Events::of(post(&server, Some(&ada), &pair)).await.results().await;
        let mut events = Events::of(resumed(&ada, &first.id, &pair)).await;
        assert_eq!(events.results().await.data, json!({ "results": [] }));
        for (token, id, asked) in [(&bob, &*first.id, &pair), (&ada, &first.id, &queries), (&ada, "7-x", &pair)] {
            let all = Events::of(resumed(token, id, asked)).await.results().await;
            assert_eq!(all.data["results"].as_array().unwrap().len(), asked.as_array().unwrap().len());
        }
    });
}

#[test]
fn temporary_failure_has_no_event_id() {
    let app = TestApp::with(|options| options.limits.live_refresh = Duration::from_millis(20));
    let server = app.serve();
    app.memory::<super::functions::Flag>().failures.store(1, Relaxed);
    let queries = json!([{ "path": "live/functions/unsteady", "args": of("r", "x") }]);
    app.block_on(async {
        let mut events = Events::of(post(&server, None, &queries)).await;
        let failed = events.results().await;
        assert_eq!((&failed.data["results"][0]["errorData"]["code"], &*failed.id), (&json!("UNAVAILABLE"), ""));
        let lasting = events.results().await;
        assert_eq!(lasting.value(0), &json!(0));
        assert!(!lasting.id.is_empty());
    });
}

#[test]
fn request_without_queries_is_rejected_before_the_stream() {
    let app = TestApp::with(|options| options.limits.live_queries_per_request_max = 2);
    let server = app.serve();
    let count = json!({ "path": "live/functions/count", "args": of("r", "x") });
    for (body, code) in [
        (json!({}).to_string(), "INVALID_ENVELOPE"),
        (json!({ "queries": [] }).to_string(), "INVALID_ENVELOPE"),
        (json!({ "queries": vec![&count; 3] }).to_string(), "INVALID_ENVELOPE"),
        (json!({ "queries": [{ "path": "live/functions/count" }] }).to_string(), "INVALID_ENVELOPE"),
        (json!({ "queries": [{ "path": "a", "args": [] }] }).to_string(), "INVALID_ENVELOPE"),
        (json!({ "queries": [{ "path": "a", "args": {}, "format": "xml" }] }).to_string(), "UNSUPPORTED_FORMAT"),
        ("{".to_owned(), "INVALID_JSON"),
    ] {
        let reply = server.post(None, "/api/live", body.clone());
        assert_eq!((reply.status, reply.code()), (400, code), "{body}");
    }
    assert_eq!(server.post(Some("no token"), "/api/live", json!({ "queries": [count] }).to_string()).status, 401);
    assert_eq!(app.live().counts(), (0, 0));
}

#[test]
fn stream_ends_with_a_reason() {
    let app = TestApp::with(|options| {
        options.limits.live_result_bytes_max = 1_000;
        options.limits.live_connections_per_caller_max = 2;
    });
    let door = Door::of(&app);
    let key = door.key("watch", &["functions"]);
    let queries = json!([{ "path": "live/functions/count", "args": of("r", "x") }]);
    let long = json!([{ "path": "live/functions/long", "args": { "room": "", "rows": 2000 } }]);
    let ends = |event: Option<Event>, code: &str| {
        let event = event.unwrap();
        assert_eq!((&*event.name, &event.data["errorData"]["code"]), ("end", &json!(code)));
        assert_eq!(event.data["status"], "error");
    };
    let passing = door.server.token_of(&DevelopmentUser::new("ada"));
    app.block_on(async {
        let mut too_long = Events::of(post(&door.server, None, &long)).await;
        ends(too_long.next().await, "OVERLOADED");
        assert!(too_long.next().await.is_none());

        let url = format!("http://{}/api/live", door.server.address());
        let body = json!({ "queries": queries }).to_string();
        let with_key = reqwest::Client::new().post(url).header("content-type", "application/json").body(body);
        let mut by_key = Events::of(with_key.header("authorization", &key)).await;
        by_key.results().await;
        outside(|| drop(door.operator(Method::POST, "/api/admin/keys/watch/revoke", Some(&json!({})))));
        ends(by_key.next().await, "INVALID_CREDENTIALS");
        assert!(by_key.next().await.is_none());

        let mut by_token = Events::of(post(&door.server, Some(&passing), &queries)).await;
        by_token.results().await;
        let second = Events::of(post(&door.server, Some(&passing), &queries)).await;
        let third = post(&door.server, Some(&passing), &queries).send().await.unwrap();
        assert_eq!((third.status().as_u16(), &third.headers()["retry-after"]), (503, &"1".parse().unwrap()));
        drop(second);
        app.clock().set(app.now() + Duration::from_secs(3_700));
        ends(by_token.next().await, "INVALID_CREDENTIALS");
        assert!(by_token.next().await.is_none());

        let mut open = Events::of(post(&door.server, None, &queries)).await;
        open.results().await;
        drop(door);
        ends(open.next().await, "NOT_READY");
        assert!(open.next().await.is_none());
    });
}

/// They come from a trusted proxy, whose own connections are not counted.
#[test]
fn thousand_stalled_clients_do_not_delay_others() {
    const SLOW: usize = 1_000;
    const CHANGES: usize = 15;
    let app = TestApp::with(|options| {
        options.limits.live_connections_per_caller_max = 3;
        options.limits.live_runs_per_second_max = 10_000;
    });
    let trust = |options: &mut HttpOptions| options.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
    let server = app.serve_with(trust, LogLinesOn::Error);
    let queries = json!([{ "path": "live/functions/countAtLength", "args": of("slow", "x") }]);
    app.block_on(async {
        let mut slow = Vec::new();
        for _ in 0..SLOW {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(4096).unwrap();
            let mut stream = socket.connect(server.address()).await.unwrap();
            let body = json!({ "queries": queries }).to_string();
            let head = "POST /api/live HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
            let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(request.as_bytes()).await.unwrap();
            slow.push(stream);
        }
        while app.live().counts() != (SLOW, SLOW) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut reads = Events::of(post(&server, None, &queries)).await;
        let count = |event: &Event| event.value(0).as_str().unwrap().trim_start_matches('.').parse::<usize>().unwrap();
        assert_eq!(count(&reads.results().await), 0);
        for change in 1..=CHANGES {
            let (path, args) = ("live/functions/add", of("slow", "x").to_string());
            let request = convoke_calls::call::dispatch::Request::Args { path, args: &args };
            let runtime = app.runtime();
            let (outcome, _) = runtime.call(request, convoke::Caller::Nobody, runtime.request_id()).await;
            outcome.result.unwrap();
            while count(&reads.results().await) != change {}
        }
        let held = app.runtime().answers().bytes();
        let most = app.runtime().limits().response_bytes_total_max;
        assert!(held <= most + 1024 * 1024, "{held} bytes are held for those who take nothing");
        let runs = app.live().stats().runs_changed.load(Relaxed);
        assert!(runs <= 2 * CHANGES as u64, "{runs} runs: one is enough for all");
        drop(slow);
        while app.live().counts() != (1, 1) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

#[test]
fn disconnected_client_leaves_no_state() {
    let app = TestApp::new();
    let server = app.serve();
    let queries = json!([{ "path": "live/functions/count", "args": of("r", "x") }]);
    app.block_on(async {
        let mut all = Vec::new();
        for _ in 0..20 {
            let mut events = Events::of(post(&server, None, &queries)).await;
            events.results().await;
            all.push(events);
        }
        assert_eq!(app.live().counts(), (20, 20));
        drop(all);
        while app.live().counts() != (0, 0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}
