//! What keeps an installation in order: the audit and the end of what is not needed any more.

use convoke::mutation;
use convoke::prelude::*;

pub mod audit;
pub mod expired;

/// Deletes what has been kept long enough (`[retention]`), every night, in batches that hold the writer a few
/// milliseconds each.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
#[cron("17 3 * * *")]
pub fn retention(ctx: &mut MutationCtx) -> Result<()> {
    expired::delete_batch(ctx)?;
    Ok(())
}
