//! A clock that was set back: what was due before must not wait until the old time comes again.
//!
//! A job that was asked for with a delay is due sooner by as much as the clock was set back, so that it waits no longer than
//! it was to. One for a time of day waits for that time. The process notices a jump at its next look at the clock. What
//! happened between two processes shows in the rows: a job that was asked for at a time that has not come yet. A clock that
//! was set forward needs nothing: what is due by it runs.

use std::ops::Bound;
use std::time::Duration;

use super::Scheduler;
use super::job::{Job, JobKind, JobState};
use convoke_core::clock::{Clock, Millis};
use convoke_core::error::Result;
use convoke_core::id::Id;
use convoke_store::{Db, DbMut};

/// Rows of one transaction: some milliseconds of the writer.
const ROWS: usize = 100;

/// The last look at the clock.
#[derive(Debug)]
pub(crate) struct Looked {
    /// The time of day then.
    at: Millis,
    /// Monotonic time then.
    monotonic: Duration,
    /// Whether the jobs have not followed it yet.
    is_behind: bool,
}

/// How far the clock went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SetBack {
    /// By so much at least, as far as this process saw.
    by: Duration,
    /// When it was at the latest, in the new time: what was asked for since then was asked for by the new clock.
    at: Millis,
}

impl Looked {
    /// The first look of a process; the newest row that a former one left is of the time `newest`.
    pub(crate) fn first(clock: &dyn Clock, newest: Millis) -> Self {
        let (at, monotonic) = (clock.now(), clock.monotonic());
        Self { at, monotonic, is_behind: newest > at }
    }

    fn look(&mut self, now: Millis, monotonic: Duration) -> Option<SetBack> {
        let was = std::mem::replace(&mut self.at, now);
        let looked_at = std::mem::replace(&mut self.monotonic, monotonic);
        if now >= was {
            // Jobs that could not follow before follow now, by what their rows show: some may have followed already.
            return self.is_behind.then_some(SetBack { by: Duration::ZERO, at: now });
        }
        self.is_behind = true;
        Some(SetBack { by: was.since(now), at: now - monotonic.saturating_sub(looked_at) })
    }
}

impl SetBack {
    /// By how much a job is due sooner that was asked for at `asked_at`, by the clock of then.
    fn sooner(self, asked_at: Millis, now: Millis) -> Duration {
        if asked_at > now {
            self.by.max(asked_at.since(now))
        } else if asked_at >= self.at {
            Duration::ZERO
        } else {
            self.by
        }
    }
}

impl Scheduler {
    /// Looks at the clock, and has crons and jobs follow it if it was set back; returns the time.
    ///
    /// # Errors
    /// A failure of the store; the next look tries again.
    pub(super) async fn follow_clock(&self) -> Result<Millis> {
        let (now, monotonic) = (self.services().clock().now(), self.services().clock().monotonic());
        let set_back = self.looked.lock().look(now, monotonic);
        if let Some(set_back) = set_back {
            self.enter_crons().await?;
            let moved = self.bring_forward(now, set_back).await?;
            self.looked.lock().is_behind = false;
            let by_ms = u64::try_from(set_back.by.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(target: "convoke::job", by_ms, moved, "the clock was set back, and jobs were brought forward");
        }
        Ok(now)
    }

    async fn bring_forward(&self, now: Millis, set_back: SetBack) -> Result<usize> {
        let later = self.services().database().read(move |db| later(db, now)).await?;
        let mut moved = 0;
        for jobs in later.chunks(ROWS) {
            let jobs = jobs.to_vec();
            let work = move |db: &mut DbMut| {
                let moved = jobs.iter().map(|job| bring_forward(db, *job, now, set_back));
                moved.sum::<Result<usize>>()
            };
            moved += self.services().database().write("bring jobs forward", work).await?;
        }
        Ok(moved)
    }
}

/// The pending jobs that are not due yet.
fn later(db: &Db, now: Millis) -> Result<Vec<Id<Job>>> {
    let mut found = Vec::new();
    for kind in [JobKind::Mutation, JobKind::Action] {
        let later = (Bound::Excluded(now), Bound::Unbounded);
        let keys = db.query(Job::by_due).eq(kind).range(later).keys(usize::MAX)?;
        found.extend(keys.into_iter().map(|(id, _)| id));
    }
    Ok(found)
}

/// Says how many it was: one or none.
fn bring_forward(db: &mut DbMut, id: Id<Job>, now: Millis, set_back: SetBack) -> Result<usize> {
    let Some(job) = db.get(id)?.filter(|job| job.state == JobState::Pending && job.run_at > now) else { return Ok(0) };
    let Some(asked_at) = job.asked_at else { return Ok(0) };
    let sooner = set_back.sooner(asked_at, now);
    if sooner.is_zero() {
        return Ok(0);
    }
    db.patch_doc(job, |job| {
        job.run_at = job.run_at - sooner;
        job.asked_at = Some(asked_at - sooner);
    })?;
    Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::clock::HeldClock;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_jump_back_is_seen_once_and_followed_until_it_could_be() {
        let at = |s: i64| Millis(1_000_000 + s * 1_000);
        let mut looked = Looked { at: at(0), monotonic: 10 * S, is_behind: false };
        assert_eq!(looked.look(at(1), 11 * S), None);
        assert_eq!(looked.look(at(-99), 12 * S), Some(SetBack { by: 100 * S, at: at(-100) }));
        let again = SetBack { by: Duration::ZERO, at: at(-98) };
        assert_eq!(looked.look(at(-98), 13 * S), Some(again), "the store may have refused");
        looked.is_behind = false;
        assert_eq!(looked.look(at(-97), 14 * S), None);
        let clock = HeldClock::at(at(0));
        assert!(Looked::first(&clock, at(1)).is_behind && !Looked::first(&clock, at(0)).is_behind);
    }

    #[test]
    fn a_delay_is_kept_by_what_the_process_saw_or_else_by_what_the_row_shows() {
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
