//! The process of a node, a schema of the database server for each test, and the database server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A lock: exclusive for a test that restarts the server, shared for the others.
pub(crate) static SERVER: RwLock<()> = RwLock::new(());

/// Timeout after which a client tries another node.
const PATIENCE: Duration = Duration::from_secs(2);
const LEDGER: &str = env!("CARGO_BIN_EXE_ledger");
/// The store key of all nodes of a test.
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// Waits for a condition, with a timeout that is long enough for a busy machine. Returns the elapsed time.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(120) {
        if is_so() {
            return begun.elapsed();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("not within two minutes: {what}");
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("e2e/postgres.sh sets {name}"))
}

/// Returns a command for a program of the server's package, run as the owner of the data.
pub(crate) fn server_program(name: &str) -> Command {
    let path = format!("{}/{name}", variable("CONVOKE_TEST_POSTGRES_BIN"));
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--", &path]);
    command
}

/// Runs a statement on the server as its administrator.
pub(crate) fn sql(statement: &str) -> String {
    let mut command = server_program("psql");
    command.args([
        "-X",
        "-q",
        "-t",
        "-A",
        "-v",
        "ON_ERROR_STOP=1",
        "-c",
        statement,
        &variable("CONVOKE_TEST_POSTGRES"),
    ]);
    done(command.current_dir("/").output().unwrap())
}

/// Stops the server without a shutdown, like a loss of power, and starts it again.
pub(crate) fn restart_server() {
    let data = variable("CONVOKE_TEST_POSTGRES_DATA");
    for action in [&["stop", "-m", "immediate"][..], &["start", "-l", "/dev/null"]] {
        let mut command = server_program("pg_ctl");
        // The server keeps inherited descriptors open.
        command.args(["-D", &data, "-w"]).args(action).current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().unwrap().success(), "{action:?}");
    }
}

#[track_caller]
fn done(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A schema of the server, dropped at the end.
pub(crate) struct Cluster {
    schema: String,
    settings: String,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self::configured("")
    }

    /// Returns a cluster whose nodes have these settings.
    pub(crate) fn configured(settings: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let schema = format!("nodes_{}_{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        Self { schema, settings: settings.to_owned() }
    }

    /// Returns the address of its schema.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// Returns a command for the program, in its own folder and an empty environment.
    pub(crate) fn command(&self, folder: &TempDir) -> Command {
        self.command_of(LEDGER, folder)
    }

    /// Like [`Cluster::command`], for another program.
    pub(crate) fn command_of(&self, program: &str, folder: &TempDir) -> Command {
        let mut command = Command::new(program);
        let separator = if variable("CONVOKE_TEST_POSTGRES").contains('?') { '&' } else { '?' };
        let store = format!("{}{separator}schema={}", variable("CONVOKE_TEST_POSTGRES"), self.schema);
        command.current_dir(folder.path()).env_clear().env("CONVOKE_STORE", store).stdin(Stdio::null());
        command.env("CONVOKE_SECRET_STORE_KEY", KEY);
        command
    }

    /// Starts a node and waits until it is ready.
    pub(crate) fn node(&self) -> Node {
        self.node_of(LEDGER)
    }

    /// Like [`Cluster::node`], for another program.
    pub(crate) fn node_of(&self, program: &str) -> Node {
        let node = self.start(program, |command| command);
        node.unwrap_or_else(|said| panic!("a node has ended before it listened:\n{said}"))
    }

    /// Like [`Cluster::node`], with a change of its command.
    ///
    /// # Errors
    /// The output of a process that ends instead.
    pub(crate) fn node_with(&self, also: impl FnOnce(&mut Command) -> &mut Command) -> Result<Node, String> {
        self.start(LEDGER, also)
    }

    fn start(&self, program: &str, also: impl FnOnce(&mut Command) -> &mut Command) -> Result<Node, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("convoke.toml"), &self.settings).unwrap();
        let mut command = self.command_of(program, &folder);
        command.args(["serve", "--env", "development", "--listen", "127.0.0.1:0", "--log", "warn"]);
        let mut process = also(&mut command).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let mut said = String::new();
        let url = loop {
            let mut line = String::new();
            if lines.read_line(&mut line).unwrap() == 0 {
                process.wait().unwrap();
                return Err(said);
            }
            if let Some(url) = line.trim().strip_prefix("convoke: listening on ") {
                break url.to_owned();
            }
            said.push_str(&line);
        };
        let log = Arc::new(Mutex::new(said));
        let written = log.clone();
        // No call may wait for a reader of the log.
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                written.lock().push_str(&(line + "\n"));
            }
        });
        Ok(Node { folder, process, url, log })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            sql(&format!("SET client_min_messages = error; DROP SCHEMA IF EXISTS {} CASCADE", self.schema));
        }
    }
}

/// A server process, killed on drop.
pub(crate) struct Node {
    pub folder: TempDir,
    process: Child,
    pub url: String,
    log: Arc<Mutex<String>>,
}

impl Node {
    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Returns true if the log contains a text.
    pub(crate) fn has_said(&self, text: &str) -> bool {
        self.log.lock().contains(text)
    }

    /// Calls a function, with a timeout that is long enough for a busy machine. Returns `None` without a response.
    pub(crate) fn call(&self, path: &str, args: &Value, headers: &[(&str, &str)]) -> Option<Value> {
        serde_json::from_str(&asked(&self.url, &request(path, args, headers), Duration::from_secs(120))?).ok()
    }

    /// Returns the value of a call. A call that a busy machine rejects had no effect and is retried.
    #[track_caller]
    pub(crate) fn value(&self, path: &str, args: &Value) -> Value {
        let mut reply = Value::Null;
        until("a call is not turned away", || {
            reply = self.call(path, args, &[]).unwrap();
            reply["errorData"]["code"] != "OVERLOADED"
        });
        assert_eq!(reply["status"], "success", "{reply}");
        reply["value"].clone()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs a command to its end. Returns its output.
#[track_caller]
pub(crate) fn said(command: &mut Command) -> String {
    done(command.output().unwrap()).trim().to_owned()
}

/// Calls a function at an address. Returns `None` without a response in time, after which a client tries another node.
pub(crate) fn call(url: &str, path: &str, args: &Value, headers: &[(&str, &str)]) -> Option<Value> {
    serde_json::from_str(&asked(url, &request(path, args, headers), PATIENCE)?).ok()
}

fn request(path: &str, args: &Value, headers: &[(&str, &str)]) -> String {
    let body = json!({ "args": args }).to_string();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "POST /api/run/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    head + &body
}

/// Gets a path of an address. Returns `None` without a response.
pub(crate) fn get(url: &str, path: &str) -> Option<String> {
    asked(url, &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"), PATIENCE)
}

/// Returns the body of the response to a request.
fn asked(url: &str, request: &str, patience: Duration) -> Option<String> {
    let address: SocketAddr = url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(patience)).unwrap();
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.split_once("\r\n\r\n")?.1.to_owned())
}
