//! The interface between the listener and the application.
//!
//! The listener passes on requests that are complete, within their limits and addressed to a route. The meaning of a
//! route belongs to the handler.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::Method;

use super::reply::Reply;
use super::request::Incoming;
use super::routes::Routes;
use super::traffic::Traffic;
use convoke_core::answer::budget::Budget;
use convoke_core::error::Code;

/// Responds to the requests of a [`Server`](crate::Server).
///
/// # Dropped calls
/// A call over HTTP/1 runs in the task of its connection, so that a short query needs no task of its own. A client that
/// disconnects does not stop the call: the connection waits for the call before it notices. Over HTTP/2, the call of a
/// reset stream continues in a task of its own.
///
/// A future returned here is dropped early in two cases only. The drain timeout is over, or the connection ended during
/// an earlier pipelined response, because the socket failed or the client read too little. Work that must not stop
/// half-way (a mutation) must therefore not run in the future itself. Send it to the thread that executes it, and let
/// the future wait for the result.
pub trait Handler: Send + Sync + 'static {
    /// The destination of a route.
    type Endpoint: Copy + Send + Sync + 'static;

    /// The routes.
    fn routes(&self) -> &Routes<Self::Endpoint>;

    /// Responds to one request. A panic becomes a 500 for this request only.
    fn call(&self, request: Box<Incoming<Self::Endpoint>>) -> impl Future<Output = Reply> + Send;

    /// Checks whether calls are served now, for `/readyz`.
    ///
    /// # Errors
    /// The reason, as one sentence for the operator.
    fn ready(&self) -> Result<(), String>;

    /// Returns a condition that needs the operator although calls are served, for `/readyz`.
    fn ready_detail(&self) -> Option<String> {
        None
    }

    /// The observer of requests that the listener rejects before there is a call.
    fn rejections(&self) -> &dyn RejectionObserver {
        &()
    }

    /// Receives the listener's counters, once, before the first request.
    fn bound(&self, _traffic: &Arc<Traffic>) {}

    /// Checks whether a call would be accepted now, before its body is read. Reserves nothing.
    ///
    /// # Errors
    /// The message of an `OVERLOADED`.
    fn room(&self, _request: &Incoming<Self::Endpoint>) -> Result<(), &'static str> {
        Ok(())
    }

    /// The budget to which the handler charges the bytes of a response while it produces them. If `None`, the listener
    /// charges complete responses to a budget of its own.
    fn answers(&self) -> Option<Arc<Budget>> {
        None
    }
}

/// Observes the requests that the listener rejects.
pub trait RejectionObserver {
    /// Records a rejected request. It must not block.
    fn rejected(&self, request: RejectedRequest<'_>);
}

/// Ignores rejected requests.
impl RejectionObserver for () {
    fn rejected(&self, _: RejectedRequest<'_>) {}
}

/// A request that never became an [`Incoming`].
#[derive(Clone, Copy, Debug)]
pub struct RejectedRequest<'a> {
    /// The `errorData.code` of the response.
    pub code: Code,
    /// The message of the response.
    pub message: &'static str,
    /// The id of the request.
    pub request_id: &'a str,
    /// The method.
    pub method: &'a Method,
    /// The path, as sent, without the query, which may hold a secret.
    pub path: &'a str,
    /// The address of the client, as far as it is known.
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

    fn ready_detail(&self) -> Option<String> {
        H::ready_detail(self)
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
