//! Runs one generation per meeting at a time, over all nodes. Others wait and read its result.
//!
//! This only avoids repeated work: every write is checked again in its transaction.

use std::time::Duration;

use convoke::prelude::*;
use convoke::scheduler::{Turn, Turns};
use schema::Meeting;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::inputs::Demand;

/// Minimum time between two forced generations.
const FORCED_APART: Duration = Duration::from_secs(60);

/// The state that the last generation of a meeting left.
#[derive(Default, Serialize, Deserialize)]
struct Last {
    /// Start of the last forced generation, if it was completed.
    forced: Option<Millis>,
    /// True if the last generation was completed.
    is_done: bool,
}

impl Last {
    fn left_with(turn: &Turn) -> Self {
        // The state of another release is ignored.
        let last: Last = turn.left().and_then(|left| serde_json::from_str(left).ok()).unwrap_or_default();
        Self { is_done: last.is_done && !turn.is_interrupted(), ..last }
    }

    /// Returns true if a forced generation at `now` reads the last result instead.
    fn is_fresh(&self, now: Millis) -> bool {
        self.forced.is_some_and(|forced| now < forced + FORCED_APART)
    }

    fn leave(&self, turn: &mut Turn) {
        // A caller that forces too soon gets the last result.
        let until = self.forced.map_or(Millis(0), |forced| forced + FORCED_APART);
        turn.leave(json!(self).to_string(), until);
    }
}

/// The right to work on a meeting, until it is dropped.
pub struct Flight {
    /// The exclusive turn.
    pub turn: Turn,
    /// The remaining work.
    pub demand: Demand,
    last: Last,
    began: Millis,
    is_forced: bool,
}

impl Flight {
    /// Waits without a timeout for the right to work on a meeting. A caller that waited for a completed generation, or
    /// that forces soon after another one, only reads its result.
    ///
    /// # Errors
    /// `UNAVAILABLE`: other nodes cannot be reached.
    pub async fn take(turns: &Turns, meeting: Id<Meeting>, demand: Demand, now: Millis) -> Result<Self> {
        let mut turn = turns.take("insights", meeting.to_string(), now).await?;
        let last = Last::left_with(&turn);
        let is_served = (turn.has_waited() && last.is_done) || (demand == Demand::Anew && last.is_fresh(now));
        let last = Last { is_done: false, ..last };
        last.leave(&mut turn);
        let demand = if is_served { Demand::AsMade } else { demand };
        Ok(Self { turn, last, demand, began: now, is_forced: demand == Demand::Anew })
    }

    /// Records that the work was completed.
    pub async fn done(mut self) {
        let forced = if self.is_forced { Some(self.began) } else { self.last.forced };
        Last { is_done: true, forced }.leave(&mut self.turn);
        self.turn.end().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    async fn take(turns: &Turns, bits: u128, demand: Demand, now: Millis) -> Flight {
        Flight::take(turns, Id::from_bits(bits), demand, now).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_call_uses_the_first_result_unless_the_first_failed() {
        let turns = Turns::default();
        for (fails, left) in [(false, Demand::AsMade), (true, Demand::Anew)] {
            let first = take(&turns, 1, Demand::Current, NOW).await;
            let ends = async {
                tokio::time::sleep(Duration::from_secs(24)).await;
                if fails { drop(first) } else { first.done().await }
            };
            let (second, ()) = tokio::join!(take(&turns, 1, Demand::Anew, NOW), ends);
            assert_eq!(second.demand, left);
        }
    }

    #[tokio::test]
    async fn two_by_force_are_a_minute_apart() {
        let turns = Turns::default();
        take(&turns, 1, Demand::Current, NOW).await.done().await;
        take(&turns, 1, Demand::Anew, NOW).await.done().await;
        let at = |after_ms: u64| NOW + Duration::from_millis(after_ms);
        let soon = take(&turns, 1, Demand::Anew, at(59_999)).await;
        assert_eq!(soon.demand, Demand::AsMade);
        soon.done().await;
        assert_eq!(take(&turns, 1, Demand::Anew, at(60_000)).await.demand, Demand::Anew);
    }
}
