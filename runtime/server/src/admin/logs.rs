//! The handler that returns finished calls and follows new ones.

use std::collections::HashSet;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use super::node::AnsweringNode;
use super::{Admin, AdminRequest};
use convoke_calls::recent_calls::{CallRecord, Filter, Followed, Follower, RECENT_MAX};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_http::{Body, BodySender, Ending, Reply};

/// The content type: one JSON object per line.
const NDJSON: &str = "application/x-ndjson";

/// `GET logs?function=&text=&outcome=&requestId=&user=&caller=&slowerThanMs=&since=&before=&last=&follow=`: returns one
/// line of JSON per call ([`CallRecord`]), oldest first. `since` and `before` are in milliseconds since 1970.
///
/// Returns the last 256 finished calls, or the last `last` of them, 10,000 at most. With `since` and without `last`, it
/// returns all calls since then, up to that limit. With `follow=true` it returns the last `last` calls (by default
/// none), then each call when it ends, until the client disconnects or the server stops. A slow client receives the
/// number of calls that it missed: `{"lost":12}`. All calls are of one node. If several nodes may serve the database,
/// each line has the node's id as `node`.
///
/// # Errors
/// `INVALID_ARGUMENT`: an unknown outcome. `OVERLOADED`: too many followers.
pub async fn show(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let since = request.query_as::<i64>("since")?.map(Millis);
    let filter = Filter {
        function: request.query("function"),
        text: request.query("text"),
        caller: request.query("caller"),
        since,
        before: request.query_as::<i64>("before")?.map(Millis),
        outcome: request.query_as("outcome")?,
        request_id: request.query("requestId"),
        subject: request.query("user"),
        slower_than: request.query_as::<u64>("slowerThanMs")?.map(Duration::from_millis),
    };
    let follow = request.query_as("follow")?.unwrap_or(false);
    let last = request.query_as("last")?.unwrap_or(match (follow, since) {
        (_, Some(_)) => usize::MAX,
        (true, None) => 0,
        (false, None) => RECENT_MAX,
    });
    // The follower starts before the search, so that no call is missed. Duplicates are skipped.
    let follower = if follow { Some(admin.runtime.recent_calls().follow(filter.clone())?) } else { None };
    let runtime = admin.runtime.clone();
    let recent = tokio::task::spawn_blocking(move || runtime.recent_calls().recent(&filter, last));
    let recent = recent.await.map_err(Error::internal)?;
    let node = AnsweringNode::of(admin).map(|node| node.id);
    let Some(follower) = follower else {
        let lines: Vec<u8> = recent.iter().flat_map(|call| line(&Call { call, node: node.as_deref() })).collect();
        return Ok(Reply::of(200, NDJSON, Body::from(lines)));
    };
    let (sender, body) = Body::stream(Ending::Never);
    tokio::spawn(stream(sender, recent, follower, node));
    Ok(Reply::of(200, NDJSON, body))
}

/// A call, and the node that served it.
#[derive(Serialize)]
struct Call<'a> {
    #[serde(flatten)]
    call: &'a CallRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a str>,
}

async fn stream(sender: BodySender, recent: Vec<CallRecord>, mut follower: Follower, node: Option<String>) {
    let node = node.as_deref();
    let name = |entry: &CallRecord| (entry.time, entry.request_id.clone(), entry.function.clone());
    let mut shown: HashSet<_> = recent.iter().map(name).collect();
    for call in &recent {
        if sender.send(line(&Call { call, node })).await.is_err() {
            return;
        }
    }
    loop {
        let next = tokio::select! {
            () = sender.gone() => return,
            next = follower.next() => next,
        };
        let line = match next {
            None => return,
            Some(Followed::Ended(entry)) if shown.remove(&name(&entry)) => continue,
            Some(Followed::Ended(entry)) => line(&Call { call: &entry, node }),
            Some(Followed::Lost(lost)) => line(&json!({ "lost": lost })),
        };
        if sender.send(line).await.is_err() {
            return;
        }
    }
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}
