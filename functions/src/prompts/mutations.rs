//! What happens to prompts.

use convoke::prelude::*;
use convoke::{args, mutation};
use schema::{Prompt, PromptFeedback};

use crate::{access, audit};

/// What [`record_prompt_feedback`] takes.
#[args]
pub struct RecordPromptFeedback {
    /// One of the caller's own.
    pub prompt_id: Id<Prompt>,
    /// A dismissed one is not shown again.
    pub feedback: PromptFeedback,
}

/// Records what the caller did with a prompt; the last feedback counts.
///
/// # Errors
/// `NOT_FOUND`: the caller has no such prompt.
#[mutation]
pub fn record_prompt_feedback(ctx: &mut MutationCtx, args: RecordPromptFeedback) -> Result<()> {
    let user = access::user(ctx)?;
    let prompt = ctx.db().get(args.prompt_id)?.filter(|prompt| prompt.user_id == user.id());
    let prompt = prompt.ok_or_else(|| Error::not_found("Prompt not found"))?;
    let now = ctx.now();
    ctx.db_mut().patch_doc(prompt, |row| {
        row.feedback = Some(args.feedback);
        row.feedback_at = Some(now);
    })?;
    audit::by_key(ctx, &user)
}
