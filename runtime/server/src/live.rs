//! Live queries as server-sent events: one streaming response, with one event per change.
//!
//! The id of an event is its commit and a digest of the caller and the queries. A client that reconnects with the id
//! receives only later changes. When the server ends the response, the last event gives the reason.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::auth::Authenticator;
use convoke_calls::call::envelope;
use convoke_calls::live::{AskedQuery, LiveConnection, Owner, QueryResult, Update};
use convoke_calls::logs::LogLines;
use convoke_calls::runtime::Runtime;
use convoke_core::answer::budget::Budget;
use convoke_core::answer::pieces::Piece;
use convoke_core::error::{Code, Error, Result};
use convoke_core::identity::Caller;
use convoke_http::{Authorization, Body, BodySender, Ending, Reply};
use convoke_store::{Commit, Flow};

/// The content type.
const EVENT_STREAM: &str = "text/event-stream";
/// Interval at which a stream checks its token.
const TOKEN_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which a stream checks its deploy key. A revocation takes effect within a second.
const KEY_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The subscriber of live queries.
pub(crate) struct Watcher {
    pub caller: Caller,
    pub authorization: Option<Authorization>,
    pub flow: Flow,
    pub owner: Option<Owner>,
    /// The `Last-Event-ID` field.
    pub last_event: Option<String>,
}

/// Streams the results of these queries, then each later result.
///
/// # Errors
/// `OVERLOADED`: the caller has the maximum number of live connections.
pub(crate) async fn answer(
    runtime: &Runtime,
    authenticator: &Authenticator,
    watcher: Watcher,
    queries: &[AskedQuery],
) -> Result<Reply> {
    let Watcher { caller, authorization, flow, owner, last_event } = watcher;
    let digest = digest(runtime, &caller, queries);
    let mut connection = runtime.live().open(caller.clone(), flow, owner)?;
    if let Some(commit) = last_event.and_then(|id| known(&id, &digest)) {
        connection.resume(commit);
    }
    for (number, query) in (0..).zip(queries) {
        connection.subscribe(number, query.clone()).await;
    }
    let (sender, body) = Body::stream(Ending::Events);
    let draining = Error::new(Code::NotReady, "The server is shutting down.");
    let body = body.with_farewell(end(&draining));
    let authorization = authorization.map(|header| Zeroizing::new(header.as_bytes().to_vec()));
    let refused = refused(authenticator.clone(), caller, authorization);
    tokio::spawn(stream(sender, connection, digest, runtime.answers().clone(), refused));
    Ok(Reply::of(200, EVENT_STREAM, body))
}

/// Runs these queries once, on one snapshot: `{"results": [{"status": …}, …]}` in their order.
///
/// # Errors
/// `OVERLOADED`: the caller has the maximum number of connections, or the results exceed the memory of a connection.
pub(crate) async fn once(runtime: &Runtime, watcher: Watcher, queries: Vec<AskedQuery>) -> Result<Vec<u8>> {
    let Watcher { caller, flow, owner, .. } = watcher;
    let mut connection = runtime.live().open(caller, flow, owner)?;
    for (number, query) in (0..).zip(queries) {
        connection.subscribe(number, query).await;
    }
    let update = connection.next().await?;
    let mut body = b"{\"results\":[".to_vec();
    for (place, told) in update.results.iter().enumerate() {
        body.extend_from_slice(if place == 0 { b"{" } else { b",{" });
        body.extend_from_slice(&told.json);
    }
    body.extend_from_slice(b"]}");
    Ok(body)
}

/// Sends updates until the client disconnects, the credentials are rejected, or the connection fails.
async fn stream(
    sender: BodySender,
    mut connection: LiveConnection,
    digest: String,
    budget: Arc<Budget>,
    refused: BoxFuture<'static, Error>,
) {
    // The client receives a rejection once.
    let mut refused = refused.fuse();
    loop {
        let next = tokio::select! {
            () = sender.gone() => return,
            error = &mut refused => Err(error),
            next = connection.next() => next,
        };
        let event = match &next {
            Ok(update) => results(update, &digest),
            Err(error) => end(error),
        };
        let piece = Piece { charge: Some(budget.charge_made(event.len())), bytes: event.into() };
        let sent = tokio::select! {
            sent = sender.send_piece(piece) => sent.is_ok(),
            // A client that lost access does not receive the waiting event either.
            _ = &mut refused => false,
        };
        match (sent, next) {
            (true, Ok(_)) => {}
            (true, Err(_)) => return sender.finish(),
            (false, _) => return,
        }
    }
}

/// Resolves when the credentials are no longer accepted. Without credentials, it never resolves and allocates nothing.
pub(crate) fn refused(
    authenticator: Authenticator,
    caller: Caller,
    authorization: Option<Zeroizing<Vec<u8>>>,
) -> BoxFuture<'static, Error> {
    let Some(header) = authorization else { return std::future::pending().boxed() };
    let pause = match caller {
        Caller::DeployKey(_) => KEY_CHECK_INTERVAL,
        Caller::Nobody | Caller::User(_) | Caller::System => TOKEN_CHECK_INTERVAL,
    };
    let looks = async move {
        loop {
            tokio::time::sleep(pause).await;
            match authenticator.authenticate(Some(&header)).await.map_err(Error::from) {
                // Unreachable provider keys do not make the token invalid.
                Err(error) if error.code().status() != 503 => return error,
                Ok(_) | Err(_) => {}
            }
        }
    };
    looks.boxed()
}

fn results(update: &Update, digest: &str) -> Vec<u8> {
    let length: usize = update.results.iter().map(|told| told.json.len() + 24).sum();
    let mut event = Vec::with_capacity(length + 128);
    // Without an id, a client that reconnects receives all results.
    let id = if update.is_lasting { format!("{}-{digest}", update.commit) } else { String::new() };
    event.extend_from_slice(format!("id: {id}\nevent: results\ndata: {{\"results\":[").as_bytes());
    for (place, QueryResult { query, json, .. }) in update.results.iter().enumerate() {
        let between = if place == 0 { "" } else { "," };
        event.extend_from_slice(format!("{between}{{\"query\":{query},").as_bytes());
        // A line break in JSON is white space; in an event it would end the data.
        event.extend(json.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
    }
    event.extend_from_slice(b"]}\n\n");
    event
}

fn end(error: &Error) -> Vec<u8> {
    [b"event: end\ndata: ", &*envelope::failure(error, &LogLines::default()), b"\n\n"].concat()
}

/// Returns the digest in an event's id. A client that reconnects with other queries, as another caller, or to another
/// process receives all results.
fn digest(runtime: &Runtime, caller: &Caller, queries: &[AskedQuery]) -> String {
    let mut digest = Sha256::new();
    digest.update(format!("{:?}\n{queries:?}\n", runtime.process()));
    match caller {
        Caller::Nobody => {}
        // All claims: a removed role changes no row.
        Caller::User(identity) => digest.update(serde_json::to_vec(identity).unwrap_or_default()),
        Caller::DeployKey(key) => digest.update(format!("{key:?}")),
        Caller::System => digest.update("system"),
    }
    hex::encode(&digest.finalize()[..12])
}

/// Returns the commit of the event that the client received last, if the event is of the same queries.
fn known(id: &str, digest: &str) -> Option<Commit> {
    let (commit, of) = id.split_once('-')?;
    if of == digest { commit.parse().ok().map(Commit) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_data_is_one_line_for_any_json() {
        let told = |query, json: &'static str| QueryResult { query, json: json.into(), journal: None };
        let results = results(
            &Update {
                commit: Commit(7),
                results: vec![told(0, "\"status\":\"success\",\"value\":1}"), told(2, "\"value\":{\n \"a\":\r\n1}}")],
                is_lasting: true,
            },
            "d",
        );
        assert_eq!(
            String::from_utf8(results).unwrap(),
            "id: 7-d\nevent: results\ndata: {\"results\":[{\"query\":0,\"status\":\"success\",\"value\":1},\
             {\"query\":2,\"value\":{  \"a\":  1}}]}\n\n"
        );
        assert_eq!(known("7-d", "d"), Some(Commit(7)));
        assert_eq!([known("7-e", "d"), known("d", "d"), known("x-d", "d")], [None; 3]);
    }
}
