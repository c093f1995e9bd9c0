//! The prompts that a user has of a meeting: reading them, and adding to them.

use std::collections::HashSet;

use convoke::prelude::*;
use convoke::{args, mutation, value};
use schema::{Meeting, Prompt, PromptFeedback, PromptKind, Score, User};

use super::generator::{self, PROMPTS_MAX};
use crate::meetings::participants;
use reading::text::sentences::normalized;

/// All prompts of a user in a meeting, dismissed ones too, by age.
///
/// # Errors
/// A failure of the store.
pub fn all(ctx: &impl Read, meeting: Id<Meeting>, user: Id<User>, kind: PromptKind) -> Result<Vec<Doc<Prompt>>> {
    let rows = ctx.db().query(Prompt::by_meeting_user_kind).eq(meeting).eq(user).eq(kind);
    // Concurrent additions are checked against the bound inside their transactions: there are never more.
    Ok(rows.take(PROMPTS_MAX)?)
}

/// The prompts that are shown: without those that the user dismissed, the most relevant first.
pub fn shown(mut prompts: Vec<Doc<Prompt>>) -> Vec<Doc<Prompt>> {
    prompts.retain(|prompt| prompt.feedback != Some(PromptFeedback::Dismissed));
    prompts.sort_by(|a, b| b.relevance.get().total_cmp(&a.relevance.get()).then(a.id().cmp(&b.id())));
    prompts
}

/// What happens to the prompts that the user has already.
#[value]
pub enum Older {
    /// They stay.
    Stay,
    /// Those that they said nothing about go.
    Go,
}

impl Older {
    /// Those that stay.
    pub fn staying(self, prompts: Vec<Doc<Prompt>>) -> Vec<Doc<Prompt>> {
        match self {
            Older::Stay => prompts,
            Older::Go => prompts.into_iter().filter(|prompt| prompt.feedback.is_some()).collect(),
        }
    }
}

/// What [`keep`] takes: prompts of one user.
#[args]
pub struct Keep {
    pub meeting_id: Id<Meeting>,
    pub user_id: Id<User>,
    pub kind: PromptKind,
    /// The most relevant first.
    pub found: Vec<FoundPrompt>,
    pub older: Older,
}

/// A prompt as it was made.
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

/// What [`keep`] returns.
#[value]
pub struct Kept {
    /// How many are new.
    pub generated: i64,
    /// All that are shown now, the most relevant first.
    pub prompt_ids: Vec<Id<Prompt>>,
}

/// Adds prompts to those of a user: ten at most, none twice, also when several add at the same time. Nothing is added for
/// somebody who has no place in the meeting any more.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
pub fn keep(ctx: &mut MutationCtx, args: Keep) -> Result<Kept> {
    let Keep { meeting_id, user_id, kind, found, older } = args;
    if participants::find(ctx, meeting_id, user_id)?.is_none() {
        return Ok(Kept { generated: 0, prompt_ids: Vec::new() });
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
    Ok(Kept { generated, prompt_ids: prompts.iter().map(Doc::id).collect() })
}
