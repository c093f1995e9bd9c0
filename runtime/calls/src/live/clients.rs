//! The operator's view of live queries: the clients, their queries and their lag; and the end of a connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tokio::time::Instant;

use super::across::ConnectionName;
use super::hub::{Connection, Hub, HubState};

/// A client with live queries. Its JSON:
///
/// `{"number":7,"identity":"https://id.example|ada","ageMs":1200,"queries":[…],"bytes":310,"lagMs":0}`. Members that do
/// not apply are left out.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveClient {
    /// Number of the connection, never reused in this process.
    pub number: u64,
    /// Id of the connection over all nodes, if several may serve the database: `00c0ffee-7`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `issuer|subject` of the identity that its queries run as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Name of the deploy key of the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deploy_key: Option<String>,
    /// Time since it connected.
    #[serde(rename = "ageMs", serialize_with = "milliseconds")]
    pub age: Duration,
    /// Its queries, ordered by number.
    pub queries: Vec<WatchedQuery>,
    /// Bytes of all its results.
    pub bytes: usize,
    /// Time for which one of its results has been outdated; zero if all are current.
    #[serde(rename = "lagMs", serialize_with = "milliseconds")]
    pub lag: Duration,
}

/// One live query.
#[derive(Clone, Debug, Serialize)]
pub struct WatchedQuery {
    /// The client's number of the query.
    pub number: u32,
    /// The function.
    pub path: Arc<str>,
    /// The arguments' JSON.
    pub args: Arc<str>,
    /// Bytes of the result that the client has.
    pub bytes: usize,
}

fn milliseconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

impl Hub {
    /// Returns the connected clients, oldest first.
    pub fn clients(&self) -> Vec<LiveClient> {
        let node = self.own_node();
        let (state, now) = (self.lock(), Instant::now());
        let mut clients: Vec<_> =
            state.connections.iter().map(|(_, connection)| client(&state, connection, node, now)).collect();
        clients.sort_by_key(|client| client.number);
        clients
    }

    /// Ends a connection of this process. Its client receives an error and may reconnect. Returns true if the
    /// connection exists.
    pub fn end(&self, number: u64) -> bool {
        let mut state = self.lock();
        let found = state.connections.iter_mut().find(|(_, connection)| connection.number == number);
        let Some((_, connection)) = found else { return false };
        connection.is_ended = true;
        connection.wake.notify_one();
        true
    }
}

fn client(state: &HubState, connection: &Connection, node: Option<u32>, now: Instant) -> LiveClient {
    let watched = |id: &usize| {
        let subscription = &state.subscriptions[*id];
        WatchedQuery {
            number: subscription.number,
            path: subscription.question.path.clone(),
            args: subscription.question.args.clone(),
            bytes: subscription.sent.as_ref().map_or(0, Bytes::len),
        }
    };
    let mut queries: Vec<_> = connection.subscriptions.iter().map(watched).collect();
    queries.sort_by_key(|query| query.number);
    LiveClient {
        number: connection.number,
        id: node.map(|node| ConnectionName { node: Some(node), number: connection.number }.to_string()),
        identity: connection.caller.identity().map(|identity| identity.token_identifier()),
        deploy_key: connection.caller.deploy_key().map(|key| key.name.clone()),
        age: now - connection.opened_at,
        bytes: queries.iter().map(|query| query.bytes).sum(),
        queries,
        lag: connection.behind_since.map_or(Duration::ZERO, |since| now - since),
    }
}
