//! State that every call touches, in shards of its thread: the lock of a shard is practically never waited for.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

/// One value a shard.
pub(crate) struct Shards<T>(Box<[Shard<T>]>);

/// A lock of its own cache line.
#[repr(align(128))]
#[derive(Default)]
struct Shard<T>(Mutex<T>);

impl<T: Default> Default for Shards<T> {
    fn default() -> Self {
        Self((0..count()).map(|_| Shard::default()).collect())
    }
}

impl<T> Shards<T> {
    /// The shard of this thread.
    pub(crate) fn mine(&self) -> MutexGuard<'_, T> {
        self.0[thread_number() % self.0.len()].0.lock()
    }

    /// All shards, one after the other.
    pub(crate) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(|shard| shard.0.lock())
    }
}

/// As many shards as threads run at once, at most 16.
fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(4, usize::from).clamp(1, 16))
}

/// A number of this thread; threads that start one after the other have numbers that follow one another.
fn thread_number() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    }
    NUMBER.get().unwrap_or_else(|| {
        let number = THREADS.fetch_add(1, Ordering::Relaxed);
        NUMBER.set(Some(number));
        number
    })
}
