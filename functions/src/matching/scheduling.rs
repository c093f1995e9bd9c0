//! When the matcher runs by itself.
//!
//! Two jobs of it can be pending: one that wakes it a second after somebody came, and one that keeps it going while
//! anyone waits. Whatever ends the second, the minute's sweep begins it again.

use std::time::Duration;

use convoke::prelude::*;

use super::r#match;

/// How long after an entry: who comes at the same time is matched in the same run.
const WAKE: Duration = Duration::from_secs(1);
/// How often while anyone waits: what was no match becomes one as time passes and profiles change.
const CYCLE: Duration = Duration::from_secs(15);

/// The keys of the two jobs.
const WAKING: &str = "wake";
const CYCLING: &str = "cycle";

/// Wakes the matcher a second after the last of those who come one after the other, and keeps it going.
///
/// # Errors
/// A failure of the store.
pub fn wake(ctx: &mut MutationCtx) -> Result<()> {
    ctx.schedule_debounced::<r#match>(WAKING, WAKE, NoArgs {})?;
    keep_going(ctx)
}

/// Has the matcher run again while anyone waits. For anyone who knows that somebody does.
///
/// # Errors
/// A failure of the store.
pub fn keep_going(ctx: &mut MutationCtx) -> Result<()> {
    ctx.schedule_once::<r#match>(CYCLING, CYCLE, NoArgs {})?;
    Ok(())
}

/// As [`keep_going`], from the matcher itself.
///
/// # Errors
/// A failure of the store.
pub async fn go_on(ctx: &ActionCtx) -> Result<()> {
    ctx.schedule_once::<r#match>(CYCLING, CYCLE, NoArgs {}).await?;
    Ok(())
}
