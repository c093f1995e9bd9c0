//! The routes of the application.
//!
//! A call of a route passes through the same steps as any call. Only the check of a signature comes before its caller,
//! and only the head of its response differs.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use hyper::header::HeaderValue;

use super::{Ended, Gateway, IDEMPOTENCY_REPLAYED, failed};
use crate::retry_after::retry_after_s;
use crate::routes::Endpoint;
use convoke_calls::call::dispatch::{Outcome, Request};
use convoke_calls::call::envelope;
use convoke_calls::logs::LogLines;
use convoke_calls::observe::Stage;
use convoke_calls::route::encoded::{self, Decoded, DecodedBody};
use convoke_calls::route::request::ByteStream;
use convoke_calls::route::{RouteDef, RouteRequest, Verify};
use convoke_core::answer::budget::{Budget, Exhausted};
use convoke_core::answer::pieces::Piece;
use convoke_core::error::Error;
use convoke_core::identity::Caller;
use convoke_http::{Body, BodySender, Ending, Incoming, Reply};

/// Largest piece of a stream.
const PIECE_BYTES_MAX: usize = 64 * 1024;
/// Interval at which a stream that waits for room checks again.
const ROOM_INTERVAL: Duration = Duration::from_millis(50);

impl Gateway {
    /// Serves a route of the application.
    pub(super) async fn route(&self, incoming: &Incoming<Endpoint>, index: usize) -> Reply {
        let (function, route) = &self.own_routes[index];
        let path_values = route.path_parameters().enumerate();
        let path_values = path_values.map(|(at, name)| (name, incoming.param(at).to_owned())).collect();
        let request = function.route_request(
            incoming.method.clone(),
            incoming.uri.clone(),
            incoming.headers.clone(),
            incoming.body.clone(),
            path_values,
        );
        if let Err(error) = self.runtime.verify(function, &request) {
            self.rejected(incoming, Stage::Credentials, &Caller::Nobody, &error);
            return refused(route, &error, &LogLines::default());
        }
        let (caller, key) = match route.verify {
            // The check may have used the field that names a caller elsewhere.
            Some(Verify::Own(_)) => (Caller::Nobody, None),
            Some(_) | None => match self.function_caller(incoming).await {
                Ok(found) => found,
                Err(reply) => return reply,
            },
        };
        let idempotency_key = incoming.idempotency_key.as_ref().map(|field| field.as_bytes());
        let call = Request::Route { function, request: &request };
        match self.ended(incoming, call, caller, key.as_deref(), idempotency_key).await {
            Ok(Ended { outcome, .. }) => reply(route, outcome, &request, self.runtime.answers()),
            Err(error) => failed(&error),
        }
    }
}

fn reply(route: &RouteDef, outcome: Outcome, request: &RouteRequest, answers: &Arc<Budget>) -> Reply {
    let Outcome { result, log_lines, is_replayed } = outcome;
    match result.and_then(|encoded| encoded::decode(encoded, request)) {
        Ok(Decoded { status, headers: mut fields, body }) => {
            if is_replayed {
                fields.push((IDEMPOTENCY_REPLAYED, const { HeaderValue::from_static("true") }));
            }
            let body = match body {
                DecodedBody::Whole(bytes) => bytes.into(),
                DecodedBody::Stream(stream) => streamed(stream, Arc::clone(answers)),
            };
            Reply { fields, ..Reply::of(status, "application/octet-stream", body) }
        }
        Err(error) => refused(route, &error, &log_lines),
    }
}

fn refused(route: &RouteDef, error: &Error, log_lines: &LogLines) -> Reply {
    let status = route.status_of(error);
    Reply { retry_after_s: retry_after_s(status, error), ..Reply::json(status, envelope::failure(error, log_lines)) }
}

/// Returns a body that is sent while its stream is read. The stream is dropped when its reader is gone.
fn streamed(stream: ByteStream, answers: Arc<Budget>) -> Body {
    let (sender, body) = Body::stream(Ending::Whole);
    tokio::spawn(send(stream, sender, answers));
    body
}

/// Sends a stream. Each piece is charged before the stream makes it; without room, the stream waits.
async fn send(mut stream: ByteStream, sender: BodySender, answers: Arc<Budget>) {
    let mut rest = Bytes::new();
    loop {
        let mut charge = match answers.charge(PIECE_BYTES_MAX) {
            Ok(charge) => charge,
            Err(Exhausted) => tokio::select! {
                () = tokio::time::sleep(ROOM_INTERVAL) => continue,
                () = sender.gone() => return,
            },
        };
        if rest.is_empty() {
            let next = tokio::select! {
                next = stream.next() => next,
                () = sender.gone() => return,
            };
            rest = match next {
                None => return sender.finish(),
                Some(Ok(bytes)) => bytes,
                Some(Err(error)) => {
                    return tracing::warn!(target: "convoke::call", "a stream broke off: {}", error.chain());
                }
            };
        }
        let bytes = rest.split_to(rest.len().min(PIECE_BYTES_MAX));
        charge.shrink_to(bytes.len());
        if !bytes.is_empty() && sender.send_piece(Piece { bytes, charge: Some(charge) }).await.is_err() {
            return;
        }
    }
}
