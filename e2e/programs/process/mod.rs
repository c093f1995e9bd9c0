//! Processes of the program `hello`.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use serde_json::{Value, json};

/// Returns a command for `hello`, in an empty folder and an empty environment.
pub(crate) fn hello(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hello"));
    command.current_dir(folder).env_clear().stdin(Stdio::null());
    command
}

pub(crate) fn run(folder: &Path, args: &[&str]) -> Output {
    hello(folder).args(args).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A server process, with its output until it listened.
pub(crate) struct Serving {
    pub process: Child,
    pub url: String,
    pub said: String,
    /// The log from then on. It is read only if a test takes it, because no call may wait for a reader.
    unread: Option<BufReader<ChildStderr>>,
}

impl Serving {
    #[expect(clippy::zombie_processes, reason = "a test whose server does not start fails, and its process has ended")]
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it ended before it listened:\n{said}");
            if let Some(url) = line.trim().strip_prefix("convoke: listening on ") {
                let url = url.to_owned();
                return Self { process, url, said, unread: Some(lines) };
            }
            said.push_str(&line);
        }
    }

    pub(crate) fn call(&self, token: Option<&str>, args: &Value) -> Value {
        let url = format!("{}/api/run/greetings/sayHello", self.url);
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let mut request = agent.post(url);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {}", token.trim()));
        }
        request.send_json(json!({ "args": args })).unwrap().into_body().read_json().unwrap()
    }

    /// Returns the log from now on.
    pub(crate) fn take_log(&mut self) -> BufReader<ChildStderr> {
        self.unread.take().unwrap()
    }

    pub(crate) fn signal(mut self, name: &str) -> i32 {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
        self.process.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
