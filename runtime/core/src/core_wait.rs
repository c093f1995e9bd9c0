//! How long a thread waited for a core: time by the clock that is no work of the thread, whatever else the machine does.

use std::time::Duration;

/// A stretch of work of the thread that began it.
#[derive(Clone, Copy, Debug)]
pub struct CoreWait(Option<Duration>);

impl CoreWait {
    /// Begins one that is measured. It costs about a microsecond.
    pub fn begin() -> Self {
        Self(Some(waited_so_far()))
    }

    /// Begins one that is not.
    pub const fn unmeasured() -> Self {
        Self(None)
    }

    /// Whether it is measured.
    pub const fn is_measured(self) -> bool {
        self.0.is_some()
    }

    /// How long the thread has waited for a core since; to be asked on the thread that began it.
    pub fn waited(self) -> Option<Duration> {
        self.0.map(|before| waited_so_far().saturating_sub(before))
    }
}

/// How long the thread that calls has waited for a core since it began; nothing where the system does not say.
#[cfg(target_os = "linux")]
fn waited_so_far() -> Duration {
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    thread_local! {
        /// Three numbers: nanoseconds at work, nanoseconds that it waited for a core, and how often it had one.
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
    #[allow(clippy::disallowed_methods, reason = "what is measured is the machine's time")]
    fn a_thread_that_shares_its_core_waits_for_it_and_one_that_sleeps_does_not() {
        let began = CoreWait::begin();
        std::thread::sleep(Duration::from_millis(50));
        let asleep = began.waited().unwrap();
        // More threads than cores, all at work: each of them waits sooner or later.
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
