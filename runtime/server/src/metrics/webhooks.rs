//! Metrics of webhooks that the server sends.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use convoke_calls::runtime::Runtime;
use convoke_calls::webhooks::{Delivery, DeliveryState, Endpoint, EndpointState};

pub(super) async fn write(families: &mut Families, runtime: &Runtime) {
    let stats = &runtime.deliverer().stats;
    families.counters(
        "convoke_webhook_attempts_total",
        "Tries of webhooks: accepted by the endpoint (delivered), will be retried (again), or was the last try (failed).",
        [
            ([("result", "delivered")], stats.delivered.load(Relaxed)),
            ([("result", "again")], stats.again.load(Relaxed)),
            ([("result", "failed")], stats.failed.load(Relaxed)),
        ],
    );
    families.counter(
        "convoke_webhook_endpoints_disabled_total",
        "Webhook endpoints that were disabled after 410 or after 5 days of failures.",
        stats.disabled.load(Relaxed),
    );
    let counts = runtime.database().read(|db| {
        let of = |state| db.query(Endpoint::by_state).eq(state).count();
        let pending = db.query(Delivery::by_state).eq(DeliveryState::Pending).count()?;
        Ok((pending, of(EndpointState::Enabled)?, of(EndpointState::Disabled)?))
    });
    let Ok((pending, enabled, disabled)) = counts.await else { return };
    families.gauge("convoke_webhook_deliveries_pending", "Webhooks that wait for their next try.", pending as f64);
    families.gauges(
        "convoke_webhook_endpoints",
        "Webhook endpoints by state.",
        [([("state", "enabled")], enabled as f64), ([("state", "disabled")], disabled as f64)],
    );
}
