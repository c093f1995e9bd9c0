//! The process that watches: it keeps the sockets, builds after each change, and replaces the server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::build::{Build, Outcome};
use super::changes::{Change, Changes};
use super::channel::{Start, ToServer};
use super::process::{ServerProcess, shown};
use super::programs::{Copied, Programs};
use super::sources::Sources;
use crate::executor::executor;
use crate::failure::Failure;
use crate::serve::{Hangup, Signals};
use convoke_http::Listening;
use convoke_server::auth::Environment;
use convoke_server::config::{Config, Flags};

/// A watch over the sources of the running program, before its first server.
pub(super) struct Watch {
    changes: Changes,
    programs: Programs,
    running: Copied,
}

impl Watch {
    /// Watches the sources and copies the running program.
    ///
    /// # Errors
    /// The reason why neither is possible, as a part of a sentence: the disk is full, or too many files are watched.
    pub(super) fn begin(sources: Sources) -> Result<Self, String> {
        let no_copy = |error: std::io::Error| format!("the program cannot be copied beside itself: {error}");
        let mut programs = Programs::beside(&sources.program).map_err(no_copy)?;
        let running = programs.copy(&sources.program).map_err(no_copy)?;
        let changes = Changes::watch(sources).map_err(|error| format!("the sources cannot be watched: {error}"))?;
        Ok(Self { changes, programs, running })
    }

    /// Serves and watches until a signal.
    pub(super) fn serve(self, flags: &Flags) -> Result<(), Failure> {
        let config = Config::resolve(flags, Some(Environment::Development), Environment::Development)?;
        let Self { changes, programs, running } = self;
        executor()?.block_on(async {
            let mut signals = Signals::catch().map_err(Failure::of_system("signals cannot be caught"))?;
            let mut watched = Watched {
                sources: Arc::clone(&changes.sources),
                listening: Listening::open(&config.http)?,
                programs,
                running,
                server: None,
                is_closed: true,
                has_failed: false,
                has_new_settings: false,
            };
            print_watched(&watched.sources);
            let has_started = tokio::select! {
                () = signals.end(Hangup::Ends) => return Ok(()),
                started = watched.start(Start { is_first: true, may_be_closed: true }) => started.is_ok(),
            };
            if !has_started {
                // The server has printed the reason.
                return Err(Failure("the server did not start".to_owned()));
            }
            watched.follow(changes, &mut signals).await;
            watched.end().await
        })
    }
}

fn print_watched(sources: &Sources) {
    let current = std::env::current_dir().unwrap_or_default();
    let shown = |path: &Path| match path.strip_prefix(&current) {
        Ok(inside) => format!("./{}", inside.display()),
        Err(_) => path.display().to_string(),
    };
    let own = sources.packages.first().map(|package| shown(&package.join("src"))).unwrap_or_default();
    match sources.trees().len().saturating_sub(1) {
        0 => note!("watching    {own}"),
        1 => note!("watching    {own} and 1 other folder"),
        others => note!("watching    {own} and {others} other folders"),
    }
}

/// The state of the process that watches.
struct Watched {
    sources: Arc<Sources>,
    listening: Listening,
    programs: Programs,
    /// The program of the server, or of the last one that ran.
    running: Copied,
    server: Option<ServerProcess>,
    /// True if the database does not fit the running program.
    is_closed: bool,
    /// True if the last build or its start failed.
    has_failed: bool,
    /// True if the settings changed after the start of the server.
    has_new_settings: bool,
}

impl Watched {
    /// Starts the program of `running`, while there is no server.
    async fn start(&mut self, start: Start) -> Result<(), String> {
        let mut server =
            ServerProcess::start(&self.running.path, &self.listening).map_err(|error| error.to_string())?;
        server.prepared().await?;
        self.is_closed = server.open(start).await?;
        self.server = Some(server);
        Ok(())
    }

    /// Builds after each change until a signal.
    async fn follow(&mut self, mut changes: Changes, signals: &mut Signals) {
        let mut build = None;
        loop {
            tokio::select! {
                () = signals.end(Hangup::Ends) => return,
                status = ended(&mut self.server) => {
                    self.server = None;
                    note!("convoke: the server ended with {status}; the next save starts it again");
                }
                change = changes.next() => {
                    // A build of older sources ends before the next one starts.
                    drop(build.take());
                    build = self.build(&change);
                }
                (outcome, elapsed) = outcome(&mut build) => {
                    build = None;
                    tokio::select! {
                        () = signals.end(Hangup::Ends) => return,
                        () = self.take(outcome, elapsed) => {}
                    }
                    if let Err(error) = changes.follow_inputs() {
                        note!("convoke: some sources are not watched: {error}");
                    }
                }
            }
        }
    }

    fn build(&mut self, change: &Change) -> Option<Build> {
        self.has_new_settings |= change.has_settings;
        note!("\nconvoke: {} changed", self.name_of(&change.file));
        match Build::start(&self.sources) {
            Ok(build) => Some(build),
            Err(error) => {
                self.keep(format!("cargo cannot be started: {error}"), "the build failed");
                None
            }
        }
    }

    fn name_of(&self, file: &Path) -> String {
        let own = self.sources.packages.first().and_then(|package| file.strip_prefix(package).ok());
        own.unwrap_or(file).display().to_string()
    }

    /// Replaces the server after a build, or reports its failure.
    async fn take(&mut self, outcome: Outcome, elapsed: Duration) {
        let compiled = format!("cargo {:.2} s", elapsed.as_secs_f64());
        let program = match outcome {
            Outcome::Failed(text) => return self.keep(text, &format!("the build failed ({compiled})")),
            Outcome::Built(program, is_fresh) => {
                let is_new = !is_fresh || self.has_new_settings || self.has_failed || self.server.is_none();
                if !is_new {
                    return note!("convoke: the program is the same ({compiled})");
                }
                program
            }
        };
        let begun = Instant::now();
        match self.replace(&program).await {
            Ok(()) => {
                (self.has_failed, self.has_new_settings) = (false, false);
                let ready = begun.elapsed().as_secs_f64();
                note!("convoke: the new program serves ({compiled}, then ready in {ready:.2} s)");
            }
            Err(reason) => self.keep(reason, &format!("the new program did not start ({compiled})")),
        }
    }

    /// Replaces the server by this program.
    ///
    /// # Errors
    /// The reason of the failure. The former program serves, if it can.
    async fn replace(&mut self, program: &Path) -> Result<(), String> {
        let copied = self.programs.copy(program).map_err(|error| format!("the program cannot be copied: {error}"))?;
        let mut next = ServerProcess::start(&copied.path, &self.listening).map_err(|error| error.to_string())?;
        next.prepared().await?;
        let former = self.server.take();
        let had_server = former.is_some();
        if let Some(former) = former {
            former.end().await;
        }
        let may_be_closed = self.is_closed || !had_server;
        match next.open(Start { is_first: false, may_be_closed }).await {
            Ok(is_closed) => {
                (self.running, self.server, self.is_closed) = (copied, Some(next), is_closed);
                Ok(())
            }
            Err(reason) => {
                if had_server && let Err(again) = self.start(Start { is_first: false, may_be_closed: true }).await {
                    note!("convoke: the former program does not start again: {again}");
                }
                Err(reason)
            }
        }
    }

    /// Reports a failure after which the former server goes on. The console shows the text.
    fn keep(&mut self, text: String, what: &str) {
        self.has_failed = true;
        match &self.server {
            Some(server) => {
                note!("convoke: {what}; the former server goes on");
                server.say(&ToServer::Build(Some(text)));
            }
            None => note!("convoke: {what}; no server runs, and requests wait for the next one"),
        }
    }

    /// Ends the server.
    async fn end(self) -> Result<(), Failure> {
        let Some(server) = self.server else { return Ok(()) };
        match server.end().await {
            Some(status) if status.success() => Ok(()),
            status => Err(Failure(format!("the server ended with {}", shown(status)))),
        }
    }
}

/// Waits for the end of the server. Returns its exit status as text.
async fn ended(server: &mut Option<ServerProcess>) -> String {
    match server {
        Some(server) => shown(server.ended().await),
        None => std::future::pending().await,
    }
}

/// Waits for the result of the build.
async fn outcome(build: &mut Option<Build>) -> (Outcome, Duration) {
    match build {
        Some(build) => build.outcome().await,
        None => std::future::pending().await,
    }
}
