//! The recorder of a function: each completed call is recorded in a histogram of its thread's shard.
//!
//! A shard holds one second. When a call of another second comes, the previous one is packed and set aside.

use std::time::Duration;

use hdrhistogram::Histogram;
use parking_lot::Mutex;

use super::histogram::{self, LATENCY_US_MAX, Span, Stats};
use crate::shards::Shards;
use convoke_core::clock::Millis;

/// The finest span, in ms.
pub(crate) const SECOND: i64 = 1_000;
/// Maximum number of seconds of one function that wait for the table. Beyond it, the older half is dropped.
const WAITING_MAX: usize = 7_200;

/// The outcome and origin of a call.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Time at which it ended.
    pub at: Millis,
    /// Latency.
    pub latency: Duration,
    /// True if it failed.
    pub failed: bool,
    /// True if the scheduler made it.
    pub scheduled: bool,
}

/// The calls of one function that are not in the table yet.
#[derive(Default)]
pub struct Recorder {
    /// The current second of each shard.
    shards: Shards<Option<Open>>,
    /// Past seconds, packed.
    waiting: Mutex<Vec<Span>>,
}

/// The current second of a shard.
struct Open {
    start: i64,
    stats: Stats,
    histogram: Histogram<u32>,
}

impl Recorder {
    /// Records a call.
    pub fn record(&self, ended: Ended) {
        let start = ended.at.0.div_euclid(SECOND) * SECOND;
        let mut shard = self.shards.mine();
        if shard.as_ref().is_none_or(|open| open.start != start) {
            self.turn(&mut shard, start);
        }
        if let Some(open) = &mut *shard {
            let latency_us = u64::try_from(ended.latency.as_micros()).unwrap_or(u64::MAX).clamp(1, LATENCY_US_MAX);
            let (errors, scheduled) = (u64::from(ended.failed), u64::from(ended.scheduled));
            open.stats += Stats { calls: 1, errors, scheduled, latency_us };
            // The histogram grows with the latency: every value up to an hour is accepted.
            let recorded = open.histogram.record(latency_us);
            debug_assert!(recorded.is_ok(), "a latency up to an hour fits");
        }
    }

    /// Begins another second in a shard.
    fn turn(&self, shard: &mut Option<Open>, start: i64) {
        match shard {
            None => *shard = Some(Open { start, stats: Stats::default(), histogram: histogram::recorder() }),
            Some(open) => {
                if open.stats.calls > 0 {
                    self.set_aside(open.span());
                }
                open.start = start;
                open.stats = Stats::default();
                open.histogram.reset();
            }
        }
    }

    fn set_aside(&self, span: Span) {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= WAITING_MAX {
            // The seconds were not taken for an hour: the store rejects writes, or the background work does not run.
            waiting.drain(..WAITING_MAX / 2);
        }
        waiting.push(span);
    }

    /// Takes the seconds that began before `end`.
    pub(crate) fn take_before(&self, end: i64) -> Vec<Span> {
        for mut shard in self.shards.each() {
            if let Some(open) = &mut *shard
                && open.start < end
            {
                if open.stats.calls > 0 {
                    self.set_aside(open.span());
                }
                // A function that is no longer called frees its memory.
                *shard = None;
            }
        }
        let mut waiting = self.waiting.lock();
        let (taken, left) = std::mem::take(&mut *waiting).into_iter().partition(|span| span.start < end);
        *waiting = left;
        taken
    }

    /// Copies all seconds, including the current one.
    pub(crate) fn copy(&self, out: &mut Vec<Span>) {
        // All shards are locked first: in the other order, seconds that are set aside in between would be missed.
        let mut waiting = Vec::new();
        let shards: Vec<_> = self.shards.each().collect();
        for open in shards.iter().filter_map(|shard| shard.as_ref()).filter(|open| open.stats.calls > 0) {
            out.push(open.span());
        }
        waiting.clone_from(&self.waiting.lock());
        drop(shards);
        out.append(&mut waiting);
    }
}

impl Open {
    fn span(&self) -> Span {
        Span { start: self.start, stats: self.stats, packed: histogram::pack(&self.histogram) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::histogram::Sum;
    use super::*;

    fn ended(at: i64, latency_us: u64, ok: bool) -> Ended {
        Ended { at: Millis(at), latency: Duration::from_micros(latency_us), failed: !ok, scheduled: false }
    }

    #[test]
    fn no_call_is_lost_or_counted_twice_between_threads_and_seconds() {
        let recorder = Recorder::default();
        let (threads, calls) = (8, 5_000);
        let mut taken = Vec::new();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let recorder = &recorder;
                scope.spawn(move || {
                    for call in 0..calls {
                        recorder.record(ended(call / 10 * 100, (thread * calls + call) as u64, call % 4 != 0));
                    }
                });
            }
            for end in (0..50_000).step_by(5_000) {
                taken.extend(recorder.take_before(end));
            }
        });
        recorder.copy(&mut taken);
        let mut sum = Sum::default();
        taken.iter().for_each(|span| sum.add(span));
        assert_eq!(sum.stats.calls, (threads * calls) as u64);
        assert_eq!(sum.stats.errors, (threads * calls / 4) as u64);
        assert!(taken.iter().all(|span| span.start % SECOND == 0));
    }

    #[test]
    fn latencies_beyond_an_hour_and_below_a_microsecond_are_counted_at_the_ends() {
        let recorder = Recorder::default();
        recorder.record(Ended { latency: Duration::from_nanos(3), ..ended(0, 0, true) });
        recorder.record(Ended { latency: Duration::from_secs(9_000), ..ended(0, 0, true) });
        let mut sum = Sum::default();
        recorder.take_before(SECOND).iter().for_each(|span| sum.add(span));
        assert_eq!(sum.percentile_us(50), 1.0);
        let greatest = sum.percentile_us(100);
        assert!((greatest - LATENCY_US_MAX as f64).abs() < LATENCY_US_MAX as f64 / 1_000.0, "{greatest}");
    }
}
