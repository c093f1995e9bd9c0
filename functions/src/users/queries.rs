//! What a user may read of their own account.

use convoke::prelude::*;
use convoke::{query, value};
use schema::{EmailAddress, Profile, User};

use crate::profiles::record;
use crate::{access, names};

/// The caller's own account.
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
    /// The profile's name, else the claim's, else the part of the e-mail before `@`, else "Unknown user".
    pub display_name: String,
    /// `""` when there is none.
    pub avatar_url: String,
    pub email: Option<EmailAddress>,
    /// Whether the identity provider says that the address is theirs.
    pub email_verified: bool,
    /// The organization that their token names.
    pub org_id: Option<String>,
    /// What their token says they are, such as `admin`.
    pub roles: Vec<String>,
    /// Whether the account is open; a closed one is refused everything else.
    pub is_active: bool,
    pub last_seen_at: Option<Millis>,
    /// Whether `saveOnboarding` succeeded once.
    pub onboarding_complete: bool,
    pub onboarding_completed_at: Option<Millis>,
}

/// The caller's own account, as their claims and their profile make it.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
#[query(rights = access::user)]
pub fn get_current_user(ctx: &QueryCtx, user: Doc<User>) -> Result<OwnAccount> {
    let profile = record::of(ctx, user.id())?;
    Ok(OwnAccount {
        id: user.id(),
        creation_time: user.creation_time(),
        display_name: names::display_name(&user, profile.as_deref()),
        avatar_url: names::avatar_url(&user),
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

/// How far the caller's onboarding is.
///
/// ```json
/// {"userId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "onboardingComplete": false, "profileExists": false}
/// ```
#[value(output)]
pub struct OnboardingState {
    pub user_id: Id<User>,
    /// Whether `saveOnboarding` succeeded once.
    pub onboarding_complete: bool,
    pub completed_at: Option<Millis>,
    /// Whether there is a profile, be it of the onboarding or of `updateUserProfile`.
    pub profile_exists: bool,
    pub profile_id: Option<Id<Profile>>,
}

/// The state of the caller's onboarding: what a client asks before it shows its first screen.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
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
