//! `/files/uploads/{token}`: one content, whole with `POST`, or in parts with tus 1.0 (core, creation, deferred length,
//! expiration).

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};

use super::status::failed;
use convoke_calls::files::StorageId;
use convoke_calls::runtime::Runtime;
use convoke_calls::transfers::{self, Receiving};
use convoke_core::clock::Millis;
use convoke_core::error::{Code, Error, Result};
use convoke_http::{BodyStream, Incoming, Reply};
use convoke_store::FileRule;

/// The fields of a request that this route reads.
pub(crate) const FIELDS: &[&str] =
    &[TUS_RESUMABLE, UPLOAD_OFFSET, UPLOAD_LENGTH, UPLOAD_DEFER_LENGTH, "content-type", "content-encoding"];
const TUS_RESUMABLE: &str = "tus-resumable";
const UPLOAD_OFFSET: &str = "upload-offset";
const UPLOAD_LENGTH: &str = "upload-length";
const UPLOAD_DEFER_LENGTH: &str = "upload-defer-length";
/// The version of tus.
const VERSION: &str = "1.0.0";
/// The type of the bytes of a part.
const PART_TYPE: &str = "application/offset+octet-stream";
/// The id of a complete upload. A response to tus has no body that could contain it.
const STORAGE_ID: HeaderName = HeaderName::from_static("x-convoke-storage-id");

/// The time at which an incomplete upload expires.
const UPLOAD_EXPIRES: HeaderName = HeaderName::from_static("upload-expires");

/// The fields of a response to `OPTIONS`.
pub(crate) const OPTIONS: &[(&str, &str)] = &[
    (TUS_RESUMABLE, VERSION),
    ("tus-version", VERSION),
    ("tus-extension", "creation,creation-defer-length,expiration"),
    ("tus-max-size", "5368709120"),
];
const _: () = assert!(FileRule::BYTES_MAX == 5_368_709_120, "the field above has the same number");

/// Responds to a request.
pub(crate) async fn answer<E>(runtime: &Runtime, mut incoming: Box<Incoming<E>>) -> Reply {
    let body = incoming.stream.take();
    let is_tus = text(&incoming, TUS_RESUMABLE).is_some();
    let answered = match (&incoming.method, is_tus) {
        (&Method::POST, false) => whole(runtime, &incoming, body).await,
        (&Method::POST, true) => create(runtime, &incoming).await,
        (&Method::PATCH, _) => part(runtime, &incoming, body).await,
        // HEAD arrives as GET.
        _ => progress(runtime, &incoming).await,
    };
    answered.unwrap_or_else(|error| {
        runtime.files().count_failure();
        let mut reply = failed(&error, tus_fields());
        if error.message() == OTHER_VERSION {
            reply.status = 412;
            reply.fields.push((HeaderName::from_static("tus-version"), HeaderValue::from_static(VERSION)));
        }
        reply
    })
}

const OTHER_VERSION: &str = "Tus-Resumable must be 1.0.0";

fn tus_fields() -> Vec<(HeaderName, HeaderValue)> {
    vec![(HeaderName::from_static(TUS_RESUMABLE), HeaderValue::from_static(VERSION))]
}

fn text<'a, E>(incoming: &'a Incoming<E>, name: &str) -> Option<&'a str> {
    incoming.field(name).ok().flatten().and_then(|value| value.to_str().ok())
}

fn number<E>(incoming: &Incoming<E>, name: &'static str) -> Result<Option<u64>> {
    let Some(text) = text(incoming, name) else { return Ok(None) };
    let number = text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    number.map(Some).ok_or_else(|| Error::invalid_argument(name, format!("{name} must be a whole number of bytes")))
}

fn require_version<E>(incoming: &Incoming<E>) -> Result<()> {
    match text(incoming, TUS_RESUMABLE) {
        Some(VERSION) => Ok(()),
        Some(_) | None => Err(Error::failed_precondition(OTHER_VERSION)),
    }
}

fn require_plain<E>(incoming: &Incoming<E>) -> Result<()> {
    match text(incoming, "content-encoding") {
        None => Ok(()),
        Some(coding) if coding.eq_ignore_ascii_case("identity") => Ok(()),
        Some(_) => Err(Error::new(Code::UnsupportedMediaType, "The body must not be compressed.")),
    }
}

/// Writes a body to its end.
async fn write(receiving: &mut Receiving, body: Option<&mut BodyStream>) -> Result<()> {
    let Some(body) = body else { return Ok(()) };
    while let Some(piece) = body.next().await? {
        receiving.write(piece).await?;
    }
    Ok(())
}

/// `POST`: the whole content. Responds with `{"storageId": …}`.
async fn whole<E>(runtime: &Runtime, incoming: &Incoming<E>, body: Option<BodyStream>) -> Result<Reply> {
    require_plain(incoming)?;
    let declared = body.as_ref().and_then(BodyStream::declared);
    let mut receiving = Receiving::begin(runtime, incoming.param(0), None, declared).await?;
    let mut body = body;
    write(&mut receiving, body.as_mut()).await?;
    Ok(completed(receiving.finish().await?))
}

fn completed(id: StorageId) -> Reply {
    Reply::json(200, serde_json::json!({ "storageId": id }).to_string())
}

/// `POST` of tus: declares the length. The address stays the same.
async fn create<E>(runtime: &Runtime, incoming: &Incoming<E>) -> Result<Reply> {
    require_version(incoming)?;
    let token = incoming.param(0);
    let mut fields = tus_fields();
    fields.extend(HeaderValue::try_from(incoming.uri.path()).map(|path| (LOCATION, path)));
    match number(incoming, UPLOAD_LENGTH)? {
        // The client declares the length with the last part.
        None if text(incoming, UPLOAD_DEFER_LENGTH) == Some("1") => {
            fields.extend(expiry(transfers::status(runtime, token).await?.expires_at));
        }
        None => {
            let message = "Upload-Length must be the number of bytes of the file, or Upload-Defer-Length must be 1";
            return Err(Error::invalid_argument(UPLOAD_LENGTH, message));
        }
        Some(length) => {
            let offset = transfers::create(runtime, token, length).await?;
            if length == 0 {
                Receiving::begin(runtime, token, Some(0), None).await?.finish().await?;
                fields.extend(storage_id(offset.id));
            } else {
                fields.extend(expiry(offset.expires_at));
            }
        }
    }
    Ok(Reply { fields, ..Reply::json(201, Bytes::new()) })
}

/// `HEAD` of tus: the number of received bytes.
async fn progress<E>(runtime: &Runtime, incoming: &Incoming<E>) -> Result<Reply> {
    let offset = transfers::status(runtime, incoming.param(0)).await?;
    let mut fields = tus_fields();
    fields.push((HeaderName::from_static(UPLOAD_OFFSET), offset.offset.into()));
    fields.push(match offset.length {
        Some(length) => (HeaderName::from_static(UPLOAD_LENGTH), length.into()),
        None => (HeaderName::from_static(UPLOAD_DEFER_LENGTH), HeaderValue::from_static("1")),
    });
    fields.extend(match offset.is_complete {
        true => storage_id(offset.id),
        false => expiry(offset.expires_at),
    });
    Ok(Reply { fields, ..Reply::json(200, Bytes::new()) })
}

fn storage_id(id: StorageId) -> Option<(HeaderName, HeaderValue)> {
    HeaderValue::try_from(id.to_string()).ok().map(|id| (STORAGE_ID, id))
}

/// Returns the field with the time after which an incomplete upload cannot be continued.
fn expiry(at: Millis) -> Option<(HeaderName, HeaderValue)> {
    let at = UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).ok()?);
    HeaderValue::try_from(httpdate::fmt_http_date(at)).ok().map(|at| (UPLOAD_EXPIRES, at))
}

/// `PATCH` of tus: the next bytes.
async fn part<E>(runtime: &Runtime, incoming: &Incoming<E>, body: Option<BodyStream>) -> Result<Reply> {
    require_version(incoming)?;
    require_plain(incoming)?;
    if text(incoming, CONTENT_TYPE.as_str()) != Some(PART_TYPE) {
        return Err(Error::new(Code::UnsupportedMediaType, format!("Content-Type must be {PART_TYPE}")));
    }
    let token = incoming.param(0);
    let offset = number(incoming, UPLOAD_OFFSET)?
        .ok_or_else(|| Error::invalid_argument(UPLOAD_OFFSET, "Upload-Offset must be the number of received bytes"))?;
    if let Some(length) = number(incoming, UPLOAD_LENGTH)? {
        transfers::create(runtime, token, length).await?;
    }
    let declared = body.as_ref().and_then(BodyStream::declared);
    let mut receiving = Receiving::begin(runtime, token, Some(offset), declared).await?;
    let length = receiving.length();
    let mut body = body;
    if let Err(error) = write(&mut receiving, body.as_mut()).await {
        // The client continues with the bytes that have arrived. The first error is reported.
        let _ = receiving.suspend().await;
        return Err(error);
    }
    let offset = receiving.offset();
    let mut fields = tus_fields();
    fields.push((HeaderName::from_static(UPLOAD_OFFSET), offset.into()));
    if length == Some(offset) {
        fields.extend(storage_id(receiving.finish().await?));
    } else {
        fields.extend(expiry(receiving.expires_at()));
        receiving.suspend().await?;
    }
    Ok(Reply { fields, ..Reply::json(204, Bytes::new()) })
}
