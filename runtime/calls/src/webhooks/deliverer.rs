//! The work of delivery: which deliveries are due, and one try of one delivery.

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::delivery::{self, Attempt, Delivery, DeliveryState, Outcome, Recorded};
use super::endpoint::{Endpoint, EndpointState};
use super::request::Sender;
use super::secret;
use super::settings::WebhookSettings;
use super::target;
use crate::rows::retry::until_written;
use crate::services::Services;
use crate::trace::{Failure, Span, SpanKind};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_store::database::SWEEP_ROWS;
use convoke_store::{Db, Doc, Nodes};

/// Time after which another node may send a delivery that a node has claimed: longer than a try.
const CLAIMED: Duration = Duration::from_secs(60);
/// Maximum tries of one [`Deliverer::run_due`].
const RUNS_MAX: usize = 100_000;

/// Delivers webhooks.
pub struct Deliverer {
    services: Services,
    settings: Arc<WebhookSettings>,
    sender: OnceLock<Sender>,
    /// Counters of tries.
    pub stats: Stats,
}

/// Counters of tries by their results, and of endpoints that were disabled after failures.
#[derive(Default)]
pub struct Stats {
    /// Tries that the endpoint accepted.
    pub delivered: AtomicU64,
    /// Failed tries that will be retried.
    pub again: AtomicU64,
    /// Deliveries whose tries have all failed.
    pub failed: AtomicU64,
    /// Endpoints that were disabled.
    pub disabled: AtomicU64,
}

/// The endpoints with due deliveries, and the time of the next delivery.
pub(super) struct Due {
    pub(super) endpoints: Vec<Id<Endpoint>>,
    pub(super) next: Option<Millis>,
}

/// The due deliveries of one endpoint.
pub(super) enum Turn {
    /// Deliveries to send to this endpoint.
    Send(Box<Doc<Endpoint>>, Vec<Doc<Delivery>>),
    /// The endpoint was removed.
    Removed,
    /// No delivery is due, or the endpoint is disabled.
    Nothing,
}

impl Deliverer {
    pub(crate) fn new(services: Services) -> Self {
        let settings = services.settings::<WebhookSettings>();
        Self { services, settings, sender: OnceLock::new(), stats: Stats::default() }
    }

    pub(super) fn services(&self) -> &Services {
        &self.services
    }

    pub(super) fn settings(&self) -> &WebhookSettings {
        &self.settings
    }

    /// Checks the URL of an endpoint before it is created, and the addresses of its name if the DNS knows it now. Each
    /// connection checks them again.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with the field `url`.
    pub async fn check_url(&self, url: &str) -> Result<()> {
        target::check(url, &self.settings, self.services.is_development()).await
    }

    /// Wakes the loop, after a change outside of functions.
    pub fn wake(&self) {
        self.services.deliveries_alarm().wake(self.services.clock().now());
    }

    fn sender(&self) -> Result<&Sender> {
        if let Some(sender) = self.sender.get() {
            return Ok(sender);
        }
        let made = Sender::new(self.settings.clone(), self.services.is_development())?;
        Ok(self.sender.get_or_init(|| made))
    }

    /// Returns the due work at `now`.
    pub(super) async fn look(&self, now: Millis) -> Result<Due> {
        self.services.database().read(move |db| look(db, now)).await
    }

    /// Returns the due deliveries of an endpoint, at most `rows_max`.
    pub(super) async fn turn(&self, endpoint: Id<Endpoint>, rows_max: usize) -> Result<Turn> {
        let now = self.services.clock().now();
        self.services.database().read(move |db| turn(db, endpoint, now, rows_max)).await
    }

    /// Removes the pending deliveries of an endpoint that was removed.
    pub(super) async fn drop_pending(&self, endpoint: Id<Endpoint>) -> Result<()> {
        self.services
            .database()
            .sweep("remove the deliveries of an endpoint", move |db| {
                if db.get(endpoint)?.is_some() {
                    return Ok(Vec::new());
                }
                let left = db.query(Delivery::by_turn).eq(endpoint).keys(SWEEP_ROWS)?;
                Ok(left.into_iter().map(|(id, _)| id).collect())
            })
            .await
    }

    /// Tries a delivery once and writes the result.
    ///
    /// # Errors
    /// A failure of the store before the request is sent.
    pub(super) async fn attempt(&self, endpoint: &Doc<Endpoint>, delivery: &Doc<Delivery>) -> Result<()> {
        let clock = self.services.clock();
        let now = clock.now();
        let mut due_at = delivery.due_at;
        if matches!(self.services.store().nodes(), Nodes::Many { .. }) {
            let (id, was, until) = (delivery.id(), due_at, now + CLAIMED);
            let claim = move |db: &mut _| delivery::claim(db, id, was, now, until);
            if !self.services.database().write("claim a webhook delivery", claim).await? {
                return Ok(());
            }
            due_at = until;
        }
        let keys = secret::signing(&self.services, endpoint.id(), endpoint, now)?;
        let span = self.begin_span(endpoint, delivery);
        let attempt = self.sender()?.send(&endpoint.url, &keys, delivery, &**clock).await;
        end_span(&span, &attempt);
        self.record(endpoint, delivery, due_at, attempt).await;
        Ok(())
    }

    /// Begins the span of a try, with a link to the span that caused the event. It has the host and not the URL, which may
    /// contain a secret.
    fn begin_span(&self, endpoint: &Endpoint, delivery: &Doc<Delivery>) -> Span {
        let name = || format!("webhook {}", delivery.event).into();
        let span = Span::scheduled(self.services.recorder(), SpanKind::Client, name, delivery.trace.as_deref());
        if span.is_recorded() {
            span.set("http.request.method", "POST");
            if let Ok(url) = reqwest::Url::parse(&endpoint.url) {
                span.set("server.address", url.host_str().unwrap_or_default());
                span.set("server.port", u64::from(url.port_or_known_default().unwrap_or_default()));
            }
            span.set("convoke.event", &*delivery.event);
            span.set("convoke.delivery", &*delivery.id().to_string());
            span.set("http.request.resend_count", u64::from(delivery.attempts));
        }
        span
    }

    /// Writes the result of a try, and retries until it is written. Until then, the delivery stays pending.
    async fn record(&self, endpoint: &Doc<Endpoint>, delivery: &Doc<Delivery>, due_at: Millis, attempt: Attempt) {
        let id = delivery.id();
        let attempt = Arc::new(attempt);
        let write = || {
            let (attempt, now) = (attempt.clone(), self.services.clock().now());
            let work = move |db: &mut _| delivery::record(db, id, due_at, &attempt, now);
            self.services.database().write("record a webhook delivery", work)
        };
        let recorded = until_written(write, |cause| {
            tracing::warn!(target: "convoke::webhook", delivery = %id, "cannot record the result of a webhook yet; retrying: {cause}");
        });
        self.report(endpoint, delivery, &attempt, recorded.await);
    }

    fn report(&self, endpoint: &Doc<Endpoint>, delivery: &Doc<Delivery>, attempt: &Attempt, recorded: Recorded) {
        let (id, to, event) = (delivery.id(), endpoint.id(), &*delivery.event);
        let reason = attempt.cause.as_deref().or(attempt.error.as_deref()).unwrap_or_default();
        match recorded.outcome {
            Outcome::Delivered => {
                self.stats.delivered.fetch_add(1, Relaxed);
                tracing::debug!(target: "convoke::webhook", delivery = %id, endpoint = %to, event, "delivered");
            }
            Outcome::Retry(next) => {
                self.stats.again.fetch_add(1, Relaxed);
                tracing::warn!(target: "convoke::webhook", delivery = %id, endpoint = %to, event, again_at = next.0, "{reason}");
            }
            Outcome::Failed => {
                self.stats.failed.fetch_add(1, Relaxed);
                tracing::error!(target: "convoke::webhook", delivery = %id, endpoint = %to, event, "not delivered: {reason}");
            }
            Outcome::Changed => {
                tracing::debug!(target: "convoke::webhook", delivery = %id, endpoint = %to, event, "changed while it was sent");
            }
        }
        if let Some(reason) = recorded.disabled {
            self.stats.disabled.fetch_add(1, Relaxed);
            tracing::error!(target: "convoke::webhook", endpoint = %to, url = endpoint.url, "the webhook endpoint is disabled: {reason}; enable it with `convoke webhooks enable {to}`");
        }
    }

    /// Sends all due deliveries one after the other, for a test with a manual clock. Returns the number of tries.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn run_due(&self) -> Result<usize> {
        let mut ran = 0;
        loop {
            let due = self.look(self.services.clock().now()).await?;
            let Some(endpoint) = due.endpoints.first() else { return Ok(ran) };
            match self.turn(*endpoint, 1).await? {
                Turn::Send(endpoint, deliveries) => {
                    for delivery in &deliveries {
                        self.attempt(&endpoint, delivery).await?;
                        ran += 1;
                    }
                }
                Turn::Removed => self.drop_pending(*endpoint).await?,
                Turn::Nothing => {}
            }
            if ran > RUNS_MAX {
                return Err(Error::internal("webhooks are due without end"));
            }
        }
    }

    /// Returns the time of the next try.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn next_due(&self) -> Result<Option<Millis>> {
        let now = self.services.clock().now();
        let due = self.look(now).await?;
        Ok(if due.endpoints.is_empty() { due.next } else { Some(now) })
    }
}

fn end_span(span: &Span, attempt: &Attempt) {
    if let Some(status) = attempt.status {
        span.set("http.response.status_code", u64::from(status));
    }
    let kind = || attempt.status.map_or("UNREACHABLE".into(), |status| status.to_string().into());
    span.end(attempt.error.as_ref().map(|error| Failure { kind: kind(), message: error.clone() }));
}

/// Reads the first pending delivery of each endpoint: the cost grows with the number of endpoints, not of deliveries.
fn look(db: &Db, now: Millis) -> Result<Due> {
    let mut due = Due { endpoints: Vec::new(), next: None };
    let mut last = None;
    loop {
        let after = (last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let first = db.query(Delivery::by_turn).range::<Id<Endpoint>>(after).keys(1)?.pop();
        let Some((_, (endpoint, (due_at, (asked_at, ()))))) = first else { return Ok(due) };
        last = Some(endpoint);
        match db.get(endpoint)? {
            Some(row) if row.state == EndpointState::Disabled => {}
            Some(_) if !delivery::is_due(due_at, asked_at, now) => {
                due.next = Some(due.next.map_or(due_at, |next| next.min(due_at)));
            }
            Some(_) | None => due.endpoints.push(endpoint),
        }
    }
}

fn turn(db: &Db, endpoint: Id<Endpoint>, now: Millis, rows_max: usize) -> Result<Turn> {
    let Some(found) = db.get(endpoint)? else { return Ok(Turn::Removed) };
    if found.state == EndpointState::Disabled {
        return Ok(Turn::Nothing);
    }
    let mut deliveries = db.query(Delivery::by_turn).eq(endpoint).take(rows_max)?;
    deliveries.retain(|row| row.state == DeliveryState::Pending && delivery::is_due(row.due_at, row.asked_at, now));
    Ok(if deliveries.is_empty() { Turn::Nothing } else { Turn::Send(Box::new(found), deliveries) })
}
