//! The handlers of secrets: list names, set and remove. No handler returns the value of a secret.
//!
//! A secret is a file in the data folder that only its owner can read. Functions read it at each use, so a change needs
//! no restart. Each node has its own data folder.

use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::node::AnsweringNode;
use super::{Admin, AdminRequest, success};
use crate::config::STORE_PASSWORD;
use convoke_calls::outbound::secret::{self, SecretError};
use convoke_calls::outbound::store_key::STORE_KEY;
use convoke_core::error::{Error, Result};
use convoke_http::Reply;

/// Secrets that the server reads only at its start.
const READ_AT_START: [&str; 2] = [STORE_KEY, STORE_PASSWORD];

/// `GET secrets`: returns `{"items": [{name, place, own}], "node"?}`. `own` is true for a secret in a file of the data
/// folder, which can be set and removed here. `node` is the responding node, if several may serve the database.
///
/// # Errors
/// None.
pub async fn list(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let data = admin.runtime.data().to_owned();
    let items = tokio::task::spawn_blocking(move || {
        let items = secret::names(&data).into_iter().map(|(name, place)| {
            let own = secret::is_own(&name);
            json!({ "name": name, "place": place, "own": own })
        });
        items.collect::<Vec<_>>()
    });
    let items = items.await.map_err(Error::internal)?;
    success(&json!({ "items": items, "node": AnsweringNode::of(admin) }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    value: String,
}

/// `POST secrets/{name}` with `{value}`: sets a secret of the responding node. Returns `{"restart": true}` for a secret
/// that the server reads only at its start.
///
/// # Errors
/// `INVALID_ARGUMENT`: an invalid name or value. `FAILED_PRECONDITION`: the environment sets the secret.
pub async fn set(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let value = Zeroizing::new(request.args::<Set>()?.value);
    let (data, name) = (admin.runtime.data().to_owned(), request.part().to_owned());
    let restart = READ_AT_START.contains(&&*name);
    let done = tokio::task::spawn_blocking(move || secret::set(&data, &name, &value));
    done.await.map_err(Error::internal)?.map_err(refused)?;
    success(&json!({ "restart": restart }))
}

/// `DELETE secrets/{name}`: removes a secret of the responding node.
///
/// # Errors
/// `NOT_FOUND`; `FAILED_PRECONDITION`: the environment sets the secret.
pub async fn remove(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let (data, name) = (admin.runtime.data().to_owned(), request.part().to_owned());
    let restart = READ_AT_START.contains(&&*name);
    let done = tokio::task::spawn_blocking(move || secret::remove(&data, &name));
    done.await.map_err(Error::internal)?.map_err(refused)?;
    success(&json!({ "restart": restart }))
}

fn refused(error: SecretError) -> Error {
    let message = error.to_string();
    match error {
        SecretError::Name(_) => Error::invalid_argument("name", message),
        SecretError::NotText(_) | SecretError::Long(_) | SecretError::Short { .. } => {
            Error::invalid_argument("value", message)
        }
        SecretError::Missing { .. } => Error::not_found("There is no such secret in the data folder"),
        SecretError::Elsewhere { .. } => Error::failed_precondition(message),
        error => Error::internal(error),
    }
}
