//! A request that comes by no socket: the operator's, in the process that holds the data folder.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::{Method, Uri};

use super::handler::{Incoming, Reply};
use super::refusal::Refused;
use super::route::{self, Listener, Route};
use crate::error::Code;

/// What the handler would get if the operator sent this by the control socket.
///
/// # Errors
/// The answer to a request that leads to no handler.
pub(crate) fn operator_request(
    method: &Method,
    path_and_query: &str,
    act_as: Option<HeaderValue>,
    request_id: Arc<str>,
    body: Bytes,
) -> Result<Incoming, Reply> {
    const NO_PATH: Refused = Refused { code: Code::BadRequest, message: "The path cannot be read." };
    const NOT_HERE: Refused = Refused { code: Code::RouteNotFound, message: "Only a running server has this route." };
    let uri: Uri = path_and_query.parse().map_err(|_| NO_PATH.reply())?;
    let found = route::find(Listener::Control, true, method, uri).map_err(Refused::reply)?;
    let Route::Handled(target) = found else { return Err(NOT_HERE.reply()) };
    Ok(Incoming {
        target,
        authorization: None,
        is_operator: true,
        act_as,
        request_id,
        trace_parent: None,
        if_none_match: None,
        accepts_gzip: false,
        peer: std::net::Ipv4Addr::LOCALHOST.into(),
        body,
    })
}
