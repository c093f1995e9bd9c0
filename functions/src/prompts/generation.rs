//! Generation of prompts: for the caller, and for all participants by schedule.

use convoke::prelude::*;
use convoke::{action, args};
use schema::{Meeting, PromptKind, User};

use super::generator::{self, EarlierMeeting, Guest, InCall, PreCall};
use super::inputs::{self, Before, During, OfMeeting, OfReader};
use super::repository::{self, FoundPrompt, GeneratedPrompts, Keep, Older};
use crate::access::{self, Membership};
use crate::generation::{self, Pass};
use crate::meetings::state;
use reading::material::{Chunk, Person};

/// Arguments of [`generate_prompts`].
#[args]
pub struct GeneratePrompts {
    pub meeting_id: Id<Meeting>,
    pub kind: PromptKind,
    /// True to replace prompts without feedback. Otherwise all stay, and only new ones are added.
    #[default(false)]
    pub force_regenerate: bool,
}

/// Generates prompts for the caller. `generated` is the number of new ones; `promptIds` are all current ones without
/// dismissed ones, best first.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
/// - `FAILED_PRECONDITION`: "Meeting is not currently active" (it is over or called off; or in-call prompts are wanted
///   and it has not begun).
/// - `UNAVAILABLE`: others, of this meeting or of as many as generate at once, have been at it for 25 s.
#[action(rate = "generation", rights = access::participant(args.meeting_id))]
pub async fn generate_prompts(
    ctx: &ActionCtx,
    membership: Membership,
    args: GeneratePrompts,
) -> Result<GeneratedPrompts> {
    let GeneratePrompts { meeting_id, kind, force_regenerate } = args;
    match kind {
        PromptKind::PreCall => state::require_open(&membership.meeting)?,
        PromptKind::InCall => state::require_active(&membership.meeting)?,
    }
    let user_id = membership.user.id();
    let older = if force_regenerate { Older::Go } else { Older::Stay };
    let found = match kind {
        PromptKind::PreCall => before_call(ctx, meeting_id, user_id, older).await?,
        PromptKind::InCall => {
            let pass = pass(ctx, meeting_id).await?;
            match ctx.run::<inputs::during>(OfMeeting { meeting_id }).await? {
                Some(evidence) => {
                    let reader = OfReader { meeting_id, user_id, kind, older };
                    let existing = ctx.run::<inputs::existing>(reader).await?;
                    generation::work(ctx, pass, move || from_talk(evidence, &existing)).await?
                }
                None => Vec::new(),
            }
        }
    };
    ctx.run::<repository::keep>(Keep { meeting_id, user_id, kind, found, older }).await
}

/// Generates the pre-call prompts of all participants of a scheduled meeting.
///
/// # Errors
/// `UNAVAILABLE`: other generators run for 25 s; a failure of the store.
pub async fn for_everybody_before(ctx: &ActionCtx, meeting_id: Id<Meeting>) -> Result<()> {
    let (kind, older) = (PromptKind::PreCall, Older::Stay);
    for user_id in ctx.run::<inputs::expected>(OfMeeting { meeting_id }).await? {
        let found = before_call(ctx, meeting_id, user_id, older).await?;
        ctx.run::<repository::keep>(Keep { meeting_id, user_id, kind, found, older }).await?;
    }
    Ok(())
}

/// Generates in-call prompts for all present participants if there was silence for half a minute. The evidence is the
/// same for all participants; the existing prompts are not.
///
/// # Errors
/// `UNAVAILABLE`: other generators run for 25 s; a failure of the store.
pub async fn for_everybody_in(ctx: &ActionCtx, meeting_id: Id<Meeting>) -> Result<()> {
    let pass = pass(ctx, meeting_id).await?;
    let Some(evidence) = ctx.run::<inputs::during>(OfMeeting { meeting_id }).await? else { return Ok(()) };
    if !evidence.is_lull {
        return Ok(());
    }
    let (kind, older) = (PromptKind::InCall, Older::Stay);
    let readers: Vec<Id<User>> = evidence.people.iter().map(|person| person.id).collect();
    let found = generation::work(ctx, pass, move || from_talk(evidence, &[])).await?;
    for user_id in readers {
        ctx.run::<repository::keep>(Keep { meeting_id, user_id, kind, found: found.clone(), older }).await?;
    }
    Ok(())
}

async fn before_call(
    ctx: &ActionCtx,
    meeting_id: Id<Meeting>,
    user_id: Id<User>,
    older: Older,
) -> Result<Vec<FoundPrompt>> {
    let reader = OfReader { meeting_id, user_id, kind: PromptKind::PreCall, older };
    let pass = pass(ctx, meeting_id).await?;
    let Some(evidence) = ctx.run::<inputs::before>(reader).await? else { return Ok(Vec::new()) };
    generation::work(ctx, pass, move || from_invitation(evidence)).await
}

async fn pass(ctx: &ActionCtx, meeting_id: Id<Meeting>) -> Result<Pass> {
    generation::patiently(ctx, generation::enter(ctx, meeting_id)).await
}

fn from_invitation(evidence: Before) -> Vec<FoundPrompt> {
    let reader = Guest::from(evidence.reader);
    let others: Vec<Guest> = evidence.others.into_iter().map(Guest::from).collect();
    let earlier: Vec<EarlierMeeting> = evidence.earlier.into_iter().map(EarlierMeeting::from).collect();
    let found = generator::pre_call(&PreCall {
        reader: &reader,
        others: &others,
        title: &evidence.title,
        description: &evidence.description,
        earlier: &earlier,
        existing: &evidence.existing,
    });
    found.into_iter().map(FoundPrompt::from).collect()
}

fn from_talk(evidence: During, existing: &[String]) -> Vec<FoundPrompt> {
    let chunks: Vec<Chunk> = evidence.said.into_iter().map(Chunk::from).collect();
    let people = evidence.people.into_iter().map(|person| Person {
        id: person.id.to_string(),
        name: person.display_name,
        interests: Vec::new(),
    });
    let people: Vec<Person> = people.collect();
    let found = generator::in_call(&InCall { chunks: &chunks, people: &people, existing });
    found.into_iter().map(FoundPrompt::from).collect()
}
