//! Reading and adding the prompts of a user in a meeting.

use std::collections::HashSet;

use convoke::prelude::*;
use convoke::{args, mutation, value};
use schema::{Meeting, Prompt, PromptFeedback, PromptKind, Score, User};

use super::generator::{self, PROMPTS_MAX};
use crate::meetings::participants;
use reading::text::sentences::normalized;

/// Returns all prompts of a user in a meeting by age, including dismissed ones.
///
/// # Errors
/// A failure of the store.
pub fn all(ctx: &impl Read, meeting: Id<Meeting>, user: Id<User>, kind: PromptKind) -> Result<Vec<Doc<Prompt>>> {
    let rows = ctx.db().query(Prompt::by_meeting_user_kind).eq(meeting).eq(user).eq(kind);
    // Each addition checks the limit inside its transaction, so there are never more.
    Ok(rows.take(PROMPTS_MAX)?)
}

/// Returns the visible prompts: without dismissed ones, most relevant first.
pub fn shown(mut prompts: Vec<Doc<Prompt>>) -> Vec<Doc<Prompt>> {
    prompts.retain(|prompt| prompt.feedback != Some(PromptFeedback::Dismissed));
    prompts.sort_by(|a, b| b.relevance.get().total_cmp(&a.relevance.get()).then(a.id().cmp(&b.id())));
    prompts
}

/// The effect on the user's existing prompts.
#[value]
pub enum Older {
    /// They stay.
    Stay,
    /// Those without feedback are deleted.
    Go,
}

impl Older {
    /// Returns the prompts that stay.
    pub fn staying(self, prompts: Vec<Doc<Prompt>>) -> Vec<Doc<Prompt>> {
        match self {
            Older::Stay => prompts,
            Older::Go => prompts.into_iter().filter(|prompt| prompt.feedback.is_some()).collect(),
        }
    }
}

/// Arguments of [`keep`]: prompts of one user.
#[args]
pub struct Keep {
    pub meeting_id: Id<Meeting>,
    pub user_id: Id<User>,
    pub kind: PromptKind,
    /// Most relevant first.
    pub found: Vec<FoundPrompt>,
    pub older: Older,
}

/// A generated prompt.
#[value]
pub struct FoundPrompt {
    pub content: String,
    pub relevance: Score,
    pub tags: Vec<String>,
}

impl From<generator::Prompt> for FoundPrompt {
    fn from(prompt: generator::Prompt) -> Self {
        Self { content: prompt.content, relevance: Score::clamped(prompt.relevance), tags: prompt.tags }
    }
}

/// The result of [`keep`].
#[value]
pub struct GeneratedPrompts {
    /// Number of new prompts.
    pub generated: i64,
    /// Ids of all visible prompts, most relevant first.
    pub prompt_ids: Vec<Id<Prompt>>,
}

/// Adds prompts of a user: at most ten in total, without duplicates, also with concurrent additions. Adds nothing for a
/// user who is no longer in the meeting.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
pub fn keep(ctx: &mut MutationCtx, args: Keep) -> Result<GeneratedPrompts> {
    let Keep { meeting_id, user_id, kind, found, older } = args;
    if participants::find(ctx, meeting_id, user_id)?.is_none() {
        return Ok(GeneratedPrompts { generated: 0, prompt_ids: Vec::new() });
    }
    let mut seen = HashSet::new();
    let before = all(ctx, meeting_id, user_id, kind)?;
    let staying = older.staying(before.clone());
    for prompt in &before {
        if staying.iter().any(|other| other.id() == prompt.id()) {
            seen.insert(normalized(&prompt.content));
        } else {
            ctx.db_mut().delete(prompt.id())?;
        }
    }
    let room = PROMPTS_MAX.saturating_sub(staying.len());
    let new: Vec<_> = found.into_iter().filter(|prompt| seen.insert(normalized(&prompt.content))).take(room).collect();
    let generated = i64::try_from(new.len()).unwrap_or(i64::MAX);
    for prompt in new {
        ctx.db_mut().insert(Prompt {
            meeting_id,
            user_id,
            kind,
            content: prompt.content,
            relevance: prompt.relevance,
            tags: prompt.tags,
            feedback: None,
            feedback_at: None,
        })?;
    }
    let prompts = shown(all(ctx, meeting_id, user_id, kind)?);
    Ok(GeneratedPrompts { generated, prompt_ids: prompts.iter().map(Doc::id).collect() })
}
