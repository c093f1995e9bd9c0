//! Feedback on prompts.

use convoke::prelude::*;
use convoke::{args, mutation};
use schema::{Prompt, PromptFeedback, User};

use crate::{access, audit};

/// Arguments of [`record_prompt_feedback`].
#[args]
pub struct RecordPromptFeedback {
    /// A prompt of the caller.
    pub prompt_id: Id<Prompt>,
    /// A dismissed prompt is not shown again.
    pub feedback: PromptFeedback,
}

/// Records the caller's feedback on a prompt; the last one counts.
///
/// # Errors
/// `NOT_FOUND`: the caller has no such prompt.
#[mutation(tool, rights = own_prompt(args.prompt_id))]
pub fn record_prompt_feedback(ctx: &mut MutationCtx, own: PromptOfCaller, args: RecordPromptFeedback) -> Result<()> {
    let now = ctx.now();
    ctx.db_mut().patch_doc(own.prompt, |row| {
        row.feedback = Some(args.feedback);
        row.feedback_at = Some(now);
    })?;
    audit::by_key(ctx, &own.reader)
}

/// A prompt of the caller.
pub struct PromptOfCaller {
    /// The caller.
    pub reader: Doc<User>,
    /// The row of the prompt.
    pub prompt: Doc<Prompt>,
}

fn own_prompt(ctx: &impl Read, id: Id<Prompt>) -> Result<PromptOfCaller> {
    let reader = access::user(ctx)?;
    let prompt = ctx.db().get(id)?.filter(|prompt| prompt.user_id == reader.id());
    Ok(PromptOfCaller { prompt: prompt.ok_or_else(|| Error::not_found("Prompt not found"))?, reader })
}
