//! The handler that promotes a server that follows copies.

use serde_json::json;

use super::{Admin, AdminRequest, success};
use crate::following::Following;
use convoke_copies::CopyError;
use convoke_core::error::{Error, Result};
use convoke_http::Reply;

/// `POST promote`: begins the next generation of the copies, applies all copies of the former server, and starts the
/// server again, which then accepts changes. Returns `{"generation", "former", "commit"}`: its own generation, and the
/// generation of the former server with its last commit.
///
/// # Errors
/// `FAILED_PRECONDITION`: the server follows no copies; `UNAVAILABLE`: the place does not respond. The server then still
/// follows, and the request can be sent again. `CONFLICT`: another server takes over.
pub async fn promote(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let runtime = admin.runtime.clone();
    let promoted = tokio::task::spawn_blocking(move || Following::promote(&runtime)).await.map_err(Error::internal)?;
    let promoted = promoted.ok_or_else(|| {
        Error::failed_precondition("This server does not follow copies, so it needs no promotion: it accepts changes")
    })?;
    let promoted = promoted.map_err(|error| match error {
        CopyError::TakenOver(_) | CopyError::TwoServers(_) => Error::conflict(error.to_string()),
        error => Error::unavailable(format!("The promotion failed and can be repeated: {error}")),
    })?;
    success(&json!({ "generation": promoted.generation, "former": promoted.former, "commit": promoted.commit }))
}
