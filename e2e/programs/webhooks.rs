//! Webhooks of a real process: signatures, a kill amid deliveries, the command line.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// The events that arrived: by order, the ids under which it arrived.
type Arrived = Arc<Mutex<HashMap<i64, Vec<String>>>>;

struct Receiver {
    url: String,
    arrived: Arrived,
}

impl Receiver {
    /// A receiver that takes some time for each request.
    fn new(delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hooks", listener.local_addr().unwrap());
        let arrived = Arrived::default();
        let heard = arrived.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, heard) = (stream.unwrap(), heard.clone());
                std::thread::spawn(move || {
                    let mut lines = BufReader::new(stream.try_clone().unwrap());
                    let (mut id, mut length) = (String::new(), 0);
                    loop {
                        let mut line = String::new();
                        if lines.read_line(&mut line).unwrap_or(0) == 0 {
                            return;
                        }
                        match line.trim().split_once(": ") {
                            Some(("webhook-id", value)) => id = value.to_owned(),
                            Some(("content-length", value)) => length = value.parse().unwrap(),
                            Some(_) => {}
                            None if line.trim().is_empty() => break,
                            None => {}
                        }
                    }
                    let mut body = vec![0; length];
                    if lines.read_exact(&mut body).is_err() {
                        return;
                    }
                    let body: Value = serde_json::from_slice(&body).unwrap();
                    let order = body["data"]["cents"].as_i64().unwrap();
                    heard.lock().unwrap().entry(order).or_default().push(id);
                    std::thread::sleep(delay);
                    let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
                });
            }
        });
        Self { url, arrived }
    }
}

fn orders(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orders"));
    command.current_dir(folder).env_clear().stdin(Stdio::null());
    command
}

struct Server {
    process: Child,
    url: String,
}

impl Server {
    #[expect(clippy::zombie_processes, reason = "a test whose server does not start fails, and its process has ended")]
    fn start(folder: &Path) -> Self {
        let mut command = orders(folder);
        command.args(["dev", "--no-watch", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).stdout(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it ended before it listened:\n{said}");
            if let Some(url) = line.trim().strip_prefix("convoke: listening on ") {
                let url = url.to_owned();
                std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
                return Self { process, url };
            }
            said.push_str(&line);
        }
    }

    fn place(&self, cents: i64) {
        let url = format!("{}/api/run/orders/placeOrder", self.url);
        let args = json!({ "args": { "customer": "ada", "cents": cents } });
        let reply: Value = ureq::post(url).send_json(args).unwrap().into_body().read_json().unwrap();
        assert_eq!(reply["status"], "success", "{reply}");
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn run(folder: &Path, args: &[&str]) -> (String, String) {
    let output = orders(folder).args(args).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{args:?}: {said}");
    (String::from_utf8(output.stdout).unwrap(), said)
}

/// Waits until `done` returns true, about so long.
fn within(time: Duration, mut done: impl FnMut() -> bool) {
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 0..time.as_millis() / PAUSE.as_millis() {
        if done() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("it did not happen within {time:?}");
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("convoke.toml"), "[webhooks]\nallow = [\"127.0.0.0/8\"]\n").unwrap();
    folder
}

#[test]
fn each_event_arrives_with_one_id_although_the_server_is_killed_amid_deliveries() {
    let (folder, receiver) = (folder(), Receiver::new(Duration::from_millis(30)));
    let mut server = Server::start(folder.path());
    let (secret, _) = run(folder.path(), &["webhooks", "add", &receiver.url]);
    assert!(secret.starts_with("whsec_"), "{secret}");
    for round in 0..4 {
        for order in 0..50 {
            server.place(round * 50 + order);
        }
        server.kill();
        server = Server::start(folder.path());
    }
    within(Duration::from_secs(180), || receiver.arrived.lock().unwrap().len() == 200);
    for (order, ids) in &*receiver.arrived.lock().unwrap() {
        let ids: HashSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), 1, "order {order} arrived as {ids:?}");
    }
    server.kill();
}

#[test]
fn operator_manages_endpoints_and_deliveries_by_commands() {
    let (folder, receiver) = (folder(), Receiver::new(Duration::ZERO));
    let server = Server::start(folder.path());
    let refused = orders(folder.path()).args(["webhooks", "add", "http://10.0.0.1/"]).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("webhooks.allow"));
    run(folder.path(), &["webhooks", "add", &receiver.url, "--event", "order.placed", "--description", "test"]);
    let (listed, _) = run(folder.path(), &["webhooks", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    assert!(!listed.to_string().contains("whsec_"), "{listed}");

    server.place(1);
    let count = || receiver.arrived.lock().unwrap().get(&1).map_or(0, Vec::len);
    within(Duration::from_secs(60), || count() == 1);
    let shown = || run(folder.path(), &["webhooks", "deliveries", id, "--json", "--state", "delivered"]).0;
    within(Duration::from_secs(60), || shown().contains("order.placed"));
    let deliveries: Value = serde_json::from_str(&shown()).unwrap();
    let delivery = deliveries["items"][0]["id"].as_str().unwrap();
    run(folder.path(), &["webhooks", "redeliver", delivery]);
    within(Duration::from_secs(60), || count() == 2);
    within(Duration::from_secs(60), || shown().contains("order.placed"));
    let (_, said) = run(folder.path(), &["webhooks", "redeliver", id, "--since", "1h", "--delivered"]);
    assert!(said.contains("1 delivery is sent again"), "{said}");
    within(Duration::from_secs(60), || count() == 3);

    run(folder.path(), &["webhooks", "disable", id]);
    assert!(run(folder.path(), &["webhooks", "show", id]).0.contains("disabled by request"));
    run(folder.path(), &["webhooks", "enable", id]);
    let former = || {
        let (listed, _) = run(folder.path(), &["webhooks", "list", "--json"]);
        serde_json::from_str::<Value>(&listed).unwrap()[0]["formerSecretUntil"].clone()
    };
    assert!(run(folder.path(), &["webhooks", "rotate", id]).0.starts_with("whsec_"));
    assert!(former().is_i64(), "the former secret signs too");
    run(folder.path(), &["webhooks", "rotate", id, "--overlap", "0s"]);
    assert_eq!(former(), Value::Null, "an expired secret is not listed");
    run(folder.path(), &["webhooks", "remove", id]);
    assert!(run(folder.path(), &["webhooks", "list"]).1.contains("there is no webhook endpoint"));
    server.kill();
}
