//! State that every call touches, split into shards by thread, so that the lock of a shard is almost never contended.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

/// One value per shard.
pub(crate) struct Shards<T>(Box<[Shard<T>]>);

/// A lock on its own cache line.
#[repr(align(128))]
#[derive(Default)]
struct Shard<T>(Mutex<T>);

impl<T: Default> Default for Shards<T> {
    fn default() -> Self {
        Self((0..count()).map(|_| Shard::default()).collect())
    }
}

impl<T> Shards<T> {
    /// Locks the shard of this thread.
    pub(crate) fn mine(&self) -> MutexGuard<'_, T> {
        self.0[thread_number() % self.0.len()].0.lock()
    }

    /// Locks all shards, one after the other.
    pub(crate) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(|shard| shard.0.lock())
    }
}

/// Returns the number of shards: the number of hardware threads, at most 16.
fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(4, usize::from).clamp(1, 16))
}

/// Returns a number of this thread. Threads that start in sequence have consecutive numbers.
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
