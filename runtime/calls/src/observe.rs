//! The observers of completed calls: they count, log or record them.
//!
//! There is one event, [`CompletedCall`], and one trait. A call runs through a list of observers that is built at start
//! and never changes. Other crates submit observers with [`crate::services::SubmittedObserver`].

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::codec::decode::Body;
use crate::logs::LogLines;
use crate::registry::Registered;
use crate::trace::Span;
use convoke_core::clock::Millis;
use convoke_core::error::{Code, Error};
use convoke_core::excerpt::excerpt;
use convoke_core::identity::{Caller, DeployKeyCaller};

/// An observer of completed calls.
pub trait CallObserver: Send + Sync + 'static {
    /// Receives a completed call. It must not block. If the response has to wait for work, it returns a future that is
    /// awaited before the response; the work must not depend on a poll of that future.
    fn completed(&self, call: &CompletedCall<'_>) -> Option<BoxFuture<'static, ()>>;
}

/// A call that has just ended.
#[derive(Clone, Copy)]
pub struct CompletedCall<'a> {
    /// The called function, or the rejection.
    pub called: Called<'a>,
    /// Request id, as in the log.
    pub request_id: &'a Arc<str>,
    /// Caller, if verified.
    pub caller: &'a Caller,
    /// Origin of the call.
    pub by: By,
    /// The deploy key of a call from outside, if it has one.
    pub key: Option<UsedKey<'a>>,
    /// Time at which it ended.
    pub at: Millis,
    /// Duration.
    pub elapsed: Duration,
    /// Its error, if it failed.
    pub error: Option<&'a Error>,
    /// The log lines of its function.
    pub log_lines: &'a LogLines,
    /// True if it received a cached result.
    pub is_cached: bool,
    /// The arguments as sent, if they were sent as text.
    pub(crate) arguments: Option<Body<'a>>,
    /// Bytes of its result as JSON, if it has one.
    pub result_bytes: Option<u64>,
    /// Rows that it read in full.
    pub rows_read: u64,
    /// Rows that it added, changed or removed.
    pub rows_written: u64,
    /// Time that it waited for a reader or for the writer.
    pub waited: Duration,
    /// The span of the call.
    pub span: &'a Span,
}

/// The target of a call.
#[derive(Clone, Copy)]
pub enum Called<'a> {
    /// A function, which ran or rejected the caller.
    Function(&'a Registered),
    /// None: the request was rejected before a function was found.
    Rejected(Rejection<'a>),
}

/// A request that was rejected before a function was found.
#[derive(Clone, Copy, Debug)]
pub struct Rejection<'a> {
    /// Stage of the rejection.
    pub stage: Stage,
    /// The path of a function, or the method and path of a route, as the client wrote it.
    pub asked: &'a str,
    /// Address of the client, if it is already known.
    pub peer: Option<IpAddr>,
}

impl Rejection<'_> {
    /// Returns the requested path for logs and records, truncated.
    pub fn asked_in_short(&self) -> &str {
        excerpt(self.asked)
    }
}

/// The stage at which a request was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The listener: no route, a body over the limit, too many calls from one address.
    Listener,
    /// The check of the credentials.
    Credentials,
    /// The first steps of the call: invalid JSON, an invalid envelope, an unknown function.
    Envelope,
}

impl Stage {
    /// All stages, in the order in which a request meets them.
    pub const ALL: [Stage; 3] = [Stage::Listener, Stage::Credentials, Stage::Envelope];

    /// Returns the name, as in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Stage::Listener => "listener",
            Stage::Credentials => "credentials",
            Stage::Envelope => "envelope",
        }
    }
}

/// The origin of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A client outside.
    Caller,
    /// The scheduler.
    Scheduler,
}

/// The deploy key of a call from outside, or the operator in place of a key.
#[derive(Clone, Copy)]
pub struct UsedKey<'a> {
    /// The key.
    pub key: &'a DeployKeyCaller,
    /// Address of the client; none for the control socket.
    pub peer: Option<IpAddr>,
}

impl CompletedCall<'_> {
    /// Returns the code of its error; none if it succeeded.
    pub fn outcome(&self) -> Option<Code> {
        self.error.map(Error::code)
    }
}

/// All observers of a runtime.
pub(crate) struct Observers(Box<[Arc<dyn CallObserver>]>);

impl Observers {
    pub(crate) fn new(observers: impl IntoIterator<Item = Arc<dyn CallObserver>>) -> Self {
        Self(observers.into_iter().collect())
    }

    /// Reports a call to all observers. Await the returned futures before the response.
    #[must_use]
    pub(crate) fn completed(&self, call: &CompletedCall<'_>) -> Vec<BoxFuture<'static, ()>> {
        // Most calls have no future to await, and an empty list does not allocate.
        self.0.iter().filter_map(|observer| observer.completed(call)).collect()
    }
}

/// Awaits the work of observers before the response of a call.
pub(crate) async fn await_all(awaited: Vec<BoxFuture<'static, ()>>) {
    for future in awaited {
        future.await;
    }
}
