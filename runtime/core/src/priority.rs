//! The priorities of threads when all cores are busy.
//!
//! Tasks of the executor and mutations are short, and all clients wait for them. A thread that runs longer at a time
//! has a lower priority, so that it uses only the rest of the cores.

/// The increase of a thread's nice value. Each step is about a quarter less of a contended core.
#[derive(Clone, Copy, Debug)]
pub enum Niceness {
    /// A reader, which runs for milliseconds while a client waits.
    BelowCalls = 5,
    /// Work on a separate thread, which runs for seconds.
    BelowReaders = 10,
}

/// Lowers the priority of the current thread. Does nothing if the system does not allow it.
#[cfg(target_os = "linux")]
pub fn lower_priority(by: Niceness) {
    use rustix::process::{getpriority_process, setpriority_process};
    // On Linux, the priority of a thread id is that of this thread only.
    let thread = Some(rustix::thread::gettid());
    if let Ok(own) = getpriority_process(thread) {
        let _ = setpriority_process(thread, own + by as i32);
    }
}

#[cfg(not(target_os = "linux"))]
pub fn lower_priority(_: Niceness) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::getpriority_process;

    use super::*;

    #[test]
    fn only_the_calling_thread_has_a_lower_priority() {
        let own = || getpriority_process(Some(rustix::thread::gettid())).unwrap();
        let before = own();
        let lowered = std::thread::spawn(move || {
            lower_priority(Niceness::BelowReaders);
            own()
        });
        assert_eq!(lowered.join().unwrap(), (before + 10).min(19));
        assert_eq!(own(), before);
    }
}
