//! Prompts: what a participant could say before a call, and when it falls silent.
//!
//! `generator` knows no context and no database: evidence in, prompts out. Then what lies in the database (`inputs`
//! reads the evidence, `repository` the prompts), when prompts are made by themselves (`scheduling`), and the functions.

use convoke::action;
use convoke::prelude::*;

pub use inputs::OfMeeting;

pub mod generator;
pub mod inputs;
pub mod repository;
pub mod scheduling;
pub mod generation;
pub mod queries;
pub mod mutations;

/// Makes the pre-call prompts of everybody in a scheduled meeting. Nothing happens in another one.
///
/// # Errors
/// A failure of the store.
#[action(internal, tries = 8)]
pub async fn before_meeting(ctx: &ActionCtx, args: OfMeeting) -> Result<()> {
    generation::for_everybody_before(ctx, args.meeting_id).await
}

/// Makes in-call prompts for everybody who is in an active meeting in which nobody spoke for half a minute.
///
/// # Errors
/// A failure of the store.
#[action(internal, tries = 3)]
pub async fn watch_lull(ctx: &ActionCtx, args: OfMeeting) -> Result<()> {
    generation::for_everybody_in(ctx, args.meeting_id).await
}
