//! Insights of a participant from a meeting: summary, action items, recommendations and links.
//!
//! `generator` and `provider` are pure, without context and database. Then follow the settings, `single_flight` for
//! exclusive work, `inputs` for the material and `repository` for insights in the database, `generation` to create
//! them, `scheduling` for the automatic start, and the functions.

use convoke::prelude::*;
use convoke::{Retry, action};

use crate::prompts;
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

/// Attempts of the insights of a concluded meeting, over more than an hour: many meetings may end at the same time.
const RETRY: Retry = Retry::exponential(13);

/// Follows a concluded meeting up: generates its insights, then the prompts for the next meetings of the same people.
/// `scheduling` starts it when the transcript is complete.
///
/// # Errors
/// Errors of [`after_meeting`] and [`prompts::before_meeting`] after their last attempt.
#[workflow]
pub async fn follow_up(ctx: &WorkflowCtx, args: OfMeeting) -> Result<()> {
    let meeting_id = args.meeting_id;
    ctx.run::<after_meeting>(OfMeeting { meeting_id }).retry(RETRY).await?;
    for meeting_id in ctx.run::<prompts::inputs::next_meetings>(prompts::OfMeeting { meeting_id }).await? {
        ctx.run::<prompts::before_meeting>(prompts::OfMeeting { meeting_id }).retry(prompts::RETRY).await?;
    }
    Ok(())
}

/// Generates missing and outdated insights of a concluded meeting.
///
/// # Errors
/// Errors of [`generation::generate`]; `UNAVAILABLE` if this node lost its turn.
#[action(internal)]
pub async fn after_meeting(ctx: &ActionCtx, args: OfMeeting) -> Result<()> {
    let generated = generation::generate(ctx, args.meeting_id, inputs::Demand::Current).await;
    match generated {
        Err(error) if error.code() == Code::Conflict => {
            Err(Error::unavailable("Another node may generate these insights").caused_by(error))
        }
        generated => generated.map(drop),
    }
}
