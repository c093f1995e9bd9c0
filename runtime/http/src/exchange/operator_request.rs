//! A request of the operator without a socket, in the process that holds the data folder.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Uri};

use super::reply::Reply;
use super::request::Incoming;
use super::routes::{Destination, Listener, Next, Routes};
use crate::wire::rejection::Rejection;
use convoke_core::error::Code;

/// Returns the request that the handler would get if the operator sent it by the control socket.
///
/// # Errors
/// The response to a request that does not reach the handler.
pub fn operator_request<E: Copy>(
    routes: &Routes<E>,
    method: Method,
    path_and_query: &str,
    act_as: Option<HeaderValue>,
    request_id: Arc<str>,
    body: Bytes,
) -> Result<Box<Incoming<E>>, Box<Reply>> {
    const NO_PATH: Rejection = Rejection { code: Code::BadRequest, message: "The path cannot be read." };
    const NOT_HERE: Rejection =
        Rejection { code: Code::RouteNotFound, message: "Only a running server has this route." };
    let uri: Uri = path_and_query.parse().map_err(|_| Box::new(NO_PATH.into()))?;
    let found = routes.find(Listener::Control, true, &method, &uri);
    let next = found.next.map_err(|rejection| Box::new(rejection.into()))?;
    let Next::Destination(Destination::Handler(endpoint), params) = next else { return Err(Box::new(NOT_HERE.into())) };
    Ok(Box::new(Incoming {
        endpoint,
        method,
        uri,
        params,
        authorization: None,
        is_operator: true,
        act_as,
        request_id,
        trace_parent: None,
        if_none_match: None,
        last_event: None,
        accepts_gzip: false,
        browser: None,
        peer: std::net::Ipv4Addr::LOCALHOST.into(),
        body,
        stream: None,
        idempotency_key: None,
        is_of_proxy: false,
        upgrade: None,
        headers: HeaderMap::new(),
        fields: Vec::new(),
    }))
}
