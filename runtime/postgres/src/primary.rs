//! Which server is the primary, as far as this node knows.
//!
//! A former primary that was frozen or cut off answers reads for some time before it learns that another server was
//! promoted. What other nodes committed meanwhile is missing in its answers. So a read counts only while its server is
//! vouched for: the node renews its row each second, and a failover takes longer than [`SILENCE_MAX`] from the last
//! renewal that its primary answered. After a longer silence, reads wait until a commit is confirmed, which a former
//! primary with synchronous standbys cannot do.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tracing::warn;

use super::failure::Failure;

/// Age of the last renewal up to which its server counts as the primary. Patroni promotes another server at the earliest
/// its `ttl` without its `loop_wait` after the primary was heard: 8 s with the shortest `ttl` that is usual.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Reason why a read does not count.
pub(crate) const UNKNOWN: &str = "it is not known which server is the primary: the last one did not respond";

/// Identifies the timeline of a server. A promotion starts the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeline {
    /// Identifier of the cluster.
    pub system: i64,
    /// Number of the timeline.
    pub number: i64,
}

/// The knowledge of a process about the primary.
#[derive(Debug, Default)]
pub(crate) struct Primary {
    /// Number of histories that the database had while this process ran. Sessions of an earlier one are not used again.
    history: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Newest timeline of a session.
    timeline: Option<Timeline>,
    /// Start of the newest renewal with a response, on the clock of the machine.
    heard: Duration,
    /// True from a silence until a commit is confirmed.
    doubted: bool,
}

impl Primary {
    /// Returns the number of the database's current history.
    pub(crate) fn history(&self) -> u64 {
        self.history.load(Relaxed)
    }

    /// Starts a new history of the database: older sessions are not used again.
    pub(crate) fn begin_history(&self) {
        self.history.fetch_add(1, Relaxed);
    }

    /// Checks the server of a new session. The first session at a promoted server ends those at the former primary, and
    /// starts the returned history.
    ///
    /// # Errors
    /// [`Failure::Cut`]: it is a former primary.
    pub(crate) fn admit(&self, timeline: Timeline) -> Result<Option<u64>, Failure> {
        let mut state = self.state.lock();
        match state.timeline {
            Some(known) if known == timeline => return Ok(None),
            Some(known) if known.system == timeline.system && known.number > timeline.number => {
                return Err(Failure::Cut("the server is a former primary: another one was promoted".to_owned()));
            }
            _ => {}
        }
        let is_first = state.timeline.replace(timeline).is_none();
        if is_first {
            return Ok(None);
        }
        state.doubted = true;
        Ok(Some(self.history.fetch_add(1, Relaxed) + 1))
    }

    /// Records a renewal that started at `now` and has a response. Returns true if its server is vouched for.
    pub(crate) fn hear(&self, now: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.doubted && state.heard > Duration::ZERO && now.saturating_sub(state.heard) > SILENCE_MAX {
            self.doubt_in(&mut state);
        }
        if !state.doubted {
            state.heard = now;
        }
        !state.doubted
    }

    /// Records a renewal without a response.
    pub(crate) fn doubt(&self) {
        self.doubt_in(&mut self.state.lock());
    }

    fn doubt_in(&self, state: &mut State) {
        if !std::mem::replace(&mut state.doubted, true) {
            warn!("reads wait until a commit is confirmed: {UNKNOWN}");
            self.begin_history();
        }
    }

    /// Returns true if reads wait for a confirmed commit.
    pub(crate) fn is_doubted(&self) -> bool {
        self.state.lock().doubted
    }

    /// Records a commit that started at `now` and is confirmed.
    pub(crate) fn trust(&self, now: Duration) {
        let mut state = self.state.lock();
        state.heard = now;
        if std::mem::replace(&mut state.doubted, false) {
            warn!("the primary confirms commits: reads continue");
        }
    }

    /// Returns true if a read on a session of this history counts at `now`, on the clock of the machine.
    pub(crate) fn vouches_for(&self, history: u64, now: Duration) -> bool {
        let state = self.state.lock();
        !state.doubted && self.history() == history && now.saturating_sub(state.heard) <= SILENCE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn timeline(number: i64) -> Timeline {
        Timeline { system: 1, number }
    }

    #[test]
    fn silence_ends_reads_until_a_commit_is_confirmed() {
        let primary = Primary::default();
        assert!(primary.hear(S(1)));
        let history = primary.history();
        assert!(primary.vouches_for(history, S(6)));
        assert!(!primary.vouches_for(history, S(7)), "nothing was heard of it");
        assert!(!primary.hear(S(7)), "a former primary may respond");
        assert!(!primary.vouches_for(primary.history(), S(7)));
        primary.trust(S(8));
        assert!(primary.vouches_for(primary.history(), S(8)));
        assert!(!primary.vouches_for(history, S(8)), "a session from before the silence");
        assert!(primary.hear(S(9)));
        primary.doubt();
        assert!(!primary.hear(S(10)) && primary.is_doubted());
    }

    #[test]
    fn former_primary_is_refused_and_a_promoted_server_ends_older_sessions() {
        let primary = Primary::default();
        primary.admit(timeline(3)).unwrap();
        primary.hear(S(1));
        let history = primary.history();
        primary.admit(timeline(3)).unwrap();
        assert!(primary.vouches_for(history, S(1)));
        assert!(primary.admit(timeline(2)).is_err());
        assert!(primary.vouches_for(history, S(1)));
        assert_eq!(primary.admit(timeline(4)).unwrap(), Some(history + 1));
        assert!(!primary.vouches_for(history, S(1)) && primary.is_doubted());
        assert!(primary.admit(timeline(3)).is_err());
        primary.admit(Timeline { system: 2, number: 1 }).unwrap();
    }
}
