//! A server process, and calls to its port.

#[path = "binary.rs"]
mod binary;

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use binary::binary;
use serde_json::{Value, json};

/// Returns a command for the program, in the given folder and an empty environment.
pub(crate) fn convoke(folder: &Path) -> Command {
    let mut command = Command::new(binary());
    command.current_dir(folder).env_clear().stdin(Stdio::null());
    command
}

/// Returns a command that starts the program by a shell, after shell commands that set limits.
pub(crate) fn limited(folder: &Path, words: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("{words}; exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(binary()).current_dir(folder).env_clear().stdin(Stdio::null());
    command
}

/// Returns a token of the folder's development issuer.
pub(crate) fn minted(folder: &Path) -> String {
    minted_for(folder, "ada")
}

/// Like [`minted`], for the given subject.
pub(crate) fn minted_for(folder: &Path, subject: &str) -> String {
    let email = format!("{subject}@example.com");
    let output = convoke(folder).args(["token", "--subject", subject, "--email", &email]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A server process, killed on drop.
pub(crate) struct Server {
    process: Child,
    address: SocketAddr,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub status: u16,
    pub body: Value,
}

impl Reply {
    /// Returns `errorData.code`, or an empty text.
    pub(crate) fn code(&self) -> &str {
        self.body["errorData"]["code"].as_str().unwrap_or_default()
    }

    /// Returns `value` of a success.
    #[track_caller]
    pub(crate) fn value(&self) -> &Value {
        assert_eq!(self.body["status"], "success", "{self:?}");
        &self.body["value"]
    }
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Self {
        let command = command.args(["serve", "--env", "development", "--listen", "127.0.0.1:0", "--log", "error"]);
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let address = listening(&mut process);
        Self { process, address }
    }

    /// Returns the address of the listener.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Stops the server with SIGTERM.
    pub(crate) fn stop(mut self) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
        assert!(self.process.wait().unwrap().success());
    }

    pub(crate) fn call(&self, token: &str, path: &str, args: &Value) -> Reply {
        let body = json!({ "args": args }).to_string();
        let (status, text) = self.send(&format!(
            "POST /api/run/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/json\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        Reply { status, body: serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")) }
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"))
    }

    fn send(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Waits for a condition, with a timeout that is long enough for a busy machine.
    #[track_caller]
    pub(crate) fn until(&self, done: impl Fn() -> bool) {
        for _ in 0..3_000 {
            if done() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it did not come to pass");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads the output of the process until it listens. The rest is not read.
fn listening(process: &mut Child) -> SocketAddr {
    let mut lines = BufReader::new(process.stderr.take().unwrap());
    let mut said = String::new();
    loop {
        let mut line = String::new();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it ended before it listened:\n{said}");
        if let Some(address) = line.trim().strip_prefix("convoke: listening on http://") {
            let address = address.parse().unwrap();
            std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
            return address;
        }
        said.push_str(&line);
    }
}
