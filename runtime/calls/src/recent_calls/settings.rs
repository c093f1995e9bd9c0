//! The settings of recorded calls.

use std::time::Duration;

convoke_core::section! {
    /// Finished calls, which the server records in the folder `calls` of its data folder for `convoke logs` and the console. A
    /// call does not wait for it: calls are written four times a second, and a worker thread queues at most 512 of them
    /// between two writes. Beyond that, calls without an error are not recorded but counted in
    /// `convoke_calls_unrecorded_total`. Each node records the calls that it serves.
    pub struct RecordedCalls in "recorded_calls" {
        /// True if finished calls are recorded. Without it the server remembers the last 256 calls in memory.
        pub enabled: bool = true,
        /// True if a recorded call has its arguments, without secrets and with large values cut. Set it to false where
        /// arguments contain personal data that the operator must not read.
        pub arguments: bool = true,
        /// Calls that are recorded at least, if the other bounds leave room for them; older ones are removed.
        pub calls_max: u64 = 100_000,
        /// Bytes of the recorded calls on disk at most.
        pub bytes_max: u64 = 64 * 1024 * 1024,
        /// Days after which a recorded call is removed.
        pub days_max: u32 = 7,
    }
}

impl RecordedCalls {
    /// How long a call is recorded.
    pub(super) fn life(&self) -> Duration {
        Duration::from_secs(u64::from(self.days_max) * 24 * 60 * 60)
    }
}
