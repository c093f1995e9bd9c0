//! Which threads go first when all cores are busy.
//!
//! Tasks of the executor and mutations are short, and everybody waits for them: answers that are made already, and calls
//! that have only come. A thread that works for longer than a moment at a time leaves the cores to them first, and uses
//! what is left.

/// How far a thread stands back: each step is about a quarter less of a core that others want too.
#[derive(Clone, Copy, Debug)]
pub enum Behind {
    /// A reader's: milliseconds at a time, for somebody who waits.
    Calls = 5,
    /// Work on a thread of its own: seconds.
    Readers = 10,
}

/// Has the thread that calls stand back from now on. Where the system does not let it, it works as before.
#[cfg(target_os = "linux")]
pub fn stand_back(behind: Behind) {
    use rustix::process::{getpriority_process, setpriority_process};
    // On Linux the number of a thread stands for this thread alone.
    let thread = Some(rustix::thread::gettid());
    if let Ok(own) = getpriority_process(thread) {
        let _ = setpriority_process(thread, own + behind as i32);
    }
}

#[cfg(not(target_os = "linux"))]
pub fn stand_back(_: Behind) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::getpriority_process;

    use super::*;

    #[test]
    fn a_thread_stands_back_alone() {
        let own = || getpriority_process(Some(rustix::thread::gettid())).unwrap();
        let before = own();
        let behind = std::thread::spawn(move || {
            stand_back(Behind::Readers);
            own()
        });
        assert_eq!(behind.join().unwrap(), (before + 10).min(19));
        assert_eq!(own(), before);
    }
}
