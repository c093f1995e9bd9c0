//! A call that continues in a task of its own when its stream is reset.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

use crate::wire::activity::Activity;

/// A future that continues in a task of its own if it is dropped before its end.
///
/// hyper drops the future of an HTTP/2 stream when the client resets it. The call must not depend on that, and the
/// drain must still count it.
pub(crate) struct Detach<F: Future<Output: Send> + Send + 'static> {
    running: Option<Pin<Box<F>>>,
    activity: Arc<Activity>,
}

impl<F: Future<Output: Send> + Send + 'static> Detach<F> {
    /// Wraps `future`. If it is dropped before its end, the connection counts a [strike](Activity::strike).
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
