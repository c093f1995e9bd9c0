//! A server as a process of the one that watches.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::channel::{self, FromServer, Start, ToServer};
use crate::sockets;
use convoke_http::Listening;

/// Time in which a server ends. Then it is killed.
const END: Duration = Duration::from_secs(10);

/// Time after the end of a server in which its last message is read.
const LAST_MESSAGE: Duration = Duration::from_millis(200);

/// A running server. Dropping it kills the process.
pub(super) struct ServerProcess {
    channel: UnixStream,
    events: UnboundedReceiver<Event>,
    /// `None` after the end of the process.
    pid: Option<Pid>,
}

enum Event {
    Said(FromServer),
    Ended(Option<ExitStatus>),
}

impl ServerProcess {
    /// Starts a program with the arguments of this process, on these sockets.
    ///
    /// # Errors
    /// The program cannot be started.
    pub(super) fn start(program: &Path, listening: &Listening) -> std::io::Result<Self> {
        let (channel, other) = UnixStream::pair()?;
        let mut command = Command::new(program);
        command.args(std::env::args_os().skip(1)).arg("--under-watch");
        // An own group: Ctrl-C reaches only this process, which then ends the server.
        let mut child = command.process_group(0).stdin(Stdio::from(OwnedFd::from(other))).spawn()?;
        // The command holds the other end of the channel, which must end with the server.
        drop(command);
        let pid = Some(Pid::from_child(&child));
        let (send, events) = unbounded_channel();
        let reader = channel.try_clone()?;
        let server = Self { channel, events, pid };
        sockets::pass(&server.channel, listening)?;
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let said = send.clone();
        let (is_read, all_read) = std::sync::mpsc::channel::<()>();
        thread("server-says").spawn(move || {
            follow(reader, &said);
            drop(is_read);
        })?;
        thread("server-ends").spawn(move || {
            let status = child.wait().ok();
            // Its last message comes before its end. A process that it started may hold the channel open.
            let _ = all_read.recv_timeout(LAST_MESSAGE);
            let _ = send.send(Event::Ended(status));
        })?;
        Ok(server)
    }

    /// Sends a message.
    pub(super) fn say(&self, message: &ToServer) {
        channel::say(&self.channel, message);
    }

    /// Waits until the server is prepared to open the database.
    ///
    /// # Errors
    /// The reason of the failure.
    pub(super) async fn prepared(&mut self) -> Result<(), String> {
        loop {
            match self.next().await? {
                FromServer::Prepared => return Ok(()),
                FromServer::Ready { .. } | FromServer::Failed(_) => {}
            }
        }
    }

    /// Lets the server open the database, and waits until it is ready. Returns true if the database does not fit it.
    ///
    /// # Errors
    /// The reason of the failure. The process has ended.
    pub(super) async fn open(&mut self, start: Start) -> Result<bool, String> {
        self.say(&ToServer::Open(start));
        loop {
            match self.next().await? {
                FromServer::Ready { is_closed } => return Ok(is_closed),
                FromServer::Prepared | FromServer::Failed(_) => {}
            }
        }
    }

    /// Returns the next message.
    ///
    /// # Errors
    /// The reason of the end of the process.
    async fn next(&mut self) -> Result<FromServer, String> {
        let mut reason = None;
        loop {
            match self.events.recv().await {
                Some(Event::Said(FromServer::Failed(why))) => reason = Some(why),
                Some(Event::Said(said)) => return Ok(said),
                Some(Event::Ended(status)) => {
                    self.pid = None;
                    return Err(reason.unwrap_or_else(|| format!("the program ended with {}", shown(status))));
                }
                None => return Err("the program has ended".to_owned()),
            }
        }
    }

    /// Waits for the end of the process. Returns its exit status. A drop of this future loses nothing.
    pub(super) async fn ended(&mut self) -> Option<ExitStatus> {
        loop {
            match self.events.recv().await {
                Some(Event::Ended(status)) => {
                    self.pid = None;
                    return status;
                }
                Some(Event::Said(_)) => {}
                None => return None,
            }
        }
    }

    /// Ends the server: its open calls end first. Returns the exit status.
    pub(super) async fn end(mut self) -> Option<ExitStatus> {
        let _ = self.channel.shutdown(std::net::Shutdown::Write);
        match tokio::time::timeout(END, self.ended()).await {
            Ok(status) => status,
            Err(_) => {
                self.kill();
                self.ended().await
            }
        }
    }

    fn kill(&self) {
        if let Some(pid) = self.pid {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns an exit status for people.
pub(super) fn shown(status: Option<ExitStatus>) -> String {
    status.map_or_else(|| "an unknown status".to_owned(), |status| status.to_string())
}

fn follow(channel: UnixStream, events: &UnboundedSender<Event>) {
    for message in channel::messages(channel) {
        if events.send(Event::Said(message)).is_err() {
            return;
        }
    }
}
