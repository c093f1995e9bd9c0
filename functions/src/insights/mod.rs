//! What a meeting meant to one of its participants: summary, action items, recommendations, links.
//!
//! `generator` and `provider` know no context and no database: material in, insights out. Then what an installation
//! decides (`settings`), who is at work (`single_flight`), what lies in the database (`inputs` reads the material, `repository` the
//! insights), how one becomes the other (`generation`), when by itself (`scheduling`), and the functions.

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

/// Makes the insights of a meeting that is over, of those who have none yet or older ones. Tried again for an hour or two:
/// where many meetings end at once, some find others at it.
///
/// # Errors
/// Those of [`generation::generate`].
#[action(internal, tries = 8)]
pub async fn after_meeting(ctx: &ActionCtx, args: OfMeeting) -> Result<()> {
    generation::generate(ctx, args.meeting_id, inputs::Demand::Current).await.map(drop)
}
