//! The seam between the listener and what answers calls.
//!
//! The listener hands on requests that are whole, within their limits and addressed to a route; everything that a
//! route *means* is the handler's.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::Method;

use super::reply::Reply;
use super::request::Incoming;
use super::routes::Routes;
use super::traffic::Traffic;
use convoke_core::answer::budget::Budget;
use convoke_core::error::Code;

/// Answers the requests of a [`Server`](crate::Server).
///
/// # Dropped calls
/// A call over HTTP/1 is polled in its connection's own task, so that a short query pays for no task of its own. A
/// client that goes away does not stop it: the connection waits for the call and only then notices. Over HTTP/2 a
/// stream that is reset leaves its call running in a task of its own. So a future returned here is dropped early in
/// two cases only: the drain's time is over, or the connection ended while an earlier pipelined answer was being
/// written, because the socket broke or the client took too little of it.
/// Work that must not stop half-way (a mutation) must therefore not live in the future itself: hand it to the thread
/// that executes it and let the future only wait for the outcome.
pub trait Handler: Send + Sync + 'static {
    /// What its routes lead to.
    type Endpoint: Copy + Send + Sync + 'static;

    /// Its routes.
    fn routes(&self) -> &Routes<Self::Endpoint>;

    /// Answers one request. A panic in it becomes a 500 for this request alone.
    fn call(&self, request: Box<Incoming<Self::Endpoint>>) -> impl Future<Output = Reply> + Send;

    /// Whether a call would be served now; if not, why, for `/readyz`.
    ///
    /// # Errors
    /// One sentence that an operator understands.
    fn ready(&self) -> Result<(), String>;

    /// Who hears of requests that the listener rejects by itself, before there is a call.
    fn rejections(&self) -> &dyn RejectionObserver {
        &()
    }

    /// Is handed the listener's counters, once, before the first request.
    fn bound(&self, _traffic: &Arc<Traffic>) {}

    /// Whether a call would find room now, asked before its body is read. It reserves nothing.
    ///
    /// # Errors
    /// What the client of an `OVERLOADED` reads.
    fn room(&self, _request: &Incoming<Self::Endpoint>) -> Result<(), &'static str> {
        Ok(())
    }

    /// What this charges the bytes of its answers to while it makes them. Without it the listener charges them, to a
    /// budget of its own, when they are made.
    fn answers(&self) -> Option<Arc<Budget>> {
        None
    }
}

/// Hears of requests that the listener answered with an error itself.
pub trait RejectionObserver {
    /// A request was rejected. It must not wait.
    fn rejected(&self, request: RejectedRequest<'_>);
}

/// Nobody hears of them.
impl RejectionObserver for () {
    fn rejected(&self, _: RejectedRequest<'_>) {}
}

/// A request that never became an [`Incoming`].
#[derive(Clone, Copy, Debug)]
pub struct RejectedRequest<'a> {
    /// What the client reads as `errorData.code`.
    pub code: Code,
    /// What it reads as the message.
    pub message: &'static str,
    /// Its id.
    pub request_id: &'a str,
    /// Its method.
    pub method: &'a Method,
    /// Its path, as sent; without the query, which may hold a secret.
    pub path: &'a str,
    /// The client, as far as it is known by then.
    pub peer: IpAddr,
}

impl<H: Handler> Handler for Arc<H> {
    type Endpoint = H::Endpoint;

    fn routes(&self) -> &Routes<H::Endpoint> {
        H::routes(self)
    }

    fn call(&self, request: Box<Incoming<H::Endpoint>>) -> impl Future<Output = Reply> + Send {
        H::call(self, request)
    }

    fn ready(&self) -> Result<(), String> {
        H::ready(self)
    }

    fn rejections(&self) -> &dyn RejectionObserver {
        H::rejections(self)
    }

    fn bound(&self, traffic: &Arc<Traffic>) {
        H::bound(self, traffic);
    }

    fn room(&self, request: &Incoming<H::Endpoint>) -> Result<(), &'static str> {
        H::room(self, request)
    }

    fn answers(&self) -> Option<Arc<Budget>> {
        H::answers(self)
    }
}
