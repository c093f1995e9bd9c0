//! Torture tests of the real binary: kills, a failing and a full disk, a jumping clock, stalled clients, hours of load, a
//! database of a million meetings.
//!
//! ```sh
//! cargo test -p functions --test torture                                       # only the short kills, a few seconds
//! TORTURE_MINUTES=30 cargo test -p functions --test torture -- --ignored       # all tests, 30 minutes each
//! TORTURE_MINUTES=30 cargo test -p functions --test torture -- --ignored soak  # one test
//! ```
//!
//! Each test prints its actions and results. The tests run one after another, because each loads the complete machine.
//! They assert that nothing is lost, duplicated or left behind, and never assert a duration. `CONVOKE_BIN` names the
//! program, such as an optimized build. `TORTURE_MEETINGS` reduces the large database.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "it runs for as long as it is asked to, by the machine's clock")]

mod clock;
mod disk;
mod kills;
mod large;
mod ledger;
#[allow(dead_code, reason = "shared by two test programs")]
#[path = "../faults/process.rs"]
mod process;
#[allow(dead_code, reason = "shared by two test programs")]
#[path = "../faults/shim.rs"]
mod shim;
mod soak;
mod stalled;

use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The exclusive use of the machine by one test, until it is dropped.
struct Turn {
    name: &'static str,
    end: Instant,
    _alone: MutexGuard<'static, ()>,
}

impl Turn {
    /// Waits until no other test runs. The test lasts for `TORTURE_MINUTES`, 1 by default.
    fn begin(name: &'static str) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let minutes: f64 = std::env::var("TORTURE_MINUTES").map_or(1.0, |text| text.parse().unwrap());
        Self { name, end: Instant::now() + Duration::from_secs_f64(minutes * 60.0), _alone: alone }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Prints a result past the captured output of the test.
    fn say(&self, found: &str) {
        let _ = writeln!(std::io::stderr(), "torture: {}: {found}", self.name);
    }
}

/// Random numbers from a seed, so that a failure can be reproduced.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn millis(&mut self, from: u64, below: u64) -> Duration {
        Duration::from_millis(from + self.below(below - from))
    }
}

/// Settings that let a few users load the complete machine.
fn without_rates(folder: &Path) {
    let off = ["read", "write", "notes", "transcripts", "tokens", "generation"].map(|class| format!("{class} = 0\n"));
    let bytes = "[limits]\nuser_bytes_written_per_hour = 0\n";
    std::fs::write(folder.join("convoke.toml"), format!("[rates]\n{}{bytes}", off.concat())).unwrap();
}

/// Returns the resident memory in KiB and the number of open descriptors of a process.
fn resources(process: u32) -> (u64, usize) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib = line.trim().trim_end_matches(" kB").parse().unwrap();
    (kib, std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count())
}
