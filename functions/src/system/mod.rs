//! Maintenance of an installation: the audit log and the deletion of expired rows.

use convoke::mutation;
use std::time::Duration;

use convoke::prelude::*;

pub mod audit;
pub mod expired;

use expired::Expired;

use crate::notes::thinning::{self, Thinned};

/// Pause between two batches for other mutations.
const BETWEEN_BATCHES: Duration = Duration::from_millis(50);

/// Deletes expired rows (`[retention]`) and thins the log of notes every night, in batches that take some milliseconds
/// of the writer.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
#[cron("17 3 * * *")]
pub fn retention(ctx: &mut MutationCtx) -> Result<()> {
    if batch(ctx)? == Expired::Some {
        ctx.schedule_once::<retention>("next", BETWEEN_BATCHES, NoArgs {})?;
    }
    Ok(())
}

/// Deletes one batch of one kind. Chains follow the log of their time.
fn batch(ctx: &mut MutationCtx) -> Result<Expired> {
    if expired::delete_batch(ctx)? == Expired::Some || thinning::thin(ctx)? == Thinned::Part {
        return Ok(Expired::Some);
    }
    expired::delete_chains(ctx)
}
