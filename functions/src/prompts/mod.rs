//! Prompts: suggestions for a participant before a call, and during a silence in it.
//!
//! `generator` is pure, without context and database: evidence in, prompts out. `inputs` reads the evidence,
//! `repository` reads and writes prompts, and `scheduling` generates them automatically. The other modules are
//! functions.

use convoke::prelude::*;
use convoke::{Retry, action};

pub use inputs::OfMeeting;

pub mod generator;
pub mod inputs;
pub mod repository;
pub mod scheduling;
pub mod generation;
pub mod queries;
pub mod mutations;

/// Attempts of pre-call prompts, over more than an hour: many meetings may be created at the same time.
pub const RETRY: Retry = Retry::exponential(13);
/// Attempts of in-call prompts, which are useful for a short time only.
pub const LULL_RETRY: Retry = Retry::exponential(3);

/// Generates the pre-call prompts of all participants of a scheduled meeting. Does nothing for a meeting in another
/// state.
///
/// # Errors
/// A failure of the store.
#[action(internal)]
pub async fn before_meeting(ctx: &ActionCtx, args: OfMeeting) -> Result<()> {
    generation::for_everybody_before(ctx, args.meeting_id).await
}

/// Generates in-call prompts for all participants of an active meeting with half a minute of silence.
///
/// # Errors
/// A failure of the store.
#[action(internal)]
pub async fn watch_lull(ctx: &ActionCtx, args: OfMeeting) -> Result<()> {
    generation::for_everybody_in(ctx, args.meeting_id).await
}
