//! The functions that can be called from outside, with what a tool needs to list them.

use serde_json::json;

use super::{Admin, AdminRequest, success};
use convoke_core::error::Result;
use convoke_http::Reply;

/// `GET functions`: path, kind, visibility and first line of documentation of each, by path.
///
/// # Errors
/// None.
pub async fn list(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let functions: Vec<_> = admin
        .runtime
        .registry()
        .all()
        .map(|function| {
            json!({
                "path": &*function.path,
                "kind": function.kind(),
                "visibility": function.def.visibility,
                "doc": function.summary(),
            })
        })
        .collect();
    success(&functions)
}
