//! Onboarding: the profile that it creates, and its completion.

use convoke::prelude::*;
use schema::{DisplayName, Profile, ShortText, User};

use crate::names;
use crate::profiles::record;

/// Returns the profile of a user. Creates one if there is none, with the name of the claims or else the job title.
///
/// # Errors
/// `INVALID_ARGUMENT`: the job title is the only possible name and has no visible character.
pub fn profile(ctx: &mut MutationCtx, user: &Doc<User>, job_title: &ShortText) -> Result<Doc<Profile>> {
    if let Some(profile) = record::of(ctx, user.id())? {
        return Ok(profile);
    }
    let name = match names::claimed_name(user) {
        Some(name) => name,
        None => name_of(job_title)?,
    };
    record::create(ctx, user.id(), name)
}

/// Marks the onboarding of a user as completed.
///
/// # Errors
/// A failure of the store.
pub fn complete(ctx: &mut MutationCtx, user: Doc<User>) -> Result<()> {
    let now = ctx.now();
    ctx.db_mut().patch_doc(user, |row| {
        row.onboarding_complete = true;
        row.onboarding_completed_at.get_or_insert(now);
        row.updated_at = now;
    })?;
    Ok(())
}

/// Converts a job title to a display name. Titles may be longer than names and may have no visible character.
fn name_of(job_title: &ShortText) -> Result<DisplayName> {
    let cut: String = job_title.as_str().chars().take(DisplayName::CHARS_MAX).collect();
    DisplayName::new(cut).map_err(|invalid| invalid.at("jobTitle"))
}
