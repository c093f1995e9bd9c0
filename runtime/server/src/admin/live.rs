//! Who has live queries now, and the end of one's connection.

use serde_json::{Value, json};

use super::{Admin, AdminRequest, success};
use convoke_core::error::{Error, Result};
use convoke_http::Reply;

/// `GET live`: the connections ([`convoke_calls::live::LiveClient`]), those that came first at the beginning:
/// `{"connections": […]}`.
///
/// # Errors
/// None.
pub async fn list(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    success(&json!({ "connections": admin.runtime.live().clients() }))
}

/// `DELETE live/{number}`: ends a connection. Its client is told so, and may come back.
///
/// # Errors
/// `NOT_FOUND`: it is gone already.
pub async fn end(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let given = request.part();
    let number = given.parse().map_err(|error| Error::invalid_argument("number", format!("number: {error}")))?;
    match admin.runtime.live().end(number) {
        true => success(&Value::Null),
        false => Err(Error::not_found("No live connection has this number: it has ended already, or never was")),
    }
}
