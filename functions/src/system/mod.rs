//! What keeps an installation in order: the audit and the end of what is not needed any more.

use convoke::mutation;
use std::time::Duration;

use convoke::prelude::*;

pub mod audit;
pub mod expired;

use expired::Expired;

use crate::notes::thinning::{self, Thinned};

/// How long the writer is left to others between two batches.
const BETWEEN_BATCHES: Duration = Duration::from_millis(50);

/// Deletes what has been kept long enough (`[retention]`) and thins the log of notes, every night, in batches that hold
/// the writer a few milliseconds each.
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

/// One batch of one kind. A chain goes after the log of its time was thinned.
fn batch(ctx: &mut MutationCtx) -> Result<Expired> {
    if expired::delete_batch(ctx)? == Expired::Some || thinning::thin(ctx)? == Thinned::Part {
        return Ok(Expired::Some);
    }
    expired::delete_chains(ctx)
}
