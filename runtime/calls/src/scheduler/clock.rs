//! Readings of the clock, which show how far it was set back.

use std::time::Duration;

use convoke_core::clock::{Clock, Millis};

/// The last reading of the clock.
#[derive(Debug)]
pub(super) struct ClockReading {
    /// The time of day.
    at: Millis,
    /// The monotonic time.
    monotonic: Duration,
    /// True if the jobs have not followed it yet.
    is_behind: bool,
}

/// A clock that was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SetBack {
    /// The minimum amount that this process has seen.
    pub(super) by: Duration,
    /// The latest time of the change, in the new time. Jobs that were requested later used the new clock.
    at: Millis,
}

impl ClockReading {
    /// Creates the first reading of a process. `newest` is the time of the newest row of an earlier process.
    pub(super) fn first(clock: &dyn Clock, newest: Millis) -> Self {
        let (at, monotonic) = (clock.now(), clock.monotonic());
        Self { at, monotonic, is_behind: newest > at }
    }

    /// Takes a new reading. Returns how far the jobs must follow.
    pub(super) fn look(&mut self, now: Millis, monotonic: Duration) -> Option<SetBack> {
        let was = std::mem::replace(&mut self.at, now);
        let looked_at = std::mem::replace(&mut self.monotonic, monotonic);
        if now >= was {
            // Jobs that could not follow before follow now, by the times in their rows: some may have followed already.
            return self.is_behind.then_some(SetBack { by: Duration::ZERO, at: now });
        }
        self.is_behind = true;
        Some(SetBack { by: was.since(now), at: now - monotonic.saturating_sub(looked_at) })
    }

    /// Records that the jobs have followed the clock.
    pub(super) fn has_followed(&mut self) {
        self.is_behind = false;
    }
}

impl SetBack {
    /// Returns how much sooner a job is due that was requested at `asked_at`, by the clock of that time.
    pub(super) fn sooner(self, asked_at: Millis, now: Millis) -> Duration {
        if asked_at > now {
            self.by.max(asked_at.since(now))
        } else if asked_at >= self.at {
            Duration::ZERO
        } else {
            self.by
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::clock::HeldClock;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn jump_back_is_seen_once_and_repeated_until_jobs_have_followed() {
        let at = |s: i64| Millis(1_000_000 + s * 1_000);
        let mut looked = ClockReading { at: at(0), monotonic: 10 * S, is_behind: false };
        assert_eq!(looked.look(at(1), 11 * S), None);
        assert_eq!(looked.look(at(-99), 12 * S), Some(SetBack { by: 100 * S, at: at(-100) }));
        let again = SetBack { by: Duration::ZERO, at: at(-98) };
        assert_eq!(looked.look(at(-98), 13 * S), Some(again), "the store may have rejected the change");
        looked.has_followed();
        assert_eq!(looked.look(at(-97), 14 * S), None);
        let clock = HeldClock::at(at(0));
        assert!(ClockReading::first(&clock, at(1)).is_behind && !ClockReading::first(&clock, at(0)).is_behind);
    }

    #[test]
    fn delay_is_preserved_by_the_seen_jump_or_else_by_the_row() {
        let now = Millis(1_000_000);
        let seen = SetBack { by: 100 * S, at: now - S };
        assert_eq!(seen.sooner(now + 99 * S, now), 100 * S, "just before");
        assert_eq!(seen.sooner(now - 500 * S, now), 100 * S, "long before");
        assert_eq!(seen.sooner(now - S / 2, now), Duration::ZERO, "since then");
        let unseen = SetBack { by: Duration::ZERO, at: now };
        assert_eq!(unseen.sooner(now + 99 * S, now), 99 * S);
        assert_eq!(unseen.sooner(now - S, now), Duration::ZERO);
    }
}
