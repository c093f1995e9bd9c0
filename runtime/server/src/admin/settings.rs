//! The handler that lists the effective settings.

use serde_json::json;

use super::{Admin, AdminRequest, success};
use convoke_calls::outbound::secret;
use convoke_core::error::Result;
use convoke_http::Reply;

/// `GET settings`: returns `{"settings": […], "secrets": […]}`. Secrets have only names and places, no values.
///
/// # Errors
/// None.
pub async fn list(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let secrets = secret::names(admin.runtime.data());
    let secrets: Vec<_> = secrets.iter().map(|(name, place)| json!({ "name": name, "place": place })).collect();
    success(&json!({ "settings": &*admin.settings, "secrets": secrets }))
}
