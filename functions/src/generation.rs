//! Scheduling of the generators of insights and prompts.
//!
//! Reading a long transcript uses a core for about a second. So one generator runs per meeting over all nodes, and a
//! few run per node, each on its own thread. Only a running generator reads texts; waiting ones hold none.
//! `transcripts/window` limits the size of the text.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use convoke::prelude::*;
use convoke::scheduler::{Turn, Turns};
use schema::Meeting;
use schema::limits::Generation;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Longest wait of a call for earlier ones.
const WAIT: Duration = Duration::from_secs(25);

/// Waits until a call may generate.
///
/// # Errors
/// `UNAVAILABLE` after 25 s, and immediately if many calls wait already; errors of `wait`.
pub async fn patiently<T>(ctx: &ActionCtx, wait: impl Future<Output = Result<T>>) -> Result<T> {
    ctx.memory::<Gate>().patiently(ctx.settings::<Generation>().waiting_max, wait).await
}

/// Waits without a timeout for the right to generate from the texts of a meeting; see [`patiently`].
///
/// # Errors
/// `UNAVAILABLE`: other nodes cannot be reached.
pub async fn enter(ctx: &ActionCtx, meeting: Id<Meeting>) -> Result<Pass> {
    ctx.memory::<Gate>().enter(ctx.turns(), meeting, ctx.settings::<Generation>().at_once, ctx.now()).await
}

/// The right to generate from the texts of one meeting. Dropping it releases the right.
pub struct Pass {
    _place: OwnedSemaphorePermit,
    _turn: Turn,
}

/// Runs a generator on its own thread. The pass is held until the generator ends, even if its caller is gone, because
/// it still uses a core.
///
/// # Errors
/// `INTERNAL`: no thread can be started.
pub async fn work<T: Send + 'static>(
    ctx: &ActionCtx,
    pass: Pass,
    generate: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let work = move || {
        let generated = generate();
        drop(pass);
        generated
    };
    ctx.work_on_thread(work).await
}

/// The running and waiting generators of this process.
#[derive(Default)]
struct Gate {
    waiting: AtomicUsize,
    places: OnceLock<Arc<Semaphore>>,
}

convoke::gauge!("app_generations_waiting", "Calls that wait until they can generate insights or prompts.", |runtime| {
    runtime.memory::<Gate>().waiting.load(Ordering::Relaxed) as f64
});

impl Gate {
    async fn enter(&self, turns: &Turns, meeting: Id<Meeting>, at_once: usize, now: Millis) -> Result<Pass> {
        let turn = turns.take("generation", meeting.to_string(), now).await?;
        let places = self.places.get_or_init(|| Arc::new(Semaphore::new(at_once.max(1))));
        let place = places.clone().acquire_owned().await.expect("the places are never closed");
        Ok(Pass { _place: place, _turn: turn })
    }

    async fn patiently<T>(&self, waiting_max: usize, wait: impl Future<Output = Result<T>>) -> Result<T> {
        let busy = || Error::unavailable("Too much is being generated now; try again in a moment");
        let waiting = Waiting::join(&self.waiting);
        if waiting.place > waiting_max {
            return Err(busy());
        }
        tokio::time::timeout(WAIT, wait).await.map_err(|_| busy())?
    }
}

/// A waiting call, until it is dropped.
struct Waiting<'a> {
    all: &'a AtomicUsize,
    /// Number of waiting calls at its arrival, including itself.
    place: usize,
}

impl<'a> Waiting<'a> {
    fn join(all: &'a AtomicUsize) -> Self {
        Self { all, place: all.fetch_add(1, Ordering::Relaxed) + 1 }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    fn meeting(bits: u128) -> Id<Meeting> {
        Id::from_bits(bits)
    }

    #[tokio::test(start_paused = true)]
    async fn caller_is_rejected_after_waiting_25_seconds() {
        let (gate, turns) = (Gate::default(), Turns::default());
        let enter = |number| gate.patiently(9, gate.enter(&turns, meeting(number), 2, NOW));
        let first = enter(1).await.unwrap();
        let second = enter(2).await.unwrap();
        for busy in [1, 3] {
            let began = tokio::time::Instant::now();
            let refused = enter(busy).await.err().unwrap();
            assert_eq!((refused.code(), began.elapsed()), (Code::Unavailable, WAIT));
        }
        drop(second);
        drop(enter(3).await.unwrap());
        drop(first);
        drop(enter(1).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn caller_is_rejected_immediately_when_the_queue_is_full() {
        let (gate, turns) = (&Gate::default(), &Turns::default());
        let first = gate.enter(turns, meeting(1), 1, NOW).await.unwrap();
        let call = |number: u128| gate.patiently(2, gate.enter(turns, meeting(number), 1, NOW));
        let call = &call;
        let began = tokio::time::Instant::now();
        let come = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let refused = call(4).await.err().unwrap();
            assert_eq!((refused.code(), began.elapsed()), (Code::Unavailable, Duration::from_secs(1)));
            drop(first);
        };
        let pass = |number| async move { drop(call(number).await.unwrap()) };
        tokio::join!(pass(2), pass(3), come);
        drop(call(4).await.unwrap());
        assert_eq!(gate.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn gate_allows_one_generation_per_meeting_and_a_total_limit() {
        let (gate, turns) = (Gate::default(), Turns::default());
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let of_meeting: Vec<AtomicUsize> = (0..4).map(|_| AtomicUsize::new(0)).collect();
        let generate = |number: usize| {
            let (gate, turns, inside, most, of_meeting) = (&gate, &turns, &inside, &most, &of_meeting);
            async move {
                let place = number % of_meeting.len();
                let _pass = gate.enter(turns, meeting(place as u128), 3, NOW).await.unwrap();
                assert_eq!(of_meeting[place].fetch_add(1, Ordering::Relaxed), 0, "two at once for one meeting");
                most.fetch_max(inside.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(1)).await;
                inside.fetch_sub(1, Ordering::Relaxed);
                of_meeting[place].fetch_sub(1, Ordering::Relaxed);
            }
        };
        let began = tokio::time::Instant::now();
        futures_util::future::join_all((0..12).map(generate)).await;
        assert_eq!(most.load(Ordering::Relaxed), 3);
        assert!(began.elapsed() <= Duration::from_secs(6), "{:?}", began.elapsed());
    }
}
