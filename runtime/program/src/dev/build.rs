//! A build of the program with Cargo.

use std::io::{BufRead as _, BufReader, IsTerminal as _, Read};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde::Deserialize;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::sources::Sources;

/// A build that runs. Dropping it ends Cargo and its compilers.
pub(super) struct Build {
    group: Option<Pid>,
    outcome: oneshot::Receiver<Outcome>,
    started: Instant,
}

/// The result of a build.
pub(super) enum Outcome {
    /// The program, and true if it did not change.
    Built(PathBuf, bool),
    /// The messages of Cargo and of the compiler, without colors.
    Failed(String),
}

/// A message of Cargo.
#[derive(Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-message")]
    Diagnostic { message: Diagnostic },
    #[serde(rename = "compiler-artifact")]
    Artifact { executable: Option<PathBuf>, fresh: bool },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    rendered: Option<String>,
}

impl Build {
    /// Starts a build. The messages of Cargo and of the compiler are printed.
    ///
    /// # Errors
    /// Cargo cannot be started.
    pub(super) fn start(sources: &Sources) -> std::io::Result<Self> {
        let mut command = sources.build(std::io::stderr().is_terminal());
        // An own group: the compilers end with Cargo, and Ctrl-C reaches only the process that watches.
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn()?;
        let group = Some(Pid::from_child(&child));
        let (send, outcome) = oneshot::channel();
        std::thread::Builder::new().name("build".to_owned()).spawn(move || {
            let _ = send.send(follow(child));
        })?;
        Ok(Self { group, outcome, started: Instant::now() })
    }

    /// Waits for the result. Returns it with the elapsed time. A drop of this future does not end the build.
    pub(super) async fn outcome(&mut self) -> (Outcome, Duration) {
        let outcome = (&mut self.outcome).await;
        self.group = None;
        (outcome.unwrap_or_else(|_| Outcome::Failed("the build has no result".to_owned())), self.started.elapsed())
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, Signal::TERM);
        }
    }
}

/// Prints the messages of a build and waits for its end.
fn follow(mut child: Child) -> Outcome {
    let said = child.stderr.take().map(|stderr| std::thread::spawn(|| print(stderr)));
    let (mut program, mut errors) = (None, String::new());
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Message::Diagnostic { message }) => {
                    let rendered = message.rendered.unwrap_or_default();
                    note!("{}", rendered.trim_end_matches('\n'));
                    if message.level == "error" {
                        errors.push_str(&rendered);
                    }
                }
                Ok(Message::Artifact { executable: Some(executable), fresh }) => {
                    program = Some((executable, fresh));
                }
                Ok(Message::Artifact { executable: None, .. } | Message::Other) => {}
                // A macro of the program may print.
                Err(_) => note!("{line}"),
            }
        }
    }
    let status = child.wait();
    let said = said.and_then(|said| said.join().ok()).unwrap_or_default();
    match (status, program) {
        (Ok(status), Some((program, is_fresh))) if status.success() => Outcome::Built(program, is_fresh),
        _ => {
            let text = if errors.is_empty() { said } else { errors };
            Outcome::Failed(console::strip_ansi_codes(&text).trim_end().to_owned())
        }
    }
}

/// Prints the text of Cargo itself, and returns it.
fn print(stderr: impl Read) -> String {
    let mut text = String::new();
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        note!("{line}");
        text.push_str(&line);
        text.push('\n');
    }
    text
}
