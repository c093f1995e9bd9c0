//! Who sees a call that has ended: what is counted, logged, remembered or recorded of it.
//!
//! There is one event, [`CompletedCall`], and one trait. A call pays for a line of observers that is made at start and
//! never changes; other crates submit theirs with [`crate::services::SubmittedObserver`].

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::codec::decode::Body;
use crate::logs::LogLines;
use crate::registry::Registered;
use convoke_core::clock::Millis;
use convoke_core::error::{Code, Error};
use convoke_core::identity::{Caller, DeployKeyCaller};

/// Sees calls that have ended.
pub trait CallObserver: Send + Sync + 'static {
    /// A call has ended. It must not wait. If the answer must not go out before something is done, it returns a future
    /// that is awaited until then; what it does must not depend on whether that future is polled.
    fn completed(&self, call: &CompletedCall<'_>) -> Option<BoxFuture<'static, ()>>;
}

/// A call that has ended now.
#[derive(Clone, Copy)]
pub struct CompletedCall<'a> {
    /// What was called.
    pub called: Called<'a>,
    /// Under which id it stands in the log.
    pub request_id: &'a Arc<str>,
    /// Who called, if that was verified.
    pub caller: &'a Caller,
    /// Who made it.
    pub by: By,
    /// The deploy key that it was made with, if it came from outside with one.
    pub key: Option<UsedKey<'a>>,
    /// When it ended.
    pub at: Millis,
    /// How long it took.
    pub elapsed: Duration,
    /// What it ended in, if that is an error.
    pub error: Option<&'a Error>,
    /// What its function logged.
    pub log_lines: &'a LogLines,
    /// Whether it was given a result that was kept.
    pub is_kept: bool,
    /// The arguments as they were sent, if they were sent as text.
    pub(crate) arguments: Option<Body<'a>>,
    /// Bytes of its result as JSON, if it has one.
    pub result_bytes: Option<u64>,
    /// Rows that it read whole.
    pub rows_read: u64,
    /// Rows that it added, changed or removed.
    pub rows_written: u64,
    /// Time that it waited for a reader or for the writer.
    pub waited: Duration,
}

/// What a call led to.
#[derive(Clone, Copy)]
pub enum Called<'a> {
    /// A function, which ran or was refused to this caller.
    Function(&'a Registered),
    /// Nothing: it was rejected before a function was found.
    Rejected(Rejection<'a>),
}

/// A request that was rejected before a function was found.
#[derive(Clone, Copy, Debug)]
pub struct Rejection<'a> {
    /// Where.
    pub stage: Stage,
    /// A path of a function, or the method and path of a route: as the client wrote it.
    pub asked: &'a str,
    /// Who sent it, if it is known by then.
    pub peer: Option<IpAddr>,
}

impl Rejection<'_> {
    /// What was asked for, as logs and records repeat it.
    pub fn asked_in_short(&self) -> &str {
        const ASKED_BYTES_MAX: usize = 200;
        &self.asked[..self.asked.floor_char_boundary(ASKED_BYTES_MAX)]
    }
}

/// Where a request was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// By the listener: no route, a body over the limit, too many calls of one address.
    Listener,
    /// For its credentials.
    Credentials,
    /// By the call's first steps: no JSON, no envelope, no such function.
    Envelope,
}

impl Stage {
    /// Every stage, in the order a request meets them.
    pub const ALL: [Stage; 3] = [Stage::Listener, Stage::Credentials, Stage::Envelope];

    /// The name, as logs and metrics show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Stage::Listener => "listener",
            Stage::Credentials => "credentials",
            Stage::Envelope => "envelope",
        }
    }
}

/// Who made a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Somebody outside.
    Caller,
    /// The scheduler.
    Scheduler,
}

/// A deploy key that a call from outside was made with, or the operator in place of one.
#[derive(Clone, Copy)]
pub struct UsedKey<'a> {
    /// The key.
    pub key: &'a DeployKeyCaller,
    /// Where it was used from; none by the control socket.
    pub peer: Option<IpAddr>,
}

impl CompletedCall<'_> {
    /// The code of its error; none if it succeeded.
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

    /// Shows a call to all of them. What is returned is to be awaited before the call is answered.
    #[must_use]
    pub(crate) fn completed(&self, call: &CompletedCall<'_>) -> Vec<BoxFuture<'static, ()>> {
        // Most calls have nothing to wait for, and an empty list is no allocation.
        self.0.iter().filter_map(|observer| observer.completed(call)).collect()
    }
}

/// Waits for what observers do before a call is answered.
pub(crate) async fn settled(awaited: Vec<BoxFuture<'static, ()>>) {
    for future in awaited {
        future.await;
    }
}
