//! Queries of the caller's account.

use convoke::prelude::*;
use convoke::{query, value};
use schema::{EmailAddress, Profile, User};

use crate::profiles::record;
use crate::{access, names};

/// The caller's account.
///
/// ```json
/// {"_id": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "_creationTime": 1767225600000, "displayName": "Ada", "avatarUrl": "",
///  "email": "ada@example.com", "emailVerified": true, "roles": [], "isActive": true, "onboardingComplete": false}
/// ```
#[value(output)]
pub struct OwnAccount {
    #[value(rename = "_id")]
    pub id: Id<User>,
    #[value(rename = "_creationTime")]
    pub creation_time: Millis,
    /// Name of the profile, or the name claim, or the part of the e-mail before `@`, or "Unknown user".
    pub display_name: String,
    /// URL of a picture; `""` if there is none.
    pub avatar_url: String,
    pub email: Option<EmailAddress>,
    /// True if the identity provider has verified the address.
    pub email_verified: bool,
    /// Organization in the token.
    pub org_id: Option<String>,
    /// Roles in the token, such as `admin`.
    pub roles: Vec<String>,
    /// True if the account is active. Other calls of a deactivated account are rejected.
    pub is_active: bool,
    pub last_seen_at: Option<Millis>,
    /// True if `saveOnboarding` has succeeded.
    pub onboarding_complete: bool,
    pub onboarding_completed_at: Option<Millis>,
}

/// Returns the caller's account, from the claims and the profile.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[query(tool, rights = access::user)]
pub fn get_current_user(ctx: &QueryCtx, user: Doc<User>) -> Result<OwnAccount> {
    let profile = record::of(ctx, user.id())?;
    Ok(OwnAccount {
        id: user.id(),
        creation_time: user.creation_time(),
        display_name: names::display_name(&user, profile.as_deref()),
        avatar_url: names::avatar_url(ctx, &user)?,
        email: user.email.clone(),
        email_verified: user.email_verified,
        org_id: user.org_id.clone(),
        roles: user.roles.clone(),
        is_active: user.is_active,
        last_seen_at: user.last_seen_at,
        onboarding_complete: user.onboarding_complete,
        onboarding_completed_at: user.onboarding_completed_at,
    })
}

/// State of the caller's onboarding.
///
/// ```json
/// {"userId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "onboardingComplete": false, "profileExists": false}
/// ```
#[value(output)]
pub struct OnboardingState {
    pub user_id: Id<User>,
    /// True if `saveOnboarding` has succeeded.
    pub onboarding_complete: bool,
    pub completed_at: Option<Millis>,
    /// True if there is a profile, from onboarding or from `updateUserProfile`.
    pub profile_exists: bool,
    pub profile_id: Option<Id<Profile>>,
}

/// Returns the state of the caller's onboarding, from which a client chooses its first screen.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[query(rights = access::user)]
pub fn get_onboarding_state(ctx: &QueryCtx, user: Doc<User>) -> Result<OnboardingState> {
    let profile = record::of(ctx, user.id())?;
    Ok(OnboardingState {
        user_id: user.id(),
        onboarding_complete: user.onboarding_complete,
        completed_at: user.onboarding_completed_at,
        profile_exists: profile.is_some(),
        profile_id: profile.map(|profile| profile.id()),
    })
}
