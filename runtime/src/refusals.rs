//! Requests that were refused before any function ran: counted by where and why, and told to the operator.
//!
//! Each gets a line in the log, as a call does; of a flood with one code only some a second, and the next line says how
//! many were left out. The counters have them all.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use crate::error::Code;
use crate::identity::Caller;
use crate::journal::Entry;
use crate::logs::LogLines;
use crate::runtime::Runtime;

/// Lines of one code a second.
const LINES_A_SECOND: u32 = 20;
/// Bytes of what a request asked for, as it is repeated.
const ASKED_BYTES_MAX: usize = 200;

/// Where a request was refused.
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

/// A request that was refused.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    /// Where.
    pub stage: Stage,
    /// Why.
    pub code: Code,
    /// Why, in a sentence.
    pub message: &'a str,
    /// Its id.
    pub request_id: &'a str,
    /// A path of a function, or the method and path of a route: as the client wrote it.
    pub asked: &'a str,
    /// Who sent it, if it came over a socket.
    pub peer: Option<IpAddr>,
    /// Who it said it was, if that was verified.
    pub caller: &'a Caller,
}

/// What was refused so far.
#[derive(Default)]
pub(crate) struct Refusals {
    counts: [[AtomicU64; Code::ALL.len()]; Stage::ALL.len()],
    windows: [Mutex<Window>; Code::ALL.len()],
}

/// The lines of one code in the present second.
#[derive(Default)]
struct Window {
    began: Duration,
    lines: u32,
    left_out: u64,
}

impl Refusals {
    fn count(&self, stage: Stage, code: Code) {
        self.counts[stage as usize][code as usize].fetch_add(1, Relaxed);
    }

    /// How many were refused, where and why.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Stage, Code, u64)> {
        Stage::ALL.into_iter().flat_map(move |stage| {
            let counts = Code::ALL.iter().zip(&self.counts[stage as usize]);
            counts.map(move |(code, count)| (stage, *code, count.load(Relaxed))).filter(|(.., count)| *count > 0)
        })
    }

    /// Whether another line of this code fits into the second; if so, how many before it were left out.
    fn line(&self, code: Code, now: Duration) -> Option<u64> {
        let mut window = self.windows[code as usize].lock();
        if now.saturating_sub(window.began) >= Duration::from_secs(1) {
            (window.began, window.lines) = (now, 0);
        }
        if window.lines >= LINES_A_SECOND {
            window.left_out += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

impl Runtime {
    /// Takes in a request that was refused: for its counter, the log, and whoever follows.
    pub fn refused(&self, refused: Refused<'_>) {
        let Refused { stage, code, message, request_id, asked, peer, caller } = refused;
        let asked = &asked[..asked.floor_char_boundary(ASKED_BYTES_MAX)];
        self.refusals().count(stage, code);
        let subject = || caller.identity().map(|identity| identity.subject.as_str());
        let deploy_key = || caller.deploy_key().map(|key| key.name.as_str());
        if tracing::enabled!(target: "convoke::call", tracing::Level::INFO)
            && let Some(left_out) = self.refusals().line(code, self.clock().monotonic())
        {
            tracing::info!(
                target: "convoke::call",
                request_id,
                asked,
                outcome = code.as_str(),
                by = stage.as_str(),
                peer = peer.map(tracing::field::display),
                subject = subject(),
                deploy_key = deploy_key(),
                reason = message,
                left_out = (left_out > 0).then_some(left_out),
                "refused"
            );
        }
        let entry = || Entry {
            time: self.clock().now(),
            request_id: request_id.into(),
            function: asked.into(),
            kind: None,
            outcome: Some(code),
            took: Duration::ZERO,
            subject: subject().map(Box::from),
            deploy_key: deploy_key().map(Box::from),
            scheduled: false,
            error: Some(message.into()),
            log_lines: LogLines::default(),
        };
        match stage {
            Stage::Listener => self.journal().mention(entry),
            Stage::Credentials | Stage::Envelope => self.journal().enter(entry()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_leaves_some_lines_a_second_and_the_next_says_how_many_are_missing() {
        let refusals = Refusals::default();
        let at = |ms| refusals.line(Code::TooManyRequests, Duration::from_millis(ms));
        assert!((0..20).all(|_| at(5_000) == Some(0)));
        assert!((0..300).all(|_| at(5_900).is_none()));
        assert_eq!(
            refusals.line(Code::RouteNotFound, Duration::from_millis(5_900)),
            Some(0),
            "other codes have theirs"
        );
        assert_eq!((at(6_000), at(6_001)), (Some(300), Some(0)));
    }

    #[test]
    fn counts_are_by_stage_and_code() {
        let refusals = Refusals::default();
        refusals.count(Stage::Envelope, Code::InvalidJson);
        refusals.count(Stage::Listener, Code::PayloadTooLarge);
        refusals.count(Stage::Envelope, Code::InvalidJson);
        assert_eq!(
            refusals.counts().collect::<Vec<_>>(),
            [(Stage::Listener, Code::PayloadTooLarge, 1), (Stage::Envelope, Code::InvalidJson, 2)]
        );
    }
}
