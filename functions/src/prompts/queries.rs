//! Queries of the caller's prompts.

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::{Limit, Meeting, Prompt, PromptFeedback, PromptKind, Score};

use super::repository;
use crate::access::{self, Membership};

/// Arguments of [`get_pre_call_prompts`] and [`get_in_call_prompts`].
#[args]
pub struct GetPrompts {
    pub meeting_id: Id<Meeting>,
    #[default(Limit::default())]
    pub limit: Limit<5, 20>,
}

/// A suggestion for the caller.
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
    /// The text, one or two sentences.
    pub content: String,
    /// Relevance.
    pub relevance: Score,
    /// Reasons; the kind of evidence comes first.
    pub tags: Vec<String>,
    pub created_at: Millis,
    /// Feedback of the caller, if any.
    pub feedback: Option<PromptFeedback>,
}

/// Returns the caller's prompts before a call without dismissed ones, best first.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
#[query(tool, rights = access::participant(args.meeting_id))]
pub fn get_pre_call_prompts(ctx: &QueryCtx, membership: Membership, args: GetPrompts) -> Result<Vec<ShownPrompt>> {
    own(ctx, &membership, &args, PromptKind::PreCall)
}

/// Returns the caller's prompts during a call without dismissed ones, best first.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
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
