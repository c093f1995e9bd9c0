//! One generation a meeting at a time: the others wait for it and read what it made.
//!
//! In memory, for this process. Nothing rests on it but work that is not done twice: what is written is checked again
//! in its own transaction.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use convoke::prelude::*;
use parking_lot::Mutex;
use schema::Meeting;
use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

use super::inputs::Demand;

/// How far apart two generations by force are.
const FORCED_APART: Duration = Duration::from_secs(60);

/// Who is at work on which meeting.
#[derive(Default)]
pub struct SingleFlight {
    meetings: Mutex<HashMap<Id<Meeting>, Arc<Queue<Last>>>>,
}

/// What the last one in a meeting left.
#[derive(Default)]
struct Last {
    /// When the last one by force began, if it came to its end.
    forced: Option<Millis>,
    /// Whether the last one came to its end.
    is_done: bool,
}

impl Last {
    /// Whether one by force at `now` reads what the last one made.
    fn is_fresh(&self, now: Millis) -> bool {
        self.forced.is_some_and(|forced| now < forced + FORCED_APART)
    }
}

/// The right to work on a meeting, until it is dropped.
pub struct Flight {
    last: OwnedMutexGuard<Last>,
    /// What is left to do.
    pub demand: Demand,
    began: Millis,
    is_forced: bool,
}

impl SingleFlight {
    /// Waits for the right to work on a meeting, as long as it takes. Anyone who had to wait for somebody who came to the
    /// end, or forces soon after somebody else did, is left with what that one made.
    pub async fn take(&self, meeting: Id<Meeting>, demand: Demand, now: Millis) -> Flight {
        let queue = self.queue(meeting, now);
        let (mut last, has_waited) = match queue.clone().try_lock_owned() {
            Ok(last) => (last, false),
            Err(_) => (queue.lock_owned().await, true),
        };
        let is_served = (has_waited && last.is_done) || (demand == Demand::Anew && last.is_fresh(now));
        last.is_done = false;
        let demand = if is_served { Demand::AsMade } else { demand };
        Flight { last, demand, began: now, is_forced: demand == Demand::Anew }
    }

    fn queue(&self, meeting: Id<Meeting>, now: Millis) -> Arc<Queue<Last>> {
        let mut meetings = self.meetings.lock();
        // What nobody works on or waits for is only kept for those who may force too soon.
        meetings
            .retain(|_, queue| Arc::strong_count(queue) > 1 || queue.try_lock().is_ok_and(|last| last.is_fresh(now)));
        meetings.entry(meeting).or_default().clone()
    }
}

impl Flight {
    /// Says that the work came to its end.
    pub fn done(mut self) {
        self.last.is_done = true;
        if self.is_forced {
            self.last.forced = Some(self.began);
        }
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
    async fn who_waited_is_left_with_what_was_made_unless_the_first_failed() {
        let flights = SingleFlight::default();
        for (fails, left) in [(false, Demand::AsMade), (true, Demand::Anew)] {
            let first = flights.take(meeting(1), Demand::Current, NOW).await;
            let ends = async {
                tokio::time::sleep(Duration::from_secs(24)).await;
                if fails { drop(first) } else { first.done() }
            };
            let (second, ()) = tokio::join!(flights.take(meeting(1), Demand::Anew, NOW), ends);
            assert_eq!(second.demand, left);
        }
    }

    #[tokio::test]
    async fn two_by_force_are_a_minute_apart() {
        let flights = SingleFlight::default();
        flights.take(meeting(1), Demand::Current, NOW).await.done();
        flights.take(meeting(1), Demand::Anew, NOW).await.done();
        let at = |after_ms: u64| NOW + Duration::from_millis(after_ms);
        let soon = flights.take(meeting(1), Demand::Anew, at(59_999)).await;
        assert_eq!(soon.demand, Demand::AsMade);
        soon.done();
        assert_eq!(flights.take(meeting(1), Demand::Anew, at(60_000)).await.demand, Demand::Anew);
        flights.take(meeting(2), Demand::Current, at(120_000)).await.done();
        assert_eq!(flights.meetings.lock().len(), 1, "what is over is forgotten");
    }
}
