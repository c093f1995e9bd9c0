//! For whom the store works: what readers and the writer are shared out by.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::OnceLock;

/// Whose call it is, as far as sharing is concerned: an identity, an address without one, or the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow(u64);

impl Flow {
    /// The runtime's own: jobs, crons, statistics, the operator's requests.
    pub const SYSTEM: Flow = Flow(0);

    /// The flow that `key` names. Equal keys have equal flows in one process, and different keys different ones as far
    /// as 64 bits tell them apart.
    pub fn of(key: impl Hash) -> Self {
        // One random state a process: a caller who knew it could look for an identity that shares another's flow.
        static STATE: OnceLock<RandomState> = OnceLock::new();
        Self(STATE.get_or_init(RandomState::new).hash_one(key))
    }
}
