//! The handlers of webhooks: endpoints, their secrets, and deliveries.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Admin, AdminRequest, success, success_once};
use convoke_calls::outbound::Secret;
use convoke_calls::webhooks::endpoint::OPERATOR;
use convoke_calls::webhooks::secret::OVERLAP;
use convoke_calls::webhooks::{
    Delivery, DeliveryState, Endpoint, EndpointChange, EventRange, NewEndpoint, Webhooks, WebhooksMut,
};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_http::Reply;
use convoke_store::{DbMut, Doc};

/// Deliveries that one transaction sends again: some milliseconds of the writer.
const REDELIVERED: usize = 100;

/// `GET webhooks?owner=`: lists the endpoints, oldest first, without their secrets. With `owner`, only those of this
/// owner.
///
/// # Errors
/// A failure of the store.
pub async fn list(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let owner = request.query("owner");
    let found = admin.runtime.database().read_admin(move |db| Webhooks::of(db, owner.as_deref()).list()).await?;
    success(&found.iter().map(|one| shown(admin, one)).collect::<Vec<_>>())
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    url: String,
    #[serde(default)]
    events: Vec<String>,
    #[serde(default)]
    description: String,
    owner: Option<String>,
}

/// `POST webhooks` with `{url, events?, description?, owner?}`: creates an endpoint. Only this response and that of a
/// rotation contain its `secret`.
///
/// # Errors
/// `INVALID_ARGUMENT`; `FAILED_PRECONDITION`: the owner has too many endpoints; a failure of the store.
pub async fn create(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let Create { url, events, description, owner } = request.args()?;
    admin.runtime.deliverer().check_url(&url).await?;
    let new = NewEndpoint { owner, url, events, description };
    let (endpoint, secret) =
        change(admin, "create a webhook endpoint", move |webhooks| webhooks.create(new.clone())).await?;
    with_secret(admin, &endpoint, &secret)
}

/// `GET webhooks/{id}`: returns an endpoint.
///
/// # Errors
/// `NOT_FOUND`; a failure of the store.
pub async fn show(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let id = request.id()?;
    success(&shown(admin, &admin.runtime.database().read_admin(move |db| Webhooks::of(db, None).get(id)).await?))
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    url: Option<String>,
    events: Option<Vec<String>>,
    description: Option<String>,
    enabled: Option<bool>,
}

/// `PATCH webhooks/{id}` with `{url?, events?, description?, enabled?}`: changes, enables or disables an endpoint.
///
/// # Errors
/// `NOT_FOUND`; `INVALID_ARGUMENT`; a failure of the store.
pub async fn update(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let id = request.id()?;
    let Change { url, events, description, enabled } = request.args()?;
    if let Some(url) = &url {
        admin.runtime.deliverer().check_url(url).await?;
    }
    let to = EndpointChange { url, events, description, enabled };
    let work = move |webhooks: &mut WebhooksMut<'_>| webhooks.change(id, to.clone());
    success(&shown(admin, &change(admin, "change a webhook endpoint", work).await?))
}

/// `DELETE webhooks/{id}`: removes an endpoint. Its pending deliveries are not sent.
///
/// # Errors
/// `NOT_FOUND`; a failure of the store.
pub async fn remove(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let id = request.id()?;
    match change(admin, "remove a webhook endpoint", move |webhooks| webhooks.remove(id)).await? {
        true => success(&Value::Null),
        false => Err(Error::not_found("No webhook endpoint has this id")),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotate {
    /// Milliseconds.
    overlap: Option<u64>,
}

/// `POST webhooks/{id}/rotate` with `{overlap?}` (milliseconds): makes a new secret. The former one signs too for the
/// overlap, by default 24 hours.
///
/// # Errors
/// `NOT_FOUND`; `INVALID_ARGUMENT`: the overlap is too long; a failure of the store.
pub async fn rotate(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let id = request.id()?;
    let overlap = request.args::<Rotate>()?.overlap.map_or(OVERLAP, Duration::from_millis);
    let work = move |webhooks: &mut WebhooksMut<'_>| webhooks.rotate(id, overlap);
    let (endpoint, secret) = change(admin, "rotate the secret of a webhook endpoint", work).await?;
    with_secret(admin, &endpoint, &secret)
}

/// `GET webhooks/{id}/deliveries?state=&cursor=&limit=`: lists deliveries of an endpoint, newest event first, without
/// their bodies.
///
/// # Errors
/// `NOT_FOUND`; `INVALID_ARGUMENT`: an unknown state; a failure of the store.
pub async fn deliveries(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let id = request.id()?;
    let state = request.query_as::<DeliveryState>("state")?;
    let limit = request.limit()?;
    let cursor = request.cursor()?;
    let read = move |db: &_| Webhooks::of(db, None).deliveries(id, state, cursor.as_ref(), limit);
    let page = admin.runtime.database().read_admin(read).await?;
    let items: Vec<Value> = page.items.iter().map(delivery_shown).collect();
    success(&json!({ "items": items, "cursor": page.cursor }))
}

/// `GET webhook-deliveries/{id}`: returns a delivery with its body and the last response.
///
/// # Errors
/// `NOT_FOUND`; a failure of the store.
pub async fn delivery(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let id = request.id()?;
    let row = admin.runtime.database().read_admin(move |db| Webhooks::of(db, None).delivery(id)).await?;
    let mut value = delivery_shown(&row);
    value["body"] = serde_json::from_str(&row.body).unwrap_or_else(|_| row.body.as_str().into());
    value["answer"] = json!(row.answer);
    success(&value)
}

/// `POST webhook-deliveries/{id}/redeliver`: sends a delivery again, now and with all its tries.
///
/// # Errors
/// `NOT_FOUND`; a failure of the store.
pub async fn redeliver(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let id = request.id()?;
    change(admin, "redeliver a webhook", move |webhooks| webhooks.redeliver(id)).await?;
    success(&json!({ "redelivered": 1 }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    since: Millis,
    until: Option<Millis>,
    #[serde(default)]
    delivered: bool,
}

/// `POST webhooks/{id}/redeliver` with `{since, until?, delivered?}` (milliseconds since the epoch): sends the failed
/// deliveries of the events in this range again, or with `delivered` the delivered ones. `until` is exclusive and by
/// default now. Returns `{"redelivered": n}`.
///
/// # Errors
/// `NOT_FOUND`; a failure of the store, after which a part may be sent again.
pub async fn redeliver_range(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let id = request.id()?;
    let Range { since, until, delivered } = request.args()?;
    let until = until.unwrap_or_else(|| admin.runtime.clock().now() + Duration::from_millis(1));
    let state = if delivered { DeliveryState::Delivered } else { DeliveryState::Failed };
    let range = EventRange { since, until, state };
    let read = move |db: &_| Webhooks::of(db, None).in_range(id, range, usize::MAX);
    let found = admin.runtime.database().read_admin(read).await?;
    for some in found.chunks(REDELIVERED) {
        let some = some.to_vec();
        let work = move |webhooks: &mut WebhooksMut<'_>| some.iter().try_for_each(|id| webhooks.redeliver(*id));
        change(admin, "redeliver webhooks", work).await?;
    }
    success(&json!({ "redelivered": found.len() }))
}

/// Changes webhooks in one transaction, and wakes the deliverer.
async fn change<R: Send + 'static>(
    admin: &Admin,
    name: &'static str,
    work: impl Fn(&mut WebhooksMut<'_>) -> Result<R> + Send + 'static,
) -> Result<R> {
    let (services, now) = ((*admin.runtime).clone(), admin.runtime.clock().now());
    let write = move |db: &mut DbMut| work(&mut WebhooksMut::of(db, services.clone(), now, None));
    let changed = admin.runtime.database().write_admin(name, write).await?;
    admin.runtime.deliverer().wake();
    Ok(changed)
}

fn shown(admin: &Admin, endpoint: &Doc<Endpoint>) -> Value {
    let now = admin.runtime.clock().now();
    let overlap = endpoint.secrets.iter().filter_map(|secret| secret.until).filter(|until| now < *until).max();
    json!({
        "id": endpoint.id(),
        "url": endpoint.url,
        "events": endpoint.events,
        "description": endpoint.description,
        "owner": (endpoint.owner != OPERATOR).then_some(&endpoint.owner),
        "state": endpoint.state,
        "createdAt": endpoint.creation_time(),
        "disabledReason": endpoint.disabled_reason,
        "disabledAt": endpoint.disabled_at,
        "failingSince": endpoint.failing_since,
        "formerSecretUntil": overlap,
    })
}

fn delivery_shown(delivery: &Doc<Delivery>) -> Value {
    json!({
        "id": delivery.id(),
        "endpoint": delivery.endpoint,
        "message": delivery.message,
        "event": delivery.event,
        "eventAt": delivery.event_at,
        "state": delivery.state,
        "dueAt": (delivery.state == DeliveryState::Pending).then_some(delivery.due_at),
        "attempts": delivery.attempts,
        "triedAt": delivery.tried_at,
        "tookMs": delivery.took_ms,
        "status": delivery.status,
        "error": delivery.error,
    })
}

fn with_secret(admin: &Admin, endpoint: &Doc<Endpoint>, secret: &Secret) -> Result<Reply> {
    #[derive(Serialize)]
    struct Revealed<'a> {
        secret: &'a str,
        #[serde(flatten)]
        shown: Value,
    }
    success_once(&Revealed { secret: secret.expose(), shown: shown(admin, endpoint) })
}
