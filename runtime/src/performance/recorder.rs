//! What a call meets when it ends: a counter of its function, in a shard of its thread.
//!
//! A shard holds one second; when a call of another second comes, the former one is packed and set aside. The lock of
//! a shard is practically never waited for.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use parking_lot::Mutex;

use super::histogram::{self, Figures, LATENCY_US_MAX, Span};
use crate::clock::Millis;
use crate::registry::Registered;
use crate::runtime::Runtime;

/// The finest span, in ms.
pub(crate) const SECOND: i64 = 1_000;
/// Seconds of one function that wait for the table at most; beyond, the older half is given up.
const WAITING_MAX: usize = 7_200;

/// Who made a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Somebody outside.
    Caller,
    /// The scheduler.
    Scheduler,
}

impl Runtime {
    /// Counts a call that began at `began` of the monotonic clock and has ended now.
    pub(crate) fn record(&self, function: &Registered, began: Duration, ok: bool, by: By) {
        let clock = self.clock();
        let latency = clock.monotonic().saturating_sub(began);
        function.recorder.record(Ended { at: clock.now(), latency, ok, scheduled: by == By::Scheduler });
    }
}

/// How a call ended, and who made it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub at: Millis,
    pub latency: Duration,
    pub ok: bool,
    pub scheduled: bool,
}

/// The calls of one function that are not in the table yet.
pub(crate) struct Recorder {
    shards: Box<[Shard]>,
    /// Seconds that are over, packed.
    waiting: Mutex<Vec<Span>>,
}

/// A lock of its own cache line.
#[repr(align(128))]
#[derive(Default)]
struct Shard(Mutex<Option<Open>>);

/// The second that a shard counts.
struct Open {
    start: i64,
    figures: Figures,
    histogram: Histogram<u32>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { shards: (0..shards()).map(|_| Shard::default()).collect(), waiting: Mutex::default() }
    }
}

impl Recorder {
    /// Counts a call.
    pub(crate) fn record(&self, ended: Ended) {
        let start = ended.at.0.div_euclid(SECOND) * SECOND;
        let mut shard = self.shards[thread_number() % self.shards.len()].0.lock();
        if shard.as_ref().is_none_or(|open| open.start != start) {
            self.turn(&mut shard, start);
        }
        if let Some(open) = &mut *shard {
            let latency_us = u64::try_from(ended.latency.as_micros()).unwrap_or(u64::MAX).clamp(1, LATENCY_US_MAX);
            open.figures +=
                Figures { calls: 1, errors: u64::from(!ended.ok), scheduled: u64::from(ended.scheduled), latency_us };
            // It grows with the latency: nothing up to an hour is refused.
            let recorded = open.histogram.record(latency_us);
            debug_assert!(recorded.is_ok(), "a latency up to an hour fits");
        }
    }

    /// Another second begins in a shard.
    fn turn(&self, shard: &mut Option<Open>, start: i64) {
        match shard {
            None => *shard = Some(Open { start, figures: Figures::default(), histogram: histogram::recorder() }),
            Some(open) => {
                if open.figures.calls > 0 {
                    self.set_aside(open.span());
                }
                open.start = start;
                open.figures = Figures::default();
                open.histogram.reset();
            }
        }
    }

    fn set_aside(&self, span: Span) {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= WAITING_MAX {
            // Nobody has taken them for an hour: the store refuses writes, or nobody runs the background work.
            waiting.drain(..WAITING_MAX / 2);
        }
        waiting.push(span);
    }

    /// Takes the seconds that began before `end`.
    pub(crate) fn take_before(&self, end: i64) -> Vec<Span> {
        for shard in &self.shards {
            let mut shard = shard.0.lock();
            if let Some(open) = &mut *shard
                && open.start < end
            {
                if open.figures.calls > 0 {
                    self.set_aside(open.span());
                }
                // A function that is called no more gives its memory back.
                *shard = None;
            }
        }
        let mut waiting = self.waiting.lock();
        let (taken, left) = std::mem::take(&mut *waiting).into_iter().partition(|span| span.start < end);
        *waiting = left;
        taken
    }

    /// A copy of all seconds, the present one included.
    pub(crate) fn copy(&self, out: &mut Vec<Span>) {
        // The shards first: what is set aside meanwhile would be missed in the other order.
        let mut waiting = Vec::new();
        let shards: Vec<_> = self.shards.iter().map(|shard| shard.0.lock()).collect();
        for open in shards.iter().filter_map(|shard| shard.as_ref()).filter(|open| open.figures.calls > 0) {
            out.push(open.span());
        }
        waiting.clone_from(&self.waiting.lock());
        drop(shards);
        out.append(&mut waiting);
    }
}

impl Open {
    fn span(&self) -> Span {
        Span { start: self.start, figures: self.figures, packed: histogram::pack(&self.histogram) }
    }
}

/// As many shards as threads run at once, at most 16.
fn shards() -> usize {
    static SHARDS: OnceLock<usize> = OnceLock::new();
    *SHARDS.get_or_init(|| std::thread::available_parallelism().map_or(4, usize::from).clamp(1, 16))
}

/// A number of this thread; threads that start one after the other have numbers that follow one another.
fn thread_number() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    }
    NUMBER.get().unwrap_or_else(|| {
        let number = THREADS.fetch_add(1, Ordering::Relaxed);
        NUMBER.set(Some(number));
        number
    })
}

#[cfg(test)]
mod tests {
    use super::super::histogram::Sum;
    use super::*;

    fn ended(at: i64, latency_us: u64, ok: bool) -> Ended {
        Ended { at: Millis(at), latency: Duration::from_micros(latency_us), ok, scheduled: false }
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
        assert_eq!(sum.figures.calls, (threads * calls) as u64);
        assert_eq!(sum.figures.errors, (threads * calls / 4) as u64);
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
