//! The sync protocol on a real port, message by message.

use std::time::Duration;

use convoke::testing::{TestApp, TestServer};
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error as WireError, Message};

use super::of;
use crate::admin::Door;

/// A client that checks what every client relies on.
struct Client {
    socket: WebSocketStream<TcpStream>,
    version: Value,
    /// A mutation was answered, and its transition has not come: the least time that it must have.
    awaited: Option<u64>,
}

async fn open(server: &TestServer<'_>, path: &str, fields: &[(&'static str, &str)]) -> Result<Client, u16> {
    let mut request = format!("ws://{}{path}", server.address()).into_client_request().unwrap();
    for (name, value) in fields {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    let stream = TcpStream::connect(server.address()).await.unwrap();
    match tokio_tungstenite::client_async(request, stream).await {
        Ok((socket, _)) => {
            let version = json!({ "querySet": 0, "identity": 0, "ts": "AAAAAAAAAAA=" });
            Ok(Client { socket, version, awaited: None })
        }
        Err(WireError::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

async fn connected(server: &TestServer<'_>, session: &str) -> Client {
    let mut client = open(server, "/api/1.48.0/sync", &[]).await.ok().unwrap();
    client.send(json!({ "type": "Connect", "sessionId": session, "connectionCount": 0, "clientTs": 0 })).await;
    client
}

fn time(ts: &Value) -> u64 {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(ts.as_str().unwrap()).unwrap();
    u64::from_le_bytes(bytes.try_into().unwrap())
}

impl Client {
    async fn send(&mut self, message: Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message but pings; the close code when it ends.
    async fn next(&mut self) -> Result<Value, u16> {
        loop {
            let next =
                tokio::time::timeout(Duration::from_secs(60), self.socket.next()).await.expect("something comes");
            let message: Value = match next {
                Some(Ok(Message::Text(text))) => serde_json::from_str(&text).unwrap(),
                Some(Ok(Message::Close(frame))) => return Err(frame.map_or(1005, |frame| frame.code.into())),
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return Err(1006),
            };
            match message["type"].as_str().unwrap() {
                "Ping" => continue,
                "Transition" => {
                    assert_eq!(message["startVersion"], self.version);
                    let end = message["endVersion"].clone();
                    assert!(time(&end["ts"]) >= time(&self.version["ts"]).max(self.awaited.take().unwrap_or(0)));
                    self.version = end;
                }
                "MutationResponse" => {
                    assert!(self.awaited.is_none(), "the one before has no transition yet");
                    self.awaited = Some(message.get("ts").map_or(0, time));
                }
                _ => assert!(self.awaited.is_none(), "a transition comes first: {message}"),
            }
            return Ok(message);
        }
    }

    async fn expect(&mut self, kind: &str) -> Value {
        let message = self.next().await.unwrap();
        assert_eq!(message["type"], kind, "{message}");
        message
    }

    async fn watch(&mut self, query: u32, path: &str, args: Value) -> Value {
        let at = self.version["querySet"].as_u64().unwrap();
        let add = json!({ "type": "Add", "queryId": query, "udfPath": path, "args": [args] });
        self.send(json!({ "type": "ModifyQuerySet", "baseVersion": at, "newVersion": at + 1, "modifications": [add] }))
            .await;
        let transition = self.expect("Transition").await;
        assert_eq!(transition["endVersion"]["querySet"], at + 1);
        transition["modifications"][0].clone()
    }

    async fn mutate(&mut self, request: u32, path: &str, args: Value) -> (Value, Value) {
        self.send(json!({ "type": "Mutation", "requestId": request, "udfPath": path, "args": [args] })).await;
        // A client applies its optimistic update over each result before the response.
        let response = self.expect("MutationResponse").await;
        (response, self.expect("Transition").await)
    }

    async fn authenticate(&mut self, kind: &str, value: &str) {
        let base = self.version["identity"].clone();
        self.send(json!({ "type": "Authenticate", "tokenType": kind, "value": value, "baseVersion": base })).await;
    }
}

#[test]
fn unreadable_member_name_fails_only_its_call() {
    let app = TestApp::new();
    let server = app.serve();
    app.block_on(async {
        let mut client = connected(&server, "5a40").await;
        let first = client.watch(1, "live/functions:byName", json!({ "room": "r" })).await;
        assert_eq!((&first["type"], &first["value"]), (&json!("QueryUpdated"), &json!({})));
        client.watch(2, "live/functions:count", of("r", "x")).await;
        let (_, transition) = client.mutate(0, "live/functions:add", of("r", "größe,x")).await;
        let [map, count] = &transition["modifications"].as_array().unwrap()[..] else { panic!("{transition}") };
        assert_eq!((&map["type"], &map["queryId"]), (&json!("QueryFailed"), &json!(1)));
        assert_eq!(map["errorData"]["code"], "FAILED_PRECONDITION");
        assert_eq!((&map["errorData"]["path"], &map["errorData"]["message"]), (&json!("größe"), &map["errorMessage"]));
        assert_eq!((&count["type"], &count["value"]), (&json!("QueryUpdated"), &json!(1.0)));

        let (failed, transition) = client.mutate(1, "live/functions:addByName", of("r", "$map")).await;
        assert_eq!((&failed["success"], &failed["errorData"]["path"]), (&json!(false), &json!("$map")));
        assert_eq!(transition["modifications"], json!([]), "it wrote nothing");
        client.mutate(2, "live/functions:forget", of("r", "größe")).await;
        let (_, transition) = client.mutate(3, "live/functions:add", of("r", "x")).await;
        let map = &transition["modifications"][0];
        assert_eq!((&map["type"], &map["value"]), (&json!("QueryUpdated"), &json!({ "x": 2.0 })), "it recovers");
    });
    let plain = server.post(None, "/api/query", r#"{"path":"live/functions:byName","args":{"room":"r"}}"#);
    assert_eq!(plain.value(), &json!({ "x": 2 }));
    let body = json!({ "path": "live/functions:add", "args": of("r", "größe") }).to_string();
    assert_eq!(server.post(None, "/api/mutation", body).value(), &json!(null));
    let plain = server.post(None, "/api/query", r#"{"path":"live/functions:byName","args":{"room":"r"}}"#);
    assert_eq!(plain.value(), &json!({ "x": 2, "größe": 1 }), "plain JSON has every key");
    let body = r#"{"path":"live/functions:byName","args":[{"room":"r"}],"format":"convex_encoded_json"}"#;
    let refused = server.post(None, "/api/query", body);
    assert_eq!((refused.status, refused.code()), (200, "FAILED_PRECONDITION"));
}

#[test]
fn client_reads_its_own_writes_and_a_resent_request_runs_once() {
    let app = TestApp::new();
    let server = app.serve();
    let (ada, bob) = (server.token("ada"), server.token("bob"));
    app.block_on(async {
        let mut client = connected(&server, "5a3f").await;
        let first = client.watch(4, "live/functions:count", of("r", "x")).await;
        assert_eq!((&first["type"], &first["value"]), (&json!("QueryUpdated"), &json!(0.0)));
        client.authenticate("User", &ada).await;
        assert_eq!(client.expect("Transition").await["modifications"], json!([]), "the same for everybody");
        let (response, transition) = client.mutate(0, "live/functions:add", of("r", "x")).await;
        assert_eq!(response["success"], true);
        assert_eq!(transition["modifications"][0]["value"], json!(1.0));
        let (failed, transition) = client.mutate(1, "live/functions:nothing_there", json!({})).await;
        assert_eq!((&failed["success"], &failed["errorData"]["code"]), (&json!(false), &json!("FUNCTION_NOT_FOUND")));
        assert_eq!(transition["modifications"], json!([]));
        // The connection is cut, and the client comes back.
        let mut again = connected(&server, "5a3f").await;
        again.authenticate("User", &ada).await;
        again.expect("Transition").await;
        let (replayed, _) = again.mutate(0, "live/functions:add", of("r", "x")).await;
        assert_eq!(replayed["result"], response["result"]);
        let (reused, _) = again.mutate(0, "live/functions:add", of("r", "y")).await;
        assert_eq!(reused["errorData"]["code"], "IDEMPOTENCY_KEY_REUSED");
        assert_eq!(again.watch(0, "live/functions:count", of("r", "x")).await["value"], json!(1.0));
        let mut thief = connected(&server, "5a3f").await;
        thief.authenticate("User", &bob).await;
        thief.expect("Transition").await;
        let (taken, _) = thief.mutate(0, "live/functions:add", of("r", "x")).await;
        assert_eq!(taken["errorData"]["code"], "CONFLICT");
    });
}

#[test]
fn mutation_response_precedes_its_query_updates() {
    let app = TestApp::with(|options| options.limits.live_runs_per_second_max = 10_000);
    let server = app.serve();
    app.block_on(async {
        let mut client = connected(&server, "early").await;
        client.watch(4, "live/functions:count", of("r", "early")).await;
        for written in 1..=200_u32 {
            let (response, transition) = client.mutate(written, "live/functions:add", of("r", "early")).await;
            assert_eq!(response["success"], true);
            assert_eq!(transition["modifications"][0]["value"], json!(f64::from(written)));
        }
    });
}

#[test]
fn requests_before_a_close_still_run() {
    const SENT: u32 = 100;
    let app = TestApp::new();
    let server = app.serve();
    app.block_on(async {
        let mut leaving = connected(&server, "leaving").await;
        let mut staying = connected(&server, "staying").await;
        let mut seen = staying.watch(0, "live/functions:count", of("r", "last")).await["value"].clone();
        for request in 0..SENT {
            let args = json!([of("r", "last")]);
            let call =
                json!({ "type": "Mutation", "requestId": request, "udfPath": "live/functions:add", "args": args });
            leaving.socket.feed(Message::text(call.to_string())).await.unwrap();
        }
        leaving.socket.close(None).await.unwrap();
        let all_is_seen = async {
            while seen != json!(f64::from(SENT)) {
                seen = staying.expect("Transition").await["modifications"][0]["value"].clone();
            }
        };
        tokio::time::timeout(Duration::from_secs(60), all_is_seen).await.expect("all is done");
    });
}

#[test]
fn reconnected_page_keeps_its_end() {
    let app = TestApp::new();
    let server = app.serve();
    let page = |journal: Value| {
        let opts = json!({ "numItems": 2.0, "cursor": null, "id": 1.0 });
        let args = json!({ "room": "r", "byCount": false, "paginationOpts": opts });
        json!({ "type": "Add", "queryId": 1, "udfPath": "live/functions:page", "args": [args], "journal": journal })
    };
    let names = |transition: &Value| transition["modifications"][0]["value"]["page"].clone();
    app.block_on(async {
        let mut client = connected(&server, "pages").await;
        client.mutate(0, "live/functions:add", of("r", "b,d,f")).await;
        let modify =
            |add: Value| json!({ "type": "ModifyQuerySet", "baseVersion": 0, "newVersion": 1, "modifications": [add] });
        client.send(modify(page(Value::Null))).await;
        let first = client.expect("Transition").await;
        assert_eq!(names(&first), json!(["b", "d"]));
        let journal = first["modifications"][0]["journal"].clone();
        assert!(journal.is_string());
        let (_, transition) = client.mutate(1, "live/functions:add", of("r", "a,c")).await;
        assert_eq!(names(&transition), json!(["a", "b", "c", "d"]));
        assert_eq!(transition["modifications"][0]["journal"], journal);
        let mut again = connected(&server, "pages").await;
        again.send(modify(page(journal.clone()))).await;
        assert_eq!(names(&again.expect("Transition").await), json!(["a", "b", "c", "d"]));
        let mut anew = connected(&server, "pages").await;
        anew.send(modify(page(Value::Null))).await;
        assert_eq!(names(&anew.expect("Transition").await), json!(["a", "b"]));
        let mut wrong = connected(&server, "pages").await;
        wrong.send(modify(page(json!("[\"x\"]")))).await;
        let failed = wrong.expect("Transition").await;
        assert!(failed["modifications"][0]["errorMessage"].as_str().unwrap().contains("InvalidCursor"));
    });
}

#[test]
fn protocol_violation_is_fatal_but_unknown_function_is_not() {
    let app = TestApp::new();
    let server = app.serve();
    let modify = |base: u32, new: u32| json!({ "type": "ModifyQuerySet", "baseVersion": base, "newVersion": new, "modifications": [] });
    app.block_on(async {
        let connect = json!({ "type": "Connect", "sessionId": "s", "connectionCount": 0 });
        for messages in [
            vec![modify(0, 1)],
            vec![connect.clone(), connect.clone()],
            vec![connect.clone(), modify(1, 2)],
            vec![connect.clone(), json!({ "type": "Nonsense" })],
            vec![json!("{")],
        ] {
            let mut client = open(&server, "/api/sync", &[]).await.ok().unwrap();
            for message in messages {
                client.send(message).await;
            }
            client.expect("FatalError").await;
            assert_eq!(client.next().await, Err(1000));
        }
        let mut client = connected(&server, "s").await;
        let unknown = client.watch(1, "live/functions:nothing_there", json!({})).await;
        assert_eq!(
            (&unknown["type"], &unknown["errorData"]["code"]),
            (&json!("QueryFailed"), &json!("FUNCTION_NOT_FOUND"))
        );
        let named_by_file = client.watch(3, "live/functions.js:count", of("r", "x")).await;
        assert_eq!(named_by_file["value"], json!(0.0), "as the crate names it when it comes again");
        let wrong = client.watch(2, "live/functions:count", json!({ "wrong": 1 })).await;
        assert_eq!((&wrong["type"], &wrong["errorData"]["code"]), (&json!("QueryFailed"), &json!("INVALID_ARGUMENT")));
        client.socket.send(Message::binary(vec![0; 3])).await.unwrap();
        assert_eq!(client.next().await, Err(1003));
        let mut client = connected(&server, "s").await;
        let _ = client.socket.send(Message::text("x".repeat(2 << 20))).await;
        assert!(matches!(client.next().await, Err(1009 | 1006)));
    });
}

#[test]
fn only_allowed_origins_connect_and_only_by_upgrade() {
    let app = TestApp::new();
    let server = app.serve();
    app.block_on(async {
        assert_eq!(open(&server, "/api/sync", &[("origin", "https://evil.example")]).await.err(), Some(403));
        let own = format!("http://{}", server.address());
        assert!(open(&server, "/api/1.48.0/sync", &[("origin", &own)]).await.is_ok());
        let plain = reqwest::get(format!("http://{}/api/sync", server.address())).await.unwrap();
        assert_eq!(plain.status(), 400);
        let mut page = open(&server, "/api/sync", &[("origin", &own)]).await.ok().unwrap();
        page.send(json!({ "type": "Connect", "sessionId": "s", "connectionCount": 0 })).await;
        page.authenticate("Admin", "key").await;
        assert_eq!(page.expect("AuthError").await["authUpdateAttempted"], true);
    });
}

#[test]
fn rejected_token_or_revoked_key_ends_the_connection() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let server = &door.server;
    let key = door.key("sync", &["functions"]);
    let key = key.strip_prefix("Convoke ").unwrap();
    let (ada, passing) = (server.token("ada"), app.now() + Duration::from_secs(3_700));
    app.block_on(async {
        let mut client = connected(server, "s").await;
        client.authenticate("User", "nonsense").await;
        // What was sent behind it does not run as no one.
        client
            .send(
                json!({ "type": "Mutation", "requestId": 0, "udfPath": "live/functions:add", "args": [of("r", "x")] }),
            )
            .await;
        let error = client.expect("AuthError").await;
        assert_eq!((&error["baseVersion"], &error["authUpdateAttempted"]), (&json!(0), &json!(true)));
        assert_eq!(client.next().await, Err(1000));
        let mut client = connected(server, "s").await;
        assert_eq!(client.watch(0, "live/functions:count", of("r", "x")).await["value"], json!(0.0));
        client.authenticate("Admin", key).await;
        client.expect("Transition").await;
        let revoke = || drop(door.operator(Method::POST, "/api/admin/keys/sync/revoke", Some(&json!({}))));
        std::thread::scope(|threads| threads.spawn(revoke).join().unwrap());
        let error = client.expect("AuthError").await;
        assert_eq!((&error["baseVersion"], &error["authUpdateAttempted"]), (&json!(1), &json!(false)));
        let mut client = connected(server, "s").await;
        client.authenticate("User", &ada).await;
        client.expect("Transition").await;
        app.clock().set(passing);
        let error = client.expect("AuthError").await;
        assert_eq!((&error["baseVersion"], &error["authUpdateAttempted"]), (&json!(1), &json!(false)));
    });
}

#[test]
fn shutdown_notifies_clients_without_waiting_for_silent_ones() {
    let app = TestApp::with(|options| {
        // The other clients of a busy machine connect in time.
        options.limits.live_connect_timeout = Duration::from_secs(2);
        options.limits.live_connections_per_caller_max = 2;
    });
    let server = app.serve();
    app.block_on(async {
        let mut silent = open(&server, "/api/sync", &[]).await.ok().unwrap();
        assert_eq!(silent.next().await, Err(1008));
        let mut client = connected(&server, "s").await;
        client.watch(1, "live/functions:count", of("r", "x")).await;
        let mut second = connected(&server, "s").await;
        second.watch(1, "live/functions:count", of("r", "x")).await;
        let mut third = open(&server, "/api/sync", &[]).await.ok().unwrap();
        assert_eq!(third.next().await, Err(1013));
        drop(second);
        while app.live().counts().0 > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(server);
        assert_eq!(client.next().await, Err(1012));
    });
}

#[test]
fn flooding_client_is_served_in_turn() {
    const FLOOD: u32 = 300;
    let app = TestApp::new();
    let server = app.serve();
    app.block_on(async {
        let mut flooding = connected(&server, "flood").await;
        for version in 0..FLOOD {
            let add = json!({ "type": "Add", "queryId": version, "udfPath": "live/functions:count", "args": [of("r", "x")] });
            flooding.send(json!({ "type": "ModifyQuerySet", "baseVersion": version, "newVersion": version + 1, "modifications": [add] })).await;
            flooding.send(json!({ "type": "Mutation", "requestId": version, "udfPath": "live/functions:add", "args": [of("f", "x")] })).await;
        }
        let mut other = connected(&server, "other").await;
        assert_eq!(other.watch(0, "live/functions:count", of("r", "x")).await["value"], json!(0.0));
        let (response, _) = other.mutate(0, "live/functions:add", of("r", "x")).await;
        assert_eq!(response["success"], true);
        // All of it is answered, in its order, each answer with its transition.
        let mut answered = 0;
        while answered < FLOOD {
            let message = flooding.next().await.unwrap();
            if message["type"] == "MutationResponse" {
                assert_eq!((&message["requestId"], &message["success"]), (&json!(answered), &json!(true)));
                answered += 1;
            }
        }
        while flooding.version["querySet"] != FLOOD {
            flooding.expect("Transition").await;
        }
    });
}
