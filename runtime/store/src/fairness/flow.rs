//! The callers between which readers and the writer are shared.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::OnceLock;

/// A caller for the purpose of sharing: an identity, an address without an identity, or the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow(u64);

impl Flow {
    /// The runtime itself: jobs, crons, statistics and requests of the operator.
    pub const SYSTEM: Flow = Flow(0);

    /// Returns the flow of `key`. Equal keys have equal flows within a process; different keys have different flows
    /// except for 64-bit hash collisions.
    pub fn of(key: impl Hash) -> Self {
        // The hash state is random per process, so that a caller cannot find an identity with another caller's flow.
        static STATE: OnceLock<RandomState> = OnceLock::new();
        Self(STATE.get_or_init(RandomState::new).hash_one(key))
    }
}
