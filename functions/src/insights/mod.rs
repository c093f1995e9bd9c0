//! Insights of a participant from a meeting: summary, action items, recommendations and links.
//!
//! `generator` and `provider` are pure, without context and database. Then follow the settings, `single_flight` for
//! exclusive work, `inputs` for the material and `repository` for insights in the database, `generation` to create
//! them, `scheduling` for the automatic start, and the functions.

use convoke::action;
use convoke::prelude::*;

use inputs::OfMeeting;

pub mod generator;
pub mod provider;
pub mod settings;
pub mod single_flight;
pub mod inputs;
pub mod repository;
pub mod generation;
pub mod scheduling;
pub mod index;
pub mod queries;
pub mod mutations;

/// Generates missing and outdated insights of a concluded meeting. Retries for an hour or two, since many meetings may
/// end at the same time.
///
/// # Errors
/// Errors of [`generation::generate`].
#[action(internal, tries = 8)]
pub async fn after_meeting(ctx: &ActionCtx, args: OfMeeting) -> Result<()> {
    generation::generate(ctx, args.meeting_id, inputs::Demand::Current).await.map(drop)
}
