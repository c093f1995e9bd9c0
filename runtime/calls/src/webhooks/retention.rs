//! The retention of deliveries: by age and by number.

use super::deliverer::Deliverer;
use super::delivery::{Delivery, DeliveryState};
use convoke_core::error::Result;
use convoke_store::database::SWEEP_ROWS;
use convoke_store::{Db, Doc};

/// The states in the order of removal: pending deliveries go last.
const STATES: [DeliveryState; 3] = [DeliveryState::Delivered, DeliveryState::Failed, DeliveryState::Pending];

impl Deliverer {
    /// Removes deliveries that are too old or too many.
    ///
    /// # Errors
    /// A failure of the store; the next run continues.
    pub async fn remove_expired(&self) -> Result<()> {
        let end = self.services().clock().now() - self.settings().life();
        let database = self.services().database();
        for state in STATES {
            database
                .sweep("remove old webhook deliveries", move |db| {
                    let old = db.query(Delivery::by_state).eq(state).range(..end).take(SWEEP_ROWS)?;
                    Ok(old.iter().map(Doc::id).collect())
                })
                .await?;
        }
        let rows_max = self.settings().deliveries_max;
        let excess = database.read(move |db| Ok(count(db)?.saturating_sub(rows_max))).await?;
        if excess == 0 {
            return Ok(());
        }
        tracing::warn!(
            target: "convoke::webhook",
            removed = excess,
            "more webhook deliveries than webhooks.deliveries_max; the oldest ones are removed"
        );
        database
            .sweep("remove webhook deliveries above their number", move |db| {
                let excess = usize::try_from(count(db)?.saturating_sub(rows_max)).unwrap_or(usize::MAX);
                let mut found = Vec::new();
                for state in STATES {
                    let rows_max = excess.min(SWEEP_ROWS) - found.len();
                    let oldest = db.query(Delivery::by_state).eq(state).keys(rows_max)?;
                    found.extend(oldest.into_iter().map(|(id, _)| id));
                }
                Ok(found)
            })
            .await
    }
}

fn count(db: &Db) -> Result<u64> {
    STATES.iter().map(|state| Ok(db.query(Delivery::by_state).eq(*state).count()?)).sum()
}
