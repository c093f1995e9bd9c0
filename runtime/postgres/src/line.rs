//! The queue for a number of equal servers with their threads, in the order of a [`FairQueue`].

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use convoke_store::Flow;
use convoke_store::fair_queue::{FairQueue, Rejection, Service};
use convoke_store::{OpenError, StoreError};

/// The queue for a number of threads.
pub(crate) struct Line<W> {
    what: &'static str,
    state: Mutex<State<W>>,
    wake: Condvar,
}

struct State<W> {
    queue: FairQueue<W>,
    /// Granted calls, for the next thread.
    granted: VecDeque<(Service, W)>,
    closed: bool,
}

impl<W: Send + 'static> Line<W> {
    /// Creates a queue for `count` servers and at most `waiting_max` waiting calls.
    pub(crate) fn new(what: &'static str, count: usize, waiting_max: usize) -> Self {
        let state = State { queue: FairQueue::new(count, waiting_max), granted: VecDeque::new(), closed: false };
        Self { what, state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Starts the threads, which `serve` granted calls until the queue is closed and empty.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(
        self: &Arc<Self>,
        count: usize,
        serve: impl Fn(Service, W) + Clone + Send + 'static,
    ) -> Result<Vec<JoinHandle<()>>, OpenError> {
        let start = |number| {
            let (line, serve) = (self.clone(), serve.clone());
            let thread = thread::Builder::new().name(format!("convoke-{}-{number}", self.what));
            let thread = thread.spawn(move || line.work(&serve));
            thread.map_err(|error| OpenError::Engine(format!("no thread for a {}: {error}", self.what)))
        };
        (0..count).map(start).collect()
    }

    /// Serves `waiting` on a thread, now or in the turn of `flow`. If another flow exceeds its share of a full queue,
    /// returns the newest call of that flow, which must be rejected.
    ///
    /// # Errors
    /// Returns it with [`StoreError::QueueFull`], [`StoreError::ShareFull`] or [`StoreError::Closed`].
    pub(crate) fn push(&self, flow: Flow, waiting: W) -> Result<Option<W>, (W, StoreError)> {
        let mut state = self.state.lock();
        if state.closed {
            return Err((waiting, closed()));
        }
        if let Some(service) = state.queue.try_serve(flow) {
            state.granted.push_back((service, waiting));
            self.wake.notify_one();
            return Ok(None);
        }
        state.queue.push(flow, waiting).map_err(|(waiting, rejection)| (waiting, self.rejected(rejection)))
    }

    /// Serves `flow` on the calling thread if no other flow has to wait for it.
    ///
    /// # Errors
    /// [`StoreError::Closed`].
    pub(crate) fn try_serve(&self, flow: Flow) -> Result<Option<Service>, StoreError> {
        let mut state = self.state.lock();
        if state.closed { Err(closed()) } else { Ok(state.queue.try_serve(flow)) }
    }

    /// Checks if another call of `flow` would be served or queued.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    pub(crate) fn room(&self, flow: Flow) -> Result<(), StoreError> {
        let state = self.state.lock();
        if state.queue.is_free() {
            Ok(())
        } else {
            state.queue.admits(flow).map_err(|rejection| self.rejected(rejection))
        }
    }

    /// Returns a server after `elapsed`.
    pub(crate) fn end(&self, service: Service, elapsed: Duration) {
        let mut state = self.state.lock();
        state.queue.end(service, elapsed);
        while let Some(next) = state.queue.pop() {
            state.granted.push_back(next);
            self.wake.notify_one();
        }
    }

    /// Returns the number of busy servers and of waiting calls.
    pub(crate) fn busy(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.queue.served(), state.queue.len())
    }

    /// Closes the queue; queued calls are still served.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_all();
    }

    /// Closes the queue and returns queued calls.
    pub(crate) fn clear(&self) -> Vec<W> {
        let mut state = self.state.lock();
        state.closed = true;
        self.wake.notify_all();
        state.queue.clear()
    }

    /// Returns the error of a rejected call.
    pub(crate) fn rejected(&self, rejection: Rejection) -> StoreError {
        match rejection {
            Rejection::Full => StoreError::QueueFull(self.what),
            Rejection::Share => StoreError::ShareFull(self.what),
        }
    }

    fn work(&self, serve: &impl Fn(Service, W)) {
        let mut state = self.state.lock();
        loop {
            if let Some((service, waiting)) = state.granted.pop_front() {
                drop(state);
                if catch_unwind(AssertUnwindSafe(|| serve(service, waiting))).is_err() {
                    tracing::error!("the answer of a {} panicked", self.what);
                }
                state = self.state.lock();
            } else if state.closed && state.queue.is_empty() {
                return;
            } else {
                self.wake.wait(&mut state);
            }
        }
    }
}

/// Returns the error after the engine is closed.
pub(crate) fn closed() -> StoreError {
    StoreError::Closed("it is shutting down".to_owned())
}
