//! A node as a process, a schema of the server for each test, and the server itself.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Waits until `is_so`, for as long as a busy machine may take; returns how long it took.
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
    std::env::var(name).unwrap_or_else(|_| panic!("runtime/postgres/tests/postgres.sh sets {name}"))
}

/// A program of the server's package, as the user who owns the data.
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

/// Runs a statement on the server, as its administrator.
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

#[track_caller]
fn done(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A schema of the server that is dropped at the end.
pub(crate) struct Cluster {
    schema: String,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        Self { schema: format!("nodes_{}_{}", std::process::id(), NUMBER.fetch_add(1, Relaxed)) }
    }

    /// A command of the program, in a folder and an environment of its own.
    pub(crate) fn command(&self, folder: &TempDir) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ledger"));
        let separator = if variable("CONVOKE_TEST_POSTGRES").contains('?') { '&' } else { '?' };
        let store = format!("{}{separator}schema={}", variable("CONVOKE_TEST_POSTGRES"), self.schema);
        command.current_dir(folder.path()).env_clear().env("CONVOKE_STORE", store).stdin(Stdio::null());
        command
    }

    /// Starts a node, and waits until it serves.
    pub(crate) fn node(&self) -> Node {
        self.node_with(|_| {})
    }

    /// As [`Cluster::node`], with more of an environment.
    pub(crate) fn node_with(&self, also: impl FnOnce(&mut Command)) -> Node {
        let folder = tempfile::tempdir().unwrap();
        let mut command = self.command(&folder);
        command.args(["serve", "--env", "development", "--listen", "127.0.0.1:0", "--log", "error"]);
        also(&mut command);
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let mut said = String::new();
        let url = loop {
            let mut line = String::new();
            if lines.read_line(&mut line).unwrap() == 0 {
                process.wait().unwrap();
                panic!("a node has ended before it listened:\n{said}");
            }
            if let Some(url) = line.trim().strip_prefix("convoke: listening on ") {
                break url.to_owned();
            }
            said.push_str(&line);
        };
        // No call may wait for somebody who reads its log.
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        Node { folder, process, url }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            sql(&format!("SET client_min_messages = error; DROP SCHEMA IF EXISTS {} CASCADE", self.schema));
        }
    }
}

/// A process that serves; killed when it is dropped.
pub(crate) struct Node {
    pub folder: TempDir,
    process: Child,
    pub url: String,
}

impl Node {
    /// Calls a function; `None` if no answer came.
    pub(crate) fn call(&self, path: &str, args: &Value, headers: &[(&str, &str)]) -> Option<Value> {
        call(&self.url, path, args, headers)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs a command to its end; its output.
#[track_caller]
pub(crate) fn said(command: &mut Command) -> String {
    done(command.output().unwrap()).trim().to_owned()
}

/// Calls a function at an address; `None` if no answer came.
pub(crate) fn call(url: &str, path: &str, args: &Value, headers: &[(&str, &str)]) -> Option<Value> {
    let config =
        ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(30)));
    let mut request = config.build().new_agent().post(format!("{url}/api/run/{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send_json(json!({ "args": args })).ok()?.into_body().read_json().ok()
}
