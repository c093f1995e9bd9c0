//! Events of mutations.

use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use serde_json::value::RawValue;

use super::delivery::{Delivery, DeliveryState};
use super::endpoint::{Endpoint, OPERATOR};
use crate::context::{Context as _, MutationCtx};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id;

/// Maximum characters of the name of an event.
const NAME_CHARS_MAX: usize = 128;
/// Maximum bytes of a body. Receivers limit their requests too.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// The body of a delivery, by Standard Webhooks:
///
/// ```json
/// {"type": "order.paid", "timestamp": "2026-01-01T00:00:00.000Z", "data": {"order": "7"}}
/// ```
#[derive(Serialize)]
struct Payload<'a> {
    r#type: &'a str,
    timestamp: String,
    data: &'a RawValue,
}

impl MutationCtx {
    /// Delivers an event to each enabled endpoint of the operator that receives events of this name. The deliveries are
    /// rows in the transaction of this mutation: no commit, no delivery.
    ///
    /// The body is `{"type": name, "timestamp", "data": event}`. `name` has letters, digits, `.`, `_` and `-`, such as
    /// `order.paid`.
    ///
    /// # Errors
    /// `INTERNAL`: an invalid name, or an event above 256 KiB. A failure of the store.
    pub fn deliver(&mut self, name: &str, event: &impl Serialize) -> Result<()> {
        self.deliver_to(OPERATOR, name, event)
    }

    /// As [`MutationCtx::deliver`], to the endpoints of `owner` too. The owner is a name of the application, such as the
    /// id of an organization. The endpoints of other owners do not receive the event.
    ///
    /// # Errors
    /// As [`MutationCtx::deliver`].
    pub fn deliver_to(&mut self, owner: &str, name: &str, event: &impl Serialize) -> Result<()> {
        let now = self.now();
        require_name(name).map_err(Error::internal)?;
        let mut endpoints = self.db_mut().query(Endpoint::by_owner).eq(OPERATOR).take(usize::MAX)?;
        if owner != OPERATOR {
            endpoints.extend(self.db_mut().query(Endpoint::by_owner).eq(owner).take(usize::MAX)?);
        }
        endpoints.retain(|endpoint| endpoint.receives(name));
        if endpoints.is_empty() {
            return Ok(());
        }
        let body = body(name, event, now)?;
        let (services, trace) = (self.call().services.clone(), self.call().span.stored());
        let message = id::encode(services.database().ids().next(now));
        let message = format!("msg_{}", String::from_utf8_lossy(&message));
        for endpoint in endpoints {
            self.db_mut().insert(Delivery {
                endpoint: endpoint.id(),
                message: message.clone(),
                event: name.to_owned(),
                event_at: now,
                body: body.clone(),
                state: DeliveryState::Pending,
                due_at: now,
                asked_at: now,
                attempts: 0,
                tried_at: None,
                took_ms: None,
                status: None,
                answer: None,
                error: None,
                trace: trace.clone(),
            })?;
        }
        self.after_commit(move || services.deliveries_alarm().wake(now));
        Ok(())
    }
}

fn body(name: &str, event: &impl Serialize, now: Millis) -> Result<String> {
    let data = serde_json::value::to_raw_value(event).map_err(Error::internal)?;
    let time = DateTime::from_timestamp_millis(now.0).unwrap_or_default();
    let timestamp = time.to_rfc3339_opts(SecondsFormat::Millis, true);
    let body = serde_json::to_string(&Payload { r#type: name, timestamp, data: &data }).map_err(Error::internal)?;
    if body.len() > BODY_BYTES_MAX {
        let bytes = body.len();
        return Err(Error::internal(format!(
            "the event {name} must have at most {BODY_BYTES_MAX} bytes (got {bytes})"
        )));
    }
    Ok(body)
}

/// Checks the name of an event.
///
/// # Errors
/// The rule, as one sentence.
pub(super) fn require_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    match (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(fits) {
        true => Ok(()),
        false => Err(format!(
            "the name of an event is 1 to {NAME_CHARS_MAX} of letters, digits, `.`, `_` and `-` (got {name:?})"
        )),
    }
}
