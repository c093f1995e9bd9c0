//! The handlers of live connections: list and end.

use serde_json::{Value, json};

use super::node::AnsweringNode;
use super::{Admin, AdminRequest, success};
use convoke_calls::live::ConnectionName;
use convoke_core::error::{Error, Result};
use convoke_http::Reply;

/// `GET live`: lists the connections of this node ([`convoke_calls::live::LiveClient`]), oldest first:
/// `{"connections": […], "node": …}`. `node` is the [`AnsweringNode`], if several nodes may serve the database.
///
/// # Errors
/// None.
pub async fn list(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let connections = admin.runtime.live().clients();
    success(&match AnsweringNode::of(admin) {
        None => json!({ "connections": connections }),
        Some(node) => json!({ "connections": connections, "node": node }),
    })
}

/// `DELETE live/{number}`: ends a connection of this node by its number, or of any node by its id. The client is
/// informed and may reconnect.
///
/// # Errors
/// `NOT_FOUND`: the connection or its node has ended. `UNAVAILABLE`: the node does not respond.
pub async fn end(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let given: Result<ConnectionName, _> = request.part().parse();
    let name = given.map_err(|error| Error::invalid_argument("number", format!("number: {error}")))?;
    match (admin.runtime.live().end_anywhere(name).await?, name.node) {
        (true, _) => success(&Value::Null),
        (false, None) => Err(Error::not_found("No live connection has this number: it has ended or never existed")),
        (false, Some(_)) => {
            Err(Error::not_found("No live connection of any node has this id: it or its node has ended"))
        }
    }
}
