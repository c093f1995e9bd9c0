//! What the real binary survives, for as long as it is asked to: kills, a disk that fails and fills up, a clock that jumps,
//! clients that stall, hours of load, a database of a million meetings.
//!
//! ```sh
//! cargo test -p functions --test torture                                       # the short kills alone, some seconds
//! TORTURE_MINUTES=30 cargo test -p functions --test torture -- --ignored       # all of it, each for so long
//! TORTURE_MINUTES=30 cargo test -p functions --test torture -- --ignored soak  # one of it
//! ```
//!
//! Each prints what it did and what it found. They run one after another, since each loads the whole machine; what is
//! asserted is what was lost, doubled or left behind, never how long something took. `CONVOKE_BIN` names the program: one
//! with optimizations is measured as it is installed. `TORTURE_MEETINGS` makes the large database smaller.

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

/// One test's turn: the machine is its own until it is dropped.
struct Turn {
    name: &'static str,
    end: Instant,
    _alone: MutexGuard<'static, ()>,
}

impl Turn {
    /// Waits until no other test has it. It lasts for `TORTURE_MINUTES`, one by default.
    fn begin(name: &'static str) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let minutes: f64 = std::env::var("TORTURE_MINUTES").map_or(1.0, |text| text.parse().unwrap());
        Self { name, end: Instant::now() + Duration::from_secs_f64(minutes * 60.0), _alone: alone }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Says what was found, past the test's captured output.
    fn say(&self, found: &str) {
        let _ = writeln!(std::io::stderr(), "torture: {}: {found}", self.name);
    }
}

/// Numbers that repeat from the same seed, so that a failure can be repeated.
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

/// Settings under which a few users may load the whole machine.
fn without_rates(folder: &Path) {
    let off = ["read", "write", "notes", "transcripts", "tokens", "generation"].map(|class| format!("{class} = 0\n"));
    let bytes = "[limits]\nuser_bytes_written_per_hour = 0\n";
    std::fs::write(folder.join("convoke.toml"), format!("[rates]\n{}{bytes}", off.concat())).unwrap();
}

/// Resident memory in KiB and open descriptors of a process.
fn resources(process: u32) -> (u64, usize) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib = line.trim().trim_end_matches(" kB").parse().unwrap();
    (kib, std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count())
}
