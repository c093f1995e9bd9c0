//! Waking the matcher; `pace` defines its intervals.

use convoke::prelude::*;

use super::r#match;
use super::pace::{CYCLE, CYCLING, WAKE, WAKING};

/// Wakes the matcher a second after the last of several successive entries, and keeps it repeating.
///
/// # Errors
/// A failure of the store.
pub fn wake(ctx: &mut MutationCtx) -> Result<()> {
    ctx.schedule_debounced::<r#match>(WAKING, WAKE, NoArgs {})?;
    ctx.schedule_once::<r#match>(CYCLING, CYCLE, NoArgs {})?;
    Ok(())
}
