//! Requests that were rejected before a function ran: counted by stage and code, and logged for the operator.
//!
//! Each rejection gets a log line, as a call does. In a flood with one code, only some lines per second are written,
//! and the next line reports the number of omitted ones. The counters include all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::observe::{CallObserver, Called, CompletedCall, Stage};
use convoke_core::clock::Clock;
use convoke_core::error::Code;

/// Lines per code and second.
const LINES_A_SECOND: u32 = 20;

/// The rejected requests since the start.
pub struct Rejections {
    clock: Arc<dyn Clock>,
    counts: [[AtomicU64; Code::ALL.len()]; Stage::ALL.len()],
    windows: [Mutex<Window>; Code::ALL.len()],
}

/// The lines of one code in the current second.
#[derive(Default)]
struct Window {
    began: Duration,
    lines: u32,
    left_out: u64,
}

impl Rejections {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let counts = std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0)));
        Self { clock, counts, windows: std::array::from_fn(|_| Mutex::default()) }
    }

    fn count(&self, stage: Stage, code: Code) {
        self.counts[stage as usize][code as usize].fetch_add(1, Relaxed);
    }

    /// Returns the number of rejections per stage and code.
    pub fn counts(&self) -> impl Iterator<Item = (Stage, Code, u64)> {
        Stage::ALL.into_iter().flat_map(move |stage| {
            let counts = Code::ALL.iter().zip(&self.counts[stage as usize]);
            counts.map(move |(code, count)| (stage, *code, count.load(Relaxed))).filter(|(.., count)| *count > 0)
        })
    }

    /// Returns `None` if this second has enough lines of this code; else the number of lines omitted before.
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

impl CallObserver for Rejections {
    fn completed(&self, call: &CompletedCall<'_>) -> Option<BoxFuture<'static, ()>> {
        let (Called::Rejected(rejection), Some(error)) = (call.called, call.error) else { return None };
        let (stage, code) = (rejection.stage, error.code());
        self.count(stage, code);
        if tracing::enabled!(target: "convoke::call", tracing::Level::INFO)
            && let Some(left_out) = self.line(code, self.clock.monotonic())
        {
            tracing::info!(
                target: "convoke::call",
                request_id = &**call.request_id,
                asked = rejection.asked_in_short(),
                outcome = code.as_str(),
                by = stage.as_str(),
                peer = rejection.peer.map(tracing::field::display),
                subject = call.caller.identity().map(|identity| identity.subject.as_str()),
                deploy_key = call.caller.deploy_key().map(|key| key.name.as_str()),
                reason = error.message(),
                left_out = (left_out > 0).then_some(left_out),
                "refused"
            );
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::clock::SystemClock;

    #[test]
    fn flood_writes_some_lines_per_second_and_the_next_line_counts_the_omitted_ones() {
        let rejections = Rejections::new(Arc::new(SystemClock::new()));
        let at = |ms| rejections.line(Code::TooManyRequests, Duration::from_millis(ms));
        assert!((0..20).all(|_| at(5_000) == Some(0)));
        assert!((0..300).all(|_| at(5_900).is_none()));
        assert_eq!(
            rejections.line(Code::RouteNotFound, Duration::from_millis(5_900)),
            Some(0),
            "other codes have separate limits"
        );
        assert_eq!((at(6_000), at(6_001)), (Some(300), Some(0)));
    }

    #[test]
    fn counts_are_by_stage_and_code() {
        let rejections = Rejections::new(Arc::new(SystemClock::new()));
        rejections.count(Stage::Envelope, Code::InvalidJson);
        rejections.count(Stage::Listener, Code::PayloadTooLarge);
        rejections.count(Stage::Envelope, Code::InvalidJson);
        assert_eq!(
            rejections.counts().collect::<Vec<_>>(),
            [(Stage::Listener, Code::PayloadTooLarge, 1), (Stage::Envelope, Code::InvalidJson, 2)]
        );
    }
}
