//! What happens to prompts.

use convoke::prelude::*;
use convoke::{args, mutation};
use schema::{Prompt, PromptFeedback, User};

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
#[mutation(rights = own_prompt(args.prompt_id))]
pub fn record_prompt_feedback(ctx: &mut MutationCtx, own: PromptOfCaller, args: RecordPromptFeedback) -> Result<()> {
    let now = ctx.now();
    ctx.db_mut().patch_doc(own.prompt, |row| {
        row.feedback = Some(args.feedback);
        row.feedback_at = Some(now);
    })?;
    audit::by_key(ctx, &own.reader)
}

/// A prompt of the caller's.
pub struct PromptOfCaller {
    /// The caller.
    pub reader: Doc<User>,
    /// The row.
    pub prompt: Doc<Prompt>,
}

fn own_prompt(ctx: &impl Read, id: Id<Prompt>) -> Result<PromptOfCaller> {
    let reader = access::user(ctx)?;
    let prompt = ctx.db().get(id)?.filter(|prompt| prompt.user_id == reader.id());
    Ok(PromptOfCaller { prompt: prompt.ok_or_else(|| Error::not_found("Prompt not found"))?, reader })
}
