//! One generation a meeting at a time, at whichever node: the others wait for it and read what it made.
//!
//! Nothing rests on it but work that is not done twice: what is written is checked again in its own transaction.

use std::time::Duration;

use convoke::prelude::*;
use convoke::scheduler::{Turn, Turns};
use schema::Meeting;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::inputs::Demand;

/// How far apart two generations by force are.
const FORCED_APART: Duration = Duration::from_secs(60);

/// What the last one in a meeting left.
#[derive(Default, Serialize, Deserialize)]
struct Last {
    /// When the last one by force began, if it came to its end.
    forced: Option<Millis>,
    /// Whether the last one came to its end.
    is_done: bool,
}

impl Last {
    fn left_with(turn: &Turn) -> Self {
        // One that another release has left tells nothing.
        let last: Last = turn.left().and_then(|left| serde_json::from_str(left).ok()).unwrap_or_default();
        Self { is_done: last.is_done && !turn.is_interrupted(), ..last }
    }

    /// Whether one by force at `now` reads what the last one made.
    fn is_fresh(&self, now: Millis) -> bool {
        self.forced.is_some_and(|forced| now < forced + FORCED_APART)
    }

    fn leave(&self, turn: &mut Turn) {
        // Whoever forces too soon is to know it.
        let until = self.forced.map_or(Millis(0), |forced| forced + FORCED_APART);
        turn.leave(json!(self).to_string(), until);
    }
}

/// The right to work on a meeting, until it is dropped.
pub struct Flight {
    /// What nobody else has.
    pub turn: Turn,
    /// What is left to do.
    pub demand: Demand,
    last: Last,
    began: Millis,
    is_forced: bool,
}

impl Flight {
    /// Waits for the right to work on a meeting, as long as it takes. Anyone who had to wait for somebody who came to the
    /// end, or forces soon after somebody else did, is left with what that one made.
    ///
    /// # Errors
    /// `UNAVAILABLE` if other nodes cannot be asked.
    pub async fn take(turns: &Turns, meeting: Id<Meeting>, demand: Demand, now: Millis) -> Result<Self> {
        let mut turn = turns.take("insights", meeting.to_string(), now).await?;
        let last = Last::left_with(&turn);
        let is_served = (turn.has_waited() && last.is_done) || (demand == Demand::Anew && last.is_fresh(now));
        let last = Last { is_done: false, ..last };
        last.leave(&mut turn);
        let demand = if is_served { Demand::AsMade } else { demand };
        Ok(Self { turn, last, demand, began: now, is_forced: demand == Demand::Anew })
    }

    /// Says that the work came to its end.
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
    async fn who_waited_is_left_with_what_was_made_unless_the_first_failed() {
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
