//! The time that a thread waited for a core because other threads used all cores.

use std::time::Duration;

/// A measurement of the current thread's wait for a core.
#[derive(Clone, Copy, Debug)]
pub struct CoreWait(Option<Duration>);

impl CoreWait {
    /// Begins a measurement, which costs about a microsecond.
    pub fn begin() -> Self {
        Self(Some(waited_so_far()))
    }

    /// Returns a value without a measurement.
    pub const fn unmeasured() -> Self {
        Self(None)
    }

    /// True if this is a measurement.
    pub const fn is_measured(self) -> bool {
        self.0.is_some()
    }

    /// Returns the time that the thread has waited for a core since the beginning. Must be called on the thread that
    /// began it.
    pub fn waited(self) -> Option<Duration> {
        self.0.map(|before| waited_so_far().saturating_sub(before))
    }
}

/// The time that the calling thread has waited for a core since the thread started; zero if the system does not report
/// it.
#[cfg(target_os = "linux")]
fn waited_so_far() -> Duration {
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    thread_local! {
        /// A file with three numbers: nanoseconds on a core, nanoseconds of waiting for a core, and time slices.
        static FILE: Option<File> = File::open("/proc/thread-self/schedstat").ok();
    }
    FILE.with(|file| {
        let mut text = [0; 96];
        let length = file.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
        let nanos = std::str::from_utf8(&text[..length]).ok().and_then(|text| text.split(' ').nth(1)?.parse().ok());
        Duration::from_nanos(nanos.unwrap_or(0))
    })
}

#[cfg(not(target_os = "linux"))]
fn waited_so_far() -> Duration {
    Duration::ZERO
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test measures the time of the machine")]
    fn thread_that_shares_its_core_waits_and_sleeping_thread_does_not() {
        let began = CoreWait::begin();
        std::thread::sleep(Duration::from_millis(50));
        let asleep = began.waited().unwrap();
        // More busy threads than cores: each thread waits at some time.
        let (done, cores) = (AtomicBool::new(false), std::thread::available_parallelism().map_or(1, usize::from));
        let waited = std::thread::scope(|scope| {
            for _ in 0..4 * cores {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let began = CoreWait::begin();
            let deadline = Instant::now() + Duration::from_secs(60);
            while began.waited().unwrap() < 2 * asleep.max(Duration::from_millis(5)) && Instant::now() < deadline {
                std::hint::spin_loop();
            }
            done.store(true, Ordering::Relaxed);
            began.waited().unwrap()
        });
        assert!(waited > asleep && waited > Duration::from_millis(1), "{waited:?}, asleep {asleep:?}");
    }
}
