//! A call whose stream was reset goes on in a task of its own.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

use crate::wire::activity::Activity;

/// A future that, dropped before its end, is finished by a task of its own.
///
/// hyper drops the future of an HTTP/2 stream once the client resets it. What the call does meanwhile must not depend
/// on that, and the drain must still count it.
pub(crate) struct Detach<F: Future<Output: Send> + Send + 'static> {
    running: Option<Pin<Box<F>>>,
    activity: Arc<Activity>,
}

impl<F: Future<Output: Send> + Send + 'static> Detach<F> {
    /// Runs `future` for a connection, which is told if it was left behind.
    pub(crate) fn new(future: F, activity: Arc<Activity>) -> Self {
        Self { running: Some(Box::pin(future)), activity }
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for Detach<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(running) = self.running.as_mut() else { return Poll::Pending };
        let polled = running.as_mut().poll(cx);
        if polled.is_ready() {
            self.running = None;
        }
        polled
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Detach<F> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.activity.strike();
            if let Ok(runtime) = Handle::try_current() {
                runtime.spawn(running);
            }
        }
    }
}
