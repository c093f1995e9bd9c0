//! The rows of deliveries, and their state changes.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use convoke_macros::{table, value};

use super::endpoint::{Endpoint, EndpointState};
use convoke_core::clock::Millis;
use convoke_core::error::Result;
use convoke_core::id::Id;
use convoke_store::DbMut;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// Pauses after the first, second, … failed try, in seconds. After the last one, a delivery has failed.
const PAUSES_S: [u64; 9] = [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
/// Longest `Retry-After` that is honoured.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * HOUR);
/// Time of failures without a success after which an endpoint is disabled.
pub const FAILING_MAX: Duration = Duration::from_secs(5 * 24 * HOUR);
/// Difference of two clocks that is no change of the clock.
const CLOCKS_DIFFER_MAX: Duration = Duration::from_secs(60);
/// The status of an endpoint that wants no more events.
const GONE: u16 = 410;

/// The state of a delivery.
#[value(name = "WebhookDeliveryState")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// It waits for its next try.
    Pending,
    /// The endpoint has accepted it.
    Delivered,
    /// All its tries failed.
    Failed,
}

/// One event for one endpoint.
#[table(name = "_webhookDeliveries", prefix = "webhookdelivery")]
#[index(by_turn(endpoint, due_at, asked_at), when(state = "pending"))]
#[index(by_endpoint(endpoint, event_at))]
#[index(by_endpoint_state(endpoint, state, event_at))]
#[index(by_state(state, event_at))]
pub struct Delivery {
    /// The endpoint.
    pub endpoint: Id<Endpoint>,
    /// The id of the event: the header `webhook-id` of each try.
    pub message: String,
    /// Name of the event.
    pub event: String,
    /// Time of the event.
    pub event_at: Millis,
    /// The body: `{"type", "timestamp", "data"}` as JSON.
    pub body: String,
    /// State.
    pub state: DeliveryState,
    /// Time of the next try. While another node sends it, time from which any node may try again.
    pub due_at: Millis,
    /// Time at which `due_at` was set.
    pub asked_at: Millis,
    /// Number of tries that have ended.
    pub attempts: u32,
    /// Start of the last try.
    pub tried_at: Option<Millis>,
    /// Duration of the last try in milliseconds.
    pub took_ms: Option<u32>,
    /// Status of the last response.
    pub status: Option<u32>,
    /// First 1024 bytes of the last response's body.
    pub answer: Option<String>,
    /// Reason why the last try failed.
    pub error: Option<String>,
    /// The span that caused the event, as a `traceparent`, if its trace is recorded.
    pub trace: Option<String>,
}

/// Returns true if a delivery with these times is due. One that was asked for in the future is due, because the clock
/// was set back. The clock of another node may be slightly ahead.
pub(super) fn is_due(due_at: Millis, asked_at: Millis, now: Millis) -> bool {
    due_at <= now || asked_at > now + CLOCKS_DIFFER_MAX
}

/// The result of one try.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) tried_at: Millis,
    pub(super) took: Duration,
    pub(super) status: Option<u16>,
    pub(super) answer: Option<String>,
    /// The reason of a failure; `None` for a success.
    pub(super) error: Option<String>,
    /// Cause of the failure, for the log only: it may name addresses of this network.
    pub(super) cause: Option<String>,
    /// Time for which the endpoint asks to wait.
    pub(super) retry_after: Option<Duration>,
}

/// The result of a try for its delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The endpoint has accepted the event.
    Delivered,
    /// The next try is at this time.
    Retry(Millis),
    /// All tries failed.
    Failed,
    /// The delivery was removed or changed in the meantime.
    Changed,
}

/// A written result.
pub(super) struct Recorded {
    pub(super) outcome: Outcome,
    /// The reason why this try disabled the endpoint.
    pub(super) disabled: Option<String>,
}

/// Claims a delivery for one try, until `until`, if it is still pending for `due_at`. Another node that finds it claimed
/// does not send it.
pub(super) fn claim(db: &mut DbMut, id: Id<Delivery>, due_at: Millis, now: Millis, until: Millis) -> Result<bool> {
    let still = |row: &Delivery| row.state == DeliveryState::Pending && row.due_at == due_at;
    let Some(row) = db.get(id)?.filter(|row| still(row)) else { return Ok(false) };
    db.patch_doc(row, |row| {
        row.due_at = until;
        row.asked_at = now;
    })?;
    Ok(true)
}

/// Writes the result of a try of a delivery that was pending for `due_at`.
pub(super) fn record(
    db: &mut DbMut,
    id: Id<Delivery>,
    due_at: Millis,
    attempt: &Attempt,
    now: Millis,
) -> Result<Recorded> {
    let still = |row: &Delivery| row.state == DeliveryState::Pending && row.due_at == due_at;
    let Some(row) = db.get(id)?.filter(|row| still(row)) else {
        return Ok(Recorded { outcome: Outcome::Changed, disabled: None });
    };
    let attempts = row.attempts + 1;
    let is_gone = attempt.status == Some(GONE);
    let outcome = match (&attempt.error, pause(id, attempts)) {
        (None, _) => Outcome::Delivered,
        (Some(_), Some(pause)) if !is_gone => {
            Outcome::Retry(now + pause.max(attempt.retry_after.unwrap_or_default().min(RETRY_AFTER_MAX)))
        }
        (Some(_), _) => Outcome::Failed,
    };
    let endpoint = row.endpoint;
    db.patch_doc(row, |row| {
        row.attempts = attempts;
        row.tried_at = Some(attempt.tried_at);
        row.took_ms = Some(u32::try_from(attempt.took.as_millis()).unwrap_or(u32::MAX));
        row.status = attempt.status.map(u32::from);
        row.answer.clone_from(&attempt.answer);
        row.error.clone_from(&attempt.error);
        match outcome {
            Outcome::Retry(next) => (row.due_at, row.asked_at) = (next, now),
            Outcome::Delivered => row.state = DeliveryState::Delivered,
            Outcome::Failed | Outcome::Changed => row.state = DeliveryState::Failed,
        }
    })?;
    let disabled = record_health(db, endpoint, attempt.error.is_none(), is_gone, now)?;
    Ok(Recorded { outcome, disabled })
}

/// Records a success or a failure of an endpoint. Returns the reason if this disables it.
fn record_health(
    db: &mut DbMut,
    id: Id<Endpoint>,
    succeeded: bool,
    is_gone: bool,
    now: Millis,
) -> Result<Option<String>> {
    let Some(endpoint) = db.get(id)?.filter(|endpoint| endpoint.state == EndpointState::Enabled) else {
        return Ok(None);
    };
    if succeeded {
        if endpoint.failing_since.is_some() {
            db.patch_doc(endpoint, |endpoint| endpoint.failing_since = None)?;
        }
        return Ok(None);
    }
    // A failure in the future is one from before the clock was set back.
    let since = endpoint.failing_since.filter(|since| *since <= now).unwrap_or(now);
    let reason = match is_gone {
        true => Some("the endpoint responded with 410 Gone".to_owned()),
        false => (now.since(since) >= FAILING_MAX).then(|| "all tries of 5 days failed".to_owned()),
    };
    db.patch_doc(endpoint, |endpoint| {
        endpoint.failing_since = Some(since);
        if let Some(reason) = &reason {
            endpoint.disable(reason, now);
        }
    })?;
    Ok(reason)
}

/// Returns the pause after a number of failed tries, with up to a tenth of jitter, so that deliveries that failed
/// together do not retry together. The jitter depends on the id, so that a mutation that runs twice computes it twice.
fn pause(id: Id<Delivery>, attempts: u32) -> Option<Duration> {
    let plain = Duration::from_secs(*PAUSES_S.get(attempts.checked_sub(1)? as usize)?);
    let mut hasher = DefaultHasher::new();
    (id.bits(), attempts).hash(&mut hasher);
    let jitter = f64::from(u16::try_from(hasher.finish() % 1_000).unwrap_or(0)) / 10_000.0;
    Some(plain + plain.mul_f64(jitter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_follow_the_schedule_with_up_to_a_tenth_of_jitter() {
        for id in 0..50u128 {
            for (attempts, plain) in (1..).zip(PAUSES_S) {
                let (pause, plain) = (pause(Id::from_bits(id), attempts).unwrap(), Duration::from_secs(plain));
                assert!(pause >= plain && pause <= plain + plain / 10, "{attempts}: {pause:?}");
            }
            assert_eq!(pause(Id::from_bits(id), 10), None, "ten tries");
        }
        let pauses: std::collections::HashSet<_> = (0..50u128).map(|id| pause(Id::from_bits(id), 3)).collect();
        assert!(pauses.len() > 40);
    }

    #[test]
    fn delivery_requested_in_the_future_is_due() {
        let now = Millis(1_000_000);
        assert!(is_due(now, now - Duration::from_secs(5), now));
        assert!(!is_due(now + Duration::from_secs(1), now, now));
        assert!(!is_due(now + Duration::from_secs(9), now + Duration::from_secs(4), now), "another node");
        assert!(is_due(now + Duration::from_secs(99), now + Duration::from_secs(94), now));
    }
}
