//! The channel between the process that watches and a server: sockets to listen on, and messages as lines of JSON.
//!
//! The channel is the standard input of the server. When it ends, the server ends: no server outlives the process that
//! watches.

use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::net::UnixStream;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::sockets;
use convoke_http::Listening;
use convoke_server::console::BuildFailure;

/// A message to the server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum ToServer {
    /// The former server has ended: open the database and serve.
    Open(Start),
    /// The last build failed with this text, or succeeded.
    Build(Option<String>),
}

/// The circumstances of a start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Start {
    /// True for the first server of a `dev`, which describes itself on the screen.
    pub(super) is_first: bool,
    /// True if the server starts although the database does not fit the program. Otherwise such a start fails.
    pub(super) may_be_closed: bool,
}

/// A message of the server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum FromServer {
    /// Settings and functions are valid, and the server waits for [`ToServer::Open`].
    Prepared,
    /// Calls are served, or rejected with `NOT_READY` if the database does not fit.
    Ready { is_closed: bool },
    /// The start failed, for this reason.
    Failed(String),
}

/// Writes a message. A channel that has ended is not an error: its other side reports the end.
pub(super) fn say(mut channel: &UnixStream, message: &impl Serialize) {
    if let Ok(mut line) = serde_json::to_vec(message) {
        line.push(b'\n');
        let _ = channel.write_all(&line);
    }
}

/// Returns the messages until the channel ends.
pub(super) fn messages<M: for<'de> Deserialize<'de>>(channel: UnixStream) -> impl Iterator<Item = M> {
    let lines = BufReader::new(channel).lines().map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_str(&line).ok())
}

/// The process that watches, as its server sees it.
pub(super) struct Watcher {
    channel: UnixStream,
    listening: Listening,
    build: BuildFailure,
}

impl Watcher {
    /// Receives the sockets from the process that watches.
    pub(super) fn connect() -> Result<Self, Failure> {
        let unusable = |error: &dyn std::fmt::Display| {
            Failure(format!("--under-watch is for servers that `convoke dev` starts: use `convoke dev` ({error})"))
        };
        let (channel, listening) = sockets::receive().map_err(|error| unusable(&error))?;
        Ok(Self { channel, listening, build: BuildFailure::default() })
    }

    /// Runs the server, and reports the failure of its start.
    pub(super) fn report(self, serve: impl FnOnce(&Self) -> Result<(), Failure>) -> Result<(), Failure> {
        let outcome = serve(&self);
        if let Err(failure) = &outcome {
            self.say(&FromServer::Failed(failure.to_string()));
        }
        outcome
    }

    /// Sends a message.
    pub(super) fn say(&self, message: &FromServer) {
        say(&self.channel, message);
    }

    /// Returns the sockets to listen on.
    pub(super) fn listening(&self) -> Result<Listening, Failure> {
        Ok(self.listening.share()?)
    }

    /// Returns the failure of the last build, which follows the messages after [`Watcher::open`].
    pub(super) fn build(&self) -> BuildFailure {
        self.build.clone()
    }

    /// Reports that this process is prepared, and waits until it may open the database. Returns `None` if the channel
    /// ends instead. From then on, the end of the channel ends this process like SIGTERM.
    pub(super) fn open(&self) -> Result<Option<Start>, Failure> {
        let failed = Failure::of_system("the process that watches cannot be followed");
        self.say(&FromServer::Prepared);
        let mut messages = messages(self.channel.try_clone().map_err(&failed)?);
        let start = messages.find_map(|message| match message {
            ToServer::Open(start) => Some(start),
            ToServer::Build(_) => None,
        });
        let build = self.build();
        let watching = std::thread::Builder::new().name("watcher".to_owned()).spawn(move || {
            for message in messages {
                match message {
                    ToServer::Build(failure) => build.set(failure),
                    ToServer::Open(_) => {}
                }
            }
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM);
        });
        watching.map_err(failed)?;
        Ok(start)
    }
}
