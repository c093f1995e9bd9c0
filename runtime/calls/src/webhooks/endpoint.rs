//! The rows of endpoints.

use convoke_macros::{table, value};

use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_store::{Db, Doc};

/// The owner of the endpoints that the operator has created for the whole installation.
pub const OPERATOR: &str = "";

/// The state of an endpoint.
#[value(name = "WebhookEndpointState")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum EndpointState {
    /// Events are delivered.
    Enabled,
    /// No event becomes a delivery. Pending deliveries wait until the endpoint is enabled.
    Disabled,
}

/// A URL that receives events.
#[table(name = "_webhookEndpoints", prefix = "webhookendpoint")]
#[index(by_owner(owner))]
#[index(by_state(state))]
pub struct Endpoint {
    /// The application's name of the owner, such as the id of an organization; empty for the operator.
    pub owner: String,
    /// The URL.
    pub url: String,
    /// A text for people.
    pub description: String,
    /// Names of the events that it receives. Empty: all events.
    pub events: Vec<String>,
    /// The secrets that sign: the current one first, and after a rotation the former ones until they expire.
    pub secrets: Vec<EndpointSecret>,
    /// Number of secrets so far.
    pub secrets_made: u32,
    /// State.
    pub state: EndpointState,
    /// Reason why it is disabled.
    pub disabled_reason: Option<String>,
    /// Time at which it was disabled.
    pub disabled_at: Option<Millis>,
    /// Time of the first failure since the last success.
    pub failing_since: Option<Millis>,
}

/// A secret of an endpoint. The row has no secret data: the text is derived from the key of the installation.
#[value(name = "WebhookEndpointSecret")]
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointSecret {
    /// Number among the secrets of the endpoint.
    pub number: u32,
    /// Time at which it was made.
    pub made_at: Millis,
    /// Time from which it signs no more; `None` for the current secret.
    pub until: Option<Millis>,
}

impl Endpoint {
    pub(super) fn receives(&self, event: &str) -> bool {
        self.state == EndpointState::Enabled && (self.events.is_empty() || self.events.iter().any(|own| own == event))
    }

    /// Disables the endpoint.
    pub(super) fn disable(&mut self, reason: impl Into<String>, now: Millis) {
        self.state = EndpointState::Disabled;
        self.disabled_reason = Some(reason.into());
        self.disabled_at = Some(now);
    }

    /// Enables the endpoint, and forgets its failures.
    pub(super) fn enable(&mut self) {
        self.state = EndpointState::Enabled;
        self.disabled_reason = None;
        self.disabled_at = None;
        self.failing_since = None;
    }
}

/// Returns an endpoint. If `owner` is set, only an endpoint of this owner.
///
/// # Errors
/// `NOT_FOUND`.
pub(super) fn existing(db: &Db, id: Id<Endpoint>, owner: Option<&str>) -> Result<Doc<Endpoint>> {
    let found = db.get(id)?.filter(|endpoint| owner.is_none_or(|owner| endpoint.owner == owner));
    found.ok_or_else(|| Error::not_found("No webhook endpoint has this id"))
}
