//! The handlers of files: list, show, download and sweep.

use hyper::header::{CONTENT_DISPOSITION, HeaderValue};
use serde_json::{Value as Json, json};

use super::{Admin, AdminRequest, success};
use convoke_calls::transfers;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_http::{Body, Ending, Reply};
use convoke_store::{Doc, Order, StoredFile};

/// `GET files?cursor=&limit=`: lists the contents, newest first.
///
/// # Errors
/// `INVALID_ARGUMENT`: a cursor of another list; a failure of the store.
pub async fn list(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let limit = request.limit()?;
    let cursor = request.cursor()?;
    let page = admin
        .runtime
        .database()
        .read_admin(move |db| Ok(db.scan::<StoredFile>().order(Order::Desc).page(cursor.as_ref(), limit)?));
    let page = page.await?;
    let items: Vec<Json> = page.items.iter().map(shown).collect();
    success(&json!({ "items": items, "cursor": page.cursor }))
}

/// `GET files/{id}`: describes a content.
///
/// # Errors
/// `NOT_FOUND`.
pub async fn show(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    success(&shown(&find(admin, &request).await?))
}

/// `GET files/{id}/content`: downloads a content.
///
/// # Errors
/// `NOT_FOUND`; `UNAVAILABLE`: the storage does not answer.
pub async fn content(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let file = convoke_store::File::of(find(admin, &request).await?.id());
    let mut reader = transfers::FileReader::open(&admin.runtime, &file).await?;
    let bytes = reader.bytes();
    let (sender, body) = Body::stream(Ending::Whole);
    tokio::spawn(async move {
        loop {
            let piece = match reader.next().await {
                Ok(Some(piece)) => piece,
                Ok(None) => return sender.finish(),
                // The client sees an incomplete stream.
                Err(_) => return,
            };
            if sender.send(piece).await.is_err() {
                return;
            }
        }
    });
    // An operator's page must not run a content of a user.
    let fields = vec![(CONTENT_DISPOSITION, const { HeaderValue::from_static("attachment") })];
    Ok(Reply { fields, ..Reply::of(200, "application/octet-stream", body.with_length(bytes)) })
}

/// `POST files/sweep`: removes what no row needs any more. Returns `{"contents", "bytes", "uploads"}`.
///
/// # Errors
/// A failure of the store or of the storage.
pub async fn sweep(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let transfers::Swept { contents, bytes, uploads } = transfers::sweep(&admin.runtime).await?;
    success(&json!({ "contents": contents, "bytes": bytes, "uploads": uploads }))
}

async fn find(admin: &Admin, request: &AdminRequest) -> Result<Doc<StoredFile>> {
    let id: Id<StoredFile> = request.id()?;
    let found = admin.runtime.database().read_admin(move |db| Ok(db.get(id)?)).await?;
    found.ok_or_else(|| Error::not_found("No file has this id"))
}

fn shown(file: &Doc<StoredFile>) -> Json {
    json!({
        "id": file.id(),
        "contentType": file.content_type,
        "bytes": file.bytes,
        "hash": file.hash,
        "state": file.state,
        "references": file.references.max(0),
        "owner": file.owner,
        "createdAt": file.creation_time(),
        "unreferencedAt": file.unreferenced_at,
    })
}
