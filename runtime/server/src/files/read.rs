//! `GET /files/{token}`: the content of a link.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderName, HeaderValue,
};

use super::disposition;
use super::range::Wanted;
use super::status::failed;
use convoke_calls::runtime::Runtime;
use convoke_calls::transfers::{self, Download};
use convoke_core::answer::budget::Budget;
use convoke_core::answer::pieces::Piece;
use convoke_core::error::Result;
use convoke_http::{Body, BodySender, Ending, Incoming, Reply};

/// The fields of a request that this route reads.
pub(crate) const FIELDS: &[&str] = &[RANGE, IF_RANGE, IF_NONE_MATCH];
const RANGE: &str = "range";
const IF_RANGE: &str = "if-range";
const IF_NONE_MATCH: &str = "if-none-match";

/// A link of a row ends with the row, so a cache asks each time whether it still exists.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
/// A public file may be read for an hour after its row has ended.
const PUBLIC: HeaderValue = HeaderValue::from_static("public, max-age=3600");
/// A content that a browser shows runs no code and loads nothing.
const SANDBOX: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'");

/// Responds to a request.
pub(crate) async fn answer<E>(runtime: &Runtime, incoming: &Incoming<E>) -> Reply {
    match transfers::download(runtime, incoming.param(0)).await {
        Ok(download) => send(runtime, incoming, download).await.unwrap_or_else(|error| failed(&error, Vec::new())),
        Err(error) => failed(&error, Vec::new()),
    }
}

fn field<'a, E>(incoming: &'a Incoming<E>, name: &str) -> Option<&'a str> {
    incoming.field(name).ok().flatten().and_then(|value| value.to_str().ok())
}

async fn send<E>(runtime: &Runtime, incoming: &Incoming<E>, download: Download) -> Result<Reply> {
    let tag = format!("\"{}\"", download.hash);
    let mut fields = described(&download, &tag);
    let has_tag =
        |tags: &str| tags.trim() == "*" || tags.split(',').any(|one| one.trim().trim_start_matches("W/") == tag);
    if field(incoming, IF_NONE_MATCH).is_some_and(has_tag) {
        return Ok(Reply { fields, ..Reply::json(304, Bytes::new()) });
    }
    // Another content has another tag, and a part of it does not fit the part that the client has.
    let is_current = field(incoming, IF_RANGE).is_none_or(|condition| condition.trim() == tag);
    let (status, part) = match Wanted::of(field(incoming, RANGE).filter(|_| is_current), download.bytes) {
        Wanted::Whole => (200, 0..download.bytes),
        Wanted::Part(part) => {
            fields.push((CONTENT_RANGE, range_field(&format!("{}-{}", part.start, part.end - 1), download.bytes)));
            (206, part)
        }
        Wanted::Outside => {
            fields.retain(|(name, _)| *name != CONTENT_TYPE && *name != CONTENT_DISPOSITION);
            fields.push((CONTENT_RANGE, range_field("*", download.bytes)));
            return Ok(Reply { fields, ..Reply::json(416, Bytes::new()) });
        }
    };
    let body = match part.end - part.start {
        0 => Body::from(Bytes::new()),
        1..=Download::PIECE_BYTES => Body::from(download.piece(part.start, part.end).await?),
        length => {
            let (sender, body) = Body::stream(Ending::Whole);
            tokio::spawn(produce(download, part, runtime.answers().clone(), sender));
            body.with_length(length)
        }
    };
    Ok(Reply { fields, ..Reply::of(status, "application/octet-stream", body) })
}

fn range_field(part: &str, length: u64) -> HeaderValue {
    HeaderValue::try_from(format!("bytes {part}/{length}")).unwrap_or_else(|_| HeaderValue::from_static("bytes */0"))
}

fn described(download: &Download, tag: &str) -> Vec<(HeaderName, HeaderValue)> {
    let charset = if download.content_type.starts_with("text/") { "; charset=utf-8" } else { "" };
    let content_type = HeaderValue::try_from(format!("{}{charset}", download.content_type));
    let tag = HeaderValue::try_from(tag);
    let disposition = disposition::field(&download.content_type, download.is_download, download.name.as_deref());
    let known = [(CONTENT_TYPE, content_type.ok()), (ETAG, tag.ok()), (CONTENT_DISPOSITION, Some(disposition))];
    let mut fields: Vec<_> = known.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    fields.push((ACCEPT_RANGES, const { HeaderValue::from_static("bytes") }));
    fields.push((CONTENT_SECURITY_POLICY, SANDBOX));
    fields.push((CACHE_CONTROL, if download.is_public { PUBLIC } else { PRIVATE }));
    fields
}

/// Sends a part of a content. Each piece is charged before it is read. The stream breaks off if the memory for responses
/// is exhausted, and the client continues with a range.
async fn produce(download: Download, part: Range<u64>, answers: Arc<Budget>, sender: BodySender) {
    let mut at = part.start;
    while at < part.end {
        let length = (part.end - at).min(Download::PIECE_BYTES);
        let Ok(charge) = answers.charge(usize::try_from(length).unwrap_or(usize::MAX)) else { return };
        let bytes = match download.piece(at, part.end).await {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::error!(target: "convoke::files", "{}: {}", download.hash, error.chain());
                return;
            }
        };
        if sender.send_piece(Piece { bytes, charge: Some(charge) }).await.is_err() {
            return;
        }
        at += length;
    }
    sender.finish();
}
