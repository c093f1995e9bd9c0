//! What onboarding writes: the profile with its fields, the chosen interests, the flag.

use convoke::prelude::*;
use schema::{DisplayName, Profile, ShortText, User};

use super::mutations::{OnboardingSaved, SaveOnboarding};
use crate::interests::{chosen, resolve};
use crate::names;
use crate::profiles::record;

/// Applies an onboarding of `user` as a whole; without `linkedinUrl` the profile has none afterwards.
///
/// # Errors
/// `FAILED_PRECONDITION` past the quota of catalog rows of one user; `INVALID_ARGUMENT` if the job title is the only name
/// there is and shows nothing.
pub fn apply(ctx: &mut MutationCtx, user: Doc<User>, args: SaveOnboarding) -> Result<OnboardingSaved> {
    let interests = resolve::keys(ctx, user.id(), &args.interests)?;
    let profile_id = write_profile(ctx, &user, args)?;
    let interests_count = interests.len();
    chosen::replace(ctx, user.id(), interests)?;
    let (user_id, now) = (user.id(), ctx.now());
    ctx.db_mut().patch_doc(user, |row| {
        row.onboarding_complete = true;
        row.onboarding_completed_at.get_or_insert(now);
        row.updated_at = now;
    })?;
    info!("Onboarding of {user_id} with {interests_count} interests");
    Ok(OnboardingSaved { user_id, profile_id, interests_count, onboarding_completed: true })
}

fn write_profile(ctx: &mut MutationCtx, user: &Doc<User>, args: SaveOnboarding) -> Result<Id<Profile>> {
    let now = ctx.now();
    let profile = match record::of(ctx, user.id())? {
        Some(profile) => profile,
        None => {
            let name = match names::claimed_name(user) {
                Some(name) => name,
                None => name_of(&args.job_title)?,
            };
            record::create(ctx, user.id(), name)?
        }
    };
    let profile = ctx.db_mut().patch_doc(profile, |row| {
        row.age = Some(args.age);
        row.gender = Some(args.gender);
        row.field = Some(args.field);
        row.job_title = Some(args.job_title);
        row.company = Some(args.company);
        row.bio = Some(args.bio.into());
        row.linkedin_url = args.linkedin_url.and_then(schema::UrlOrEmpty::into_url);
        row.updated_at = now;
    })?;
    Ok(profile.id())
}

/// A job title as the name of somebody who told no other; titles may be longer than names, and need show nothing.
fn name_of(job_title: &ShortText) -> Result<DisplayName> {
    let cut: String = job_title.as_str().chars().take(DISPLAY_NAME_CHARS_MAX).collect();
    DisplayName::new(cut).map_err(|invalid| invalid.at("jobTitle"))
}

const DISPLAY_NAME_CHARS_MAX: usize = 100;
