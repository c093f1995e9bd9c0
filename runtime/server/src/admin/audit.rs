//! The handler that lists the record of key uses.

use serde_json::json;

use super::key_uses::KeyUse;
use super::{Admin, AdminRequest, success};
use convoke_core::error::Result;
use convoke_http::Reply;
use convoke_store::Order;

/// `GET audit?key=&cursor=&limit=`: returns the record, newest first: `{"items": […], "cursor"?}`.
///
/// # Errors
/// A cursor of another list; a failure of the store.
pub async fn list(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let key = request.query("key");
    let cursor = request.cursor()?;
    let limit = request.limit()?;
    // The response includes the most recent requests.
    admin.audit.flush().await;
    let page = admin
        .runtime
        .database()
        .read_admin(move |db| {
            Ok(match &key {
                Some(key) => {
                    db.query(KeyUse::by_key).eq(key.as_str()).order(Order::Desc).page(cursor.as_ref(), limit)?
                }
                None => db.query(KeyUse::by_time).order(Order::Desc).page(cursor.as_ref(), limit)?,
            })
        })
        .await?;
    let items: Vec<_> = page
        .items
        .iter()
        .map(|used| {
            json!({
                "at": used.at, "key": used.key, "what": used.what, "outcome": used.outcome,
                "requestId": used.request_id, "actingAs": used.acting_as, "peer": used.peer,
            })
        })
        .collect();
    success(&json!({ "items": items, "cursor": page.cursor, "unwritten": admin.audit.unwritten() }))
}
