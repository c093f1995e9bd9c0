//! The webhook endpoints of an organization, managed by its admins.
//!
//! An endpoint receives the events `meeting.ended` and `insights.ready` of meetings whose organizer is of the
//! organization. A deploy key manages all endpoints, and creates those of the operator, which receive the events of all
//! organizations.

use std::time::Duration;

use convoke::prelude::*;
use convoke::webhooks::{Delivery, DeliveryState, Endpoint, EndpointChange, EndpointState, EventRange, NewEndpoint};
use convoke::{args, mutation, query, value};
use schema::{Limit, Meeting};

use crate::access::{self, Admin};
use crate::events::Event;
use crate::webhooks::{self, EVENTS};

crate::listener!(on_event);

/// Most deliveries that one call sends again.
const REDELIVERED_MAX: usize = 100;
/// Time for which the former secret of an endpoint signs too.
const OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);

fn on_event(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, event: Event) -> Result<()> {
    match event {
        Event::Concluded => webhooks::meeting_ended(ctx, meeting),
        Event::PeopleCame | Event::ParticipantRemoved(_) | Event::Spoken => Ok(()),
    }
}

/// The owner of endpoints whose admin is the caller; none for a deploy key, which has rights on all endpoints.
#[derive(Clone)]
pub struct Owner(Option<String>);

fn organization(ctx: &impl Read) -> Result<Owner> {
    match access::admin(ctx)? {
        Admin::DeployKey => Ok(Owner(None)),
        Admin::User(user) => webhooks::owner(&user).map(|owner| Owner(Some(owner))).ok_or_else(access::insufficient),
    }
}

/// An endpoint of the caller's organization.
pub struct OwnEndpoint {
    owner: Owner,
    /// The endpoint.
    pub id: Id<Endpoint>,
}

fn own_endpoint(ctx: &impl Read, id: Id<Endpoint>) -> Result<OwnEndpoint> {
    let owner = organization(ctx)?;
    let found = ctx.db().get(id)?.filter(|row| owner.0.as_ref().is_none_or(|owner| row.owner == *owner));
    found.ok_or_else(|| Error::not_found("No webhook endpoint has this id"))?;
    Ok(OwnEndpoint { owner, id })
}

/// A webhook endpoint.
///
/// ```json
/// {"id": "webhookendpoint_01jgfjs5r2a4n8w7k0q3d6m9vt", "url": "https://example.com/hooks", "events": ["meeting.ended"],
///  "description": "CRM", "state": "enabled"}
/// ```
#[value(output)]
pub struct WebhookEndpoint {
    pub id: Id<Endpoint>,
    /// The URL that receives the events.
    pub url: String,
    /// Names of the events. Empty: all events.
    pub events: Vec<String>,
    /// A text for people.
    pub description: String,
    pub state: EndpointState,
    /// Reason why it is disabled.
    pub disabled_reason: Option<String>,
    /// Time of the first failure since the last success.
    pub failing_since: Option<Millis>,
}

impl From<Doc<Endpoint>> for WebhookEndpoint {
    fn from(row: Doc<Endpoint>) -> Self {
        let id = row.id();
        let row = row.into_inner();
        Self {
            id,
            url: row.url,
            events: row.events,
            description: row.description,
            state: row.state,
            disabled_reason: row.disabled_reason,
            failing_since: row.failing_since,
        }
    }
}

/// An endpoint with its secret, which is shown only once.
///
/// ```json
/// {"endpoint": {"id": "webhookendpoint_01jgfjs5r2a4n8w7k0q3d6m9vt", "url": "https://example.com/hooks",
///   "events": [], "description": "", "state": "enabled"},
///  "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
/// ```
#[value(output)]
pub struct EndpointWithSecret {
    pub endpoint: WebhookEndpoint,
    /// The secret for the verification of the header `webhook-signature`.
    pub secret: String,
}

/// Arguments of [`create_endpoint`].
///
/// ```json
/// {"url": "https://example.com/hooks", "events": ["meeting.ended", "insights.ready"], "description": "CRM"}
/// ```
#[args]
pub struct CreateEndpoint {
    /// The URL: `https://…`, at most 2048 bytes.
    pub url: String,
    /// Names of the events: `meeting.ended`, `insights.ready`. Empty: all events.
    #[default(Vec::new())]
    pub events: Vec<String>,
    /// A text for people, at most 256 characters.
    #[default(String::new())]
    pub description: String,
}

/// Requires the names of events that occur.
fn require_known(events: &[String]) -> Result<()> {
    match events.iter().position(|event| !EVENTS.contains(&event.as_str())) {
        None => Ok(()),
        Some(index) => {
            let field = format!("events[{index}]");
            let message = format!("{field}: must be one of {} (got {:?})", EVENTS.join(", "), events[index]);
            Err(Error::invalid_argument(&*field, message))
        }
    }
}

/// Creates an endpoint. Its secret is in this response only.
///
/// # Errors
/// - `FORBIDDEN`: the caller is no admin of an organization.
/// - `INVALID_ARGUMENT`: the URL is not `https`, or leads to a private address.
/// - `FAILED_PRECONDITION`: the organization has 100 endpoints.
#[mutation(admin, rights = organization)]
pub fn create_endpoint(ctx: &mut MutationCtx, owner: Owner, args: CreateEndpoint) -> Result<EndpointWithSecret> {
    let CreateEndpoint { url, events, description } = args;
    require_known(&events)?;
    let new = NewEndpoint { owner: None, url, events, description };
    let (endpoint, secret) = ctx.webhooks_mut(owner.0.as_deref()).create(new)?;
    Ok(EndpointWithSecret { endpoint: endpoint.into(), secret: secret.expose().to_owned() })
}

/// Returns the endpoints of the organization, oldest first.
///
/// # Errors
/// `FORBIDDEN`: the caller is no admin of an organization.
#[query(admin, rights = organization)]
pub fn list_endpoints(ctx: &QueryCtx, owner: Owner, _: NoArgs) -> Result<Vec<WebhookEndpoint>> {
    Ok(ctx.webhooks(owner.0.as_deref()).list()?.into_iter().map(WebhookEndpoint::from).collect())
}

/// Arguments of [`update_endpoint`]. Absent members stay as they are.
///
/// ```json
/// {"endpointId": "webhookendpoint_01jgfjs5r2a4n8w7k0q3d6m9vt", "enabled": true}
/// ```
#[args]
pub struct UpdateEndpoint {
    pub endpoint_id: Id<Endpoint>,
    /// The URL: `https://…`.
    pub url: Option<String>,
    /// Names of the events. Empty: all events.
    pub events: Option<Vec<String>>,
    /// A text for people.
    pub description: Option<String>,
    /// True enables the endpoint, false disables it. Pending deliveries wait while it is disabled.
    pub enabled: Option<bool>,
}

/// Changes, enables or disables an endpoint.
///
/// # Errors
/// - `NOT_FOUND`: the organization has no such endpoint.
/// - `INVALID_ARGUMENT`: as for a new endpoint.
#[mutation(admin, rights = own_endpoint(args.endpoint_id))]
pub fn update_endpoint(ctx: &mut MutationCtx, own: OwnEndpoint, args: UpdateEndpoint) -> Result<WebhookEndpoint> {
    let UpdateEndpoint { url, events, description, enabled, .. } = args;
    events.as_deref().map(require_known).transpose()?;
    let change = EndpointChange { url, events, description, enabled };
    Ok(ctx.webhooks_mut(own.owner.0.as_deref()).change(own.id, change)?.into())
}

/// The id of an endpoint.
///
/// ```json
/// {"endpointId": "webhookendpoint_01jgfjs5r2a4n8w7k0q3d6m9vt"}
/// ```
#[args]
pub struct OneEndpoint {
    pub endpoint_id: Id<Endpoint>,
}

/// Deletes an endpoint. Its pending deliveries are not sent.
///
/// # Errors
/// `NOT_FOUND`: the organization has no such endpoint.
#[mutation(admin, rights = own_endpoint(args.endpoint_id))]
pub fn delete_endpoint(ctx: &mut MutationCtx, own: OwnEndpoint, _: OneEndpoint) -> Result<()> {
    ctx.webhooks_mut(own.owner.0.as_deref()).remove(own.id).map(drop)
}

/// Gives an endpoint a new secret, which is in this response only. The former one signs too for 24 hours more.
///
/// # Errors
/// `NOT_FOUND`: the organization has no such endpoint.
#[mutation(admin, rights = own_endpoint(args.endpoint_id))]
pub fn rotate_endpoint_secret(ctx: &mut MutationCtx, own: OwnEndpoint, _: OneEndpoint) -> Result<EndpointWithSecret> {
    let (endpoint, secret) = ctx.webhooks_mut(own.owner.0.as_deref()).rotate(own.id, OVERLAP)?;
    Ok(EndpointWithSecret { endpoint: endpoint.into(), secret: secret.expose().to_owned() })
}

/// A delivery of an event to an endpoint.
///
/// ```json
/// {"id": "webhookdelivery_01jgfjs5r2a4n8w7k0q3d6m9vt", "messageId": "msg_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "event": "meeting.ended", "eventAt": 1767225600000, "state": "pending", "attempts": 1, "nextAt": 1767225605000,
///  "status": 503, "error": "the endpoint responded with 503"}
/// ```
#[value(output)]
pub struct WebhookDelivery {
    pub id: Id<Delivery>,
    /// The id of the event: the header `webhook-id`.
    pub message_id: String,
    /// Name of the event.
    pub event: String,
    /// Time of the event.
    pub event_at: Millis,
    pub state: DeliveryState,
    /// Number of tries that have ended.
    pub attempts: u32,
    /// Time of the next try.
    pub next_at: Option<Millis>,
    /// Status of the last response.
    pub status: Option<u32>,
    /// First 1024 bytes of the last response.
    pub answer: Option<String>,
    /// Reason why the last try failed.
    pub error: Option<String>,
}

impl From<Doc<Delivery>> for WebhookDelivery {
    fn from(row: Doc<Delivery>) -> Self {
        let id = row.id();
        let row = row.into_inner();
        Self {
            id,
            message_id: row.message,
            event: row.event,
            event_at: row.event_at,
            state: row.state,
            attempts: row.attempts,
            next_at: (row.state == DeliveryState::Pending).then_some(row.due_at),
            status: row.status,
            answer: row.answer,
            error: row.error,
        }
    }
}

/// Arguments of [`list_deliveries`].
///
/// ```json
/// {"endpointId": "webhookendpoint_01jgfjs5r2a4n8w7k0q3d6m9vt", "state": "failed", "limit": 20}
/// ```
#[args]
pub struct ListDeliveries {
    pub endpoint_id: Id<Endpoint>,
    /// Only deliveries in this state.
    pub state: Option<DeliveryState>,
    #[default(Limit::default())]
    pub limit: Limit<50, 200>,
    /// Cursor of the previous page.
    pub cursor: Option<Cursor>,
}

/// Returns the deliveries of an endpoint, newest event first.
///
/// # Errors
/// `NOT_FOUND`: the organization has no such endpoint.
#[query(admin, rights = own_endpoint(args.endpoint_id))]
pub fn list_deliveries(ctx: &QueryCtx, own: OwnEndpoint, args: ListDeliveries) -> Result<Page<WebhookDelivery>> {
    let webhooks = ctx.webhooks(own.owner.0.as_deref());
    let page = webhooks.deliveries(own.id, args.state, args.cursor.as_ref(), args.limit.get())?;
    Ok(page.map(WebhookDelivery::from))
}

/// Arguments of [`redeliver`]: one delivery, or the failed deliveries of a range of time.
///
/// ```json
/// {"endpointId": "webhookendpoint_01jgfjs5r2a4n8w7k0q3d6m9vt", "since": 1767225600000, "until": 1767312000000}
/// ```
#[args]
pub struct Redeliver {
    pub endpoint_id: Id<Endpoint>,
    /// One delivery of the endpoint.
    pub delivery_id: Option<Id<Delivery>>,
    /// First time of the events, if no delivery is given. Absent: all events.
    pub since: Option<Millis>,
    /// End of the range, exclusive. Absent: now.
    pub until: Option<Millis>,
}

/// The result of [`redeliver`].
///
/// ```json
/// {"redelivered": 3}
/// ```
#[value]
pub struct Redelivered {
    /// Number of deliveries that are sent again, at most 100 per call.
    pub redelivered: u32,
}

/// Sends one delivery again, or the oldest failed deliveries of a range of time, at most 100 per call. The id of an event
/// stays the same.
///
/// # Errors
/// `NOT_FOUND`: the organization has no such endpoint, or the endpoint has no such delivery.
#[mutation(admin, rights = own_endpoint(args.endpoint_id))]
pub fn redeliver(ctx: &mut MutationCtx, own: OwnEndpoint, args: Redeliver) -> Result<Redelivered> {
    let until = args.until.unwrap_or_else(|| ctx.now() + Duration::from_millis(1));
    let range = EventRange { since: args.since.unwrap_or(Millis(0)), until, state: DeliveryState::Failed };
    let mut webhooks = ctx.webhooks_mut(own.owner.0.as_deref());
    let found = match args.delivery_id {
        Some(id) if webhooks.view().delivery(id)?.endpoint == own.id => vec![id],
        Some(_) => return Err(Error::not_found("No webhook delivery has this id")),
        None => webhooks.view().in_range(own.id, range, REDELIVERED_MAX)?,
    };
    found.iter().try_for_each(|id| webhooks.redeliver(*id))?;
    Ok(Redelivered { redelivered: u32::try_from(found.len()).unwrap_or(u32::MAX) })
}
