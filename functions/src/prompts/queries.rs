//! Reading one's prompts.

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::{Limit, Meeting, Prompt, PromptFeedback, PromptKind, Score};

use super::repository;
use crate::access::{self, Membership};

/// What [`get_pre_call_prompts`] and [`get_in_call_prompts`] take.
#[args]
pub struct GetPrompts {
    pub meeting_id: Id<Meeting>,
    #[default(Limit::default())]
    pub limit: Limit<5, 20>,
}

/// Something that the caller could say.
///
/// ```json
/// {"_id": "prompt_01jgfjs5r2a4n8w7k0q3d6m9vt", "content": "What should be settled at the end of “Planning”?",
///  "relevance": 0.5,
///  "tags": ["title"], "createdAt": 1767225600000}
/// ```
#[value(output)]
pub struct ShownPrompt {
    #[value(rename = "_id")]
    pub id: Id<Prompt>,
    /// The prompt itself, one or two sentences.
    pub content: String,
    /// How much it suggests itself.
    pub relevance: Score,
    /// Why it was made, the kind of evidence first.
    pub tags: Vec<String>,
    pub created_at: Millis,
    /// What the caller did with it, if anything.
    pub feedback: Option<PromptFeedback>,
}

/// The caller's prompts before a call, best first; dismissed ones are left out.
///
/// # Errors
/// `FORBIDDEN`: the caller has no place in the meeting.
#[query(rights = access::participant(args.meeting_id))]
pub fn get_pre_call_prompts(ctx: &QueryCtx, membership: Membership, args: GetPrompts) -> Result<Vec<ShownPrompt>> {
    own(ctx, &membership, &args, PromptKind::PreCall)
}

/// The caller's prompts during a call, best first; dismissed ones are left out.
///
/// # Errors
/// `FORBIDDEN`: the caller has no place in the meeting.
#[query(rights = access::participant(args.meeting_id))]
pub fn get_in_call_prompts(ctx: &QueryCtx, membership: Membership, args: GetPrompts) -> Result<Vec<ShownPrompt>> {
    own(ctx, &membership, &args, PromptKind::InCall)
}

fn own(ctx: &QueryCtx, membership: &Membership, args: &GetPrompts, kind: PromptKind) -> Result<Vec<ShownPrompt>> {
    let prompts = repository::shown(repository::all(ctx, membership.meeting.id(), membership.user.id(), kind)?);
    Ok(prompts.into_iter().take(args.limit.get()).map(shown).collect())
}

fn shown(row: Doc<Prompt>) -> ShownPrompt {
    let (id, created_at) = (row.id(), row.creation_time());
    let row = row.into_inner();
    ShownPrompt {
        id,
        content: row.content,
        relevance: row.relevance,
        tags: row.tags,
        created_at,
        feedback: row.feedback,
    }
}
