//! Finding and creating the profile of a user.

use convoke::prelude::*;
use schema::{DisplayName, Profile, User};

/// Returns the profile of a user, if there is one.
///
/// # Errors
/// A failure of the store.
pub fn of(ctx: &impl Read, user: Id<User>) -> Result<Option<Doc<Profile>>> {
    Ok(ctx.db().query(Profile::by_user).eq(user).unique()?)
}

/// Creates the profile of a user who has none, with only a name.
///
/// # Errors
/// A failure of the store.
pub fn create(ctx: &mut MutationCtx, user: Id<User>, display_name: DisplayName) -> Result<Doc<Profile>> {
    let row = Profile {
        user_id: user,
        display_name,
        bio: None,
        goals: None,
        languages: Vec::new(),
        experience: None,
        age: None,
        gender: None,
        field: None,
        job_title: None,
        company: None,
        linkedin_url: None,
        updated_at: ctx.now(),
    };
    Ok(ctx.db_mut().insert_unique(Profile::by_user, row)?.into_doc())
}
