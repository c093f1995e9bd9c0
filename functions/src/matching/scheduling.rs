//! Waking the matcher. How often it runs is `pace`'s.

use convoke::prelude::*;

use super::r#match;
use super::pace::{CYCLE, CYCLING, WAKE, WAKING};

/// Wakes the matcher a second after the last of those who come one after the other, and keeps it going.
///
/// # Errors
/// A failure of the store.
pub fn wake(ctx: &mut MutationCtx) -> Result<()> {
    ctx.schedule_debounced::<r#match>(WAKING, WAKE, NoArgs {})?;
    ctx.schedule_once::<r#match>(CYCLING, CYCLE, NoArgs {})?;
    Ok(())
}
