//! What keeps an installation in order: the audit and the end of what is not needed any more.

use convoke::mutation;
use std::time::Duration;

use convoke::prelude::*;

pub mod audit;
pub mod expired;

/// How long the writer is left to others between two batches.
const BETWEEN_BATCHES: Duration = Duration::from_millis(50);

/// Deletes what has been kept long enough (`[retention]`), every night, in batches that hold the writer a few
/// milliseconds each.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
#[cron("17 3 * * *")]
pub fn retention(ctx: &mut MutationCtx) -> Result<()> {
    if expired::delete_batch(ctx)? == expired::Deleted::Part {
        ctx.schedule_once::<retention>("next", BETWEEN_BATCHES, NoArgs {})?;
    }
    Ok(())
}
