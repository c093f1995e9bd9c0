//! The settings of recorded calls.

use std::time::Duration;

convoke_core::section! {
    /// Completed calls, which the server records in the folder `calls` of its data folder for `convoke logs` and the
    /// console. Calls do not wait for the disk: they are written four times per second, and a worker thread queues at
    /// most 512 of them between two writes. Beyond that, calls without an error are not recorded but counted in
    /// `convoke_calls_unrecorded_total`. Each node records the calls that it serves.
    pub struct RecordedCalls in "recorded_calls" {
        /// True if completed calls are recorded. Otherwise the server keeps the last 256 calls in memory.
        pub enabled: bool = true,
        /// True if a recorded call includes its arguments, without secrets and with large values truncated. Set it to
        /// false if arguments contain personal data that the operator must not read.
        pub arguments: bool = true,
        /// Number of latest calls to keep, if the other limits leave room for them. Older calls are removed.
        pub calls_max: u64 = 100_000,
        /// Maximum bytes of the recorded calls on disk.
        pub bytes_max: u64 = 64 * 1024 * 1024,
        /// Days after which a recorded call is removed.
        pub days_max: u32 = 7,
    }
}

impl RecordedCalls {
    /// Returns the retention of a recorded call.
    pub(super) fn life(&self) -> Duration {
        Duration::from_secs(u64::from(self.days_max) * 24 * 60 * 60)
    }
}
