//! Mutations of a user's own account and profile, and of admins on users.

use convoke::prelude::*;
use convoke::{StorageId, Upload, args, mutation, value};
use schema::{
    Age, Bio, Details, DisplayName, Experience, Gender, Goals, IdempotencyKey, InterestRef, LanguageName, List,
    OnboardingBio, Profile, ShortText, UrlOrEmpty, User, UserRef, distinct_languages,
};

use super::{accounts, calendar, onboarding};
use crate::access::{self, Administered};
use crate::interests::resolve::SentInterest;
use crate::interests::{chosen, resolve};
use crate::profiles::record;
use crate::{audit, names};

/// Arguments of [`save_onboarding`].
///
/// ```json
/// {"age": 36, "gender": "female", "field": "Mathematics", "jobTitle": "Analyst", "company": "Engines Ltd",
///  "bio": "I like engines.", "linkedinUrl": "https://www.linkedin.com/in/ada",
///  "interests": [{"id": "machine-learning", "name": "Machine Learning", "category": "industry"}],
///  "idempotencyKey": "5f0c8a52-1f0e-4c0a-9a51-6f1e2b7d3c44"}
/// ```
#[args]
pub struct SaveOnboarding {
    /// Age in years.
    pub age: Age,
    pub gender: Gender,
    /// Field of work or study.
    pub field: ShortText,
    pub job_title: ShortText,
    pub company: ShortText,
    pub bio: OnboardingBio,
    /// Interests: those of the catalog by key; others are added to it.
    pub interests: List<SentInterest, 0, 50>,
    /// Absent or `""`: none.
    pub linkedin_url: Option<UrlOrEmpty>,
    /// A retry with the same key and arguments changes nothing and returns the first result.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// The result of [`save_onboarding`].
///
/// ```json
/// {"userId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "profileId": "profile_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "interestsCount": 2, "onboardingCompleted": true}
/// ```
#[value]
pub struct OnboardingSaved {
    /// Id of the caller, which other functions take as `userId`.
    pub user_id: Id<User>,
    pub profile_id: Id<Profile>,
    /// Number of distinct interests that the user has now.
    pub interests_count: usize,
    /// Always true: this call completes the onboarding.
    pub onboarding_completed: bool,
}

/// Stores the caller's profile and interests and completes the onboarding, in one transaction.
///
/// Creates or updates the profile with these fields, sets the interests to exactly those sent (unknown ones are added
/// to the catalog), and marks the onboarding as completed.
///
/// # Errors
/// - `FAILED_PRECONDITION`: the caller would have made more than 100 interests of their own.
/// - `INVALID_ARGUMENT`: "Display name cannot be empty" if neither the claims nor `jobTitle` have a visible name for the
///   new profile.
/// - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
#[mutation(rights = access::user)]
pub fn save_onboarding(ctx: &mut MutationCtx, user: Doc<User>, args: SaveOnboarding) -> Result<OnboardingSaved> {
    let key = args.idempotency_key.clone();
    ctx.once(key.as_ref().map(IdempotencyKey::as_str), &args.clone(), |ctx| {
        audit::by_key(ctx, &user)?;
        onboard(ctx, user, args)
    })
}

/// Applies an onboarding of `user`. Without `linkedinUrl`, the profile has none afterwards.
fn onboard(ctx: &mut MutationCtx, user: Doc<User>, args: SaveOnboarding) -> Result<OnboardingSaved> {
    let interests = resolve::keys(ctx, user.id(), &args.interests)?;
    let profile = onboarding::profile(ctx, &user, &args.job_title)?;
    let now = ctx.now();
    let profile = ctx.db_mut().patch_doc(profile, |row| {
        row.age = Some(args.age);
        row.gender = Some(args.gender);
        row.field = Some(args.field);
        row.job_title = Some(args.job_title);
        row.company = Some(args.company);
        row.bio = Some(args.bio.into());
        row.linkedin_url = args.linkedin_url.and_then(UrlOrEmpty::into_url);
        row.updated_at = now;
    })?;
    let (user_id, interests_count) = (user.id(), interests.len());
    chosen::replace(ctx, user_id, interests)?;
    onboarding::complete(ctx, user)?;
    info!("Onboarding of {user_id} with {interests_count} interests");
    Ok(OnboardingSaved { user_id, profile_id: profile.id(), interests_count, onboarding_completed: true })
}

/// Arguments of [`update_user_profile`]. Absent fields do not change.
#[args]
pub struct UpdateUserProfile {
    /// Owner of the profile: an id, or the `sub` of a token of the caller's issuer.
    pub user_id: UserRef,
    pub display_name: Option<DisplayName>,
    /// `""` deletes it.
    pub bio: Option<Bio>,
    /// `""` deletes them.
    pub goals: Option<Goals>,
    /// Names that differ only in case count once.
    pub languages: Option<List<LanguageName, 0, 20>>,
    /// `""` deletes it.
    pub experience: Option<Experience>,
}

/// Changes the given fields of a profile, and creates the profile if there is none. Returns the id of the profile.
///
/// # Errors
/// - `FORBIDDEN`: the caller neither owns the profile nor is an admin of its owner's organization.
/// - `INVALID_ARGUMENT`: "Display name cannot be empty", "Bio cannot exceed 1000 characters"; "Display name is required
///   for new profiles" if neither the arguments nor the claims have one.
#[mutation(rights = access::profile_owner(&args.user_id))]
pub fn update_user_profile(
    ctx: &mut MutationCtx,
    owned: access::Owned,
    args: UpdateUserProfile,
) -> Result<Id<Profile>> {
    let owner = &owned.owner;
    let profile = match record::of(ctx, owner.id())? {
        Some(profile) => profile,
        None => {
            let name = args.display_name.clone().or_else(|| names::claimed_name(owner));
            let missing = || Error::invalid_argument("displayName", "Display name is required for new profiles");
            record::create(ctx, owner.id(), name.ok_or_else(missing)?)?
        }
    };
    let now = ctx.now();
    let profile = ctx.db_mut().patch_doc(profile, |row| {
        if let Some(name) = args.display_name {
            row.display_name = name;
        }
        if let Some(bio) = args.bio {
            row.bio = Some(bio).filter(|bio| !bio.as_str().is_empty());
        }
        if let Some(goals) = args.goals {
            row.goals = Some(goals).filter(|goals| !goals.as_str().is_empty());
        }
        if let Some(languages) = args.languages {
            row.languages = distinct_languages(languages.into_vec());
        }
        if let Some(experience) = args.experience {
            row.experience = Some(experience).filter(|experience| !experience.as_str().is_empty());
        }
        row.updated_at = now;
    })?;
    if owned.is_own {
        audit::by_key(ctx, owner)?;
    } else {
        audit::user(ctx, &owned.actor, "profile.updated", owner, Details::new())?;
    }
    info!("Profile of {} changed", owner.id());
    Ok(profile.id())
}

/// Arguments of [`update_user_interests`].
#[args]
pub struct UpdateUserInterests {
    /// The user: an id, or the `sub` of a token of the caller's issuer.
    pub user_id: UserRef,
    /// Keys of the catalog. Duplicates count once, and an empty list removes all interests.
    pub interests: List<InterestRef, 0, 100>,
}

/// Replaces all interests of a user.
///
/// # Errors
/// - `FORBIDDEN`: the caller is neither the user nor an admin of their organization.
/// - `INVALID_ARGUMENT`: "Invalid interests: x, y", and `invalid` lists those that the catalog does not have.
#[mutation(rights = access::profile_owner(&args.user_id))]
pub fn update_user_interests(ctx: &mut MutationCtx, owned: access::Owned, args: UpdateUserInterests) -> Result<()> {
    let interests = chosen::known(ctx, args.interests.into_vec())?;
    let count = interests.len();
    chosen::replace(ctx, owned.owner.id(), interests)?;
    if owned.is_own {
        audit::by_key(ctx, &owned.owner)?;
    } else {
        let details = Details::new().with("interestsCount", count);
        audit::user(ctx, &owned.actor, "interests.updated", &owned.owner, details)?;
    }
    info!("{} has {count} interests now", owned.owner.id());
    Ok(())
}

/// Sets the caller's `lastSeenAt` to now. Clients call it about once per minute.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[mutation(rights = access::user)]
pub fn update_last_seen(ctx: &mut MutationCtx, user: Doc<User>) -> Result<()> {
    let now = ctx.now();
    ctx.db_mut().patch_doc(user, |row| row.last_seen_at = row.last_seen_at.max(Some(now)))?;
    Ok(())
}

/// Arguments of [`deactivate_user`] and [`reactivate_user`].
#[args]
pub struct NamedUser {
    /// An id, or the `sub` of a token of the caller's issuer.
    pub user_id: UserRef,
}

/// Deactivates an account. Further calls of the user are rejected, open sessions and subscriptions end, and the user's
/// content stays.
///
/// # Errors
/// `FORBIDDEN`: the caller is not an admin of the user's organization. `NOT_FOUND`: there is no such user.
#[mutation(admin, rights = access::administered(&args.user_id))]
pub fn deactivate_user(ctx: &mut MutationCtx, named: Administered, _: NamedUser) -> Result<()> {
    accounts::deactivate(ctx, named.user, &named.actor)
}

/// Reactivates a deactivated account.
///
/// # Errors
/// `FORBIDDEN`: the caller is not an admin of the user's organization. `NOT_FOUND`: there is no such user.
#[mutation(admin, rights = access::administered(&args.user_id))]
pub fn reactivate_user(ctx: &mut MutationCtx, named: Administered, _: NamedUser) -> Result<()> {
    accounts::reactivate(ctx, named.user, &named.actor)
}

/// The address of a calendar.
///
/// ```json
/// {"url": "https://meet.example.org/calendar/mYgG8hSW3cT1lEFmUX2mMXjVQz6rV0pNnyqg4eXWc2I.ics"}
/// ```
#[value(output)]
pub struct CalendarLinkCreated {
    /// The address. It is shown once: the server stores only its hash.
    pub url: String,
}

/// Creates a secret link under which calendar programs read the caller's coming meetings. An earlier link stops working.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[mutation(rights = access::user)]
pub fn create_calendar_link(ctx: &mut MutationCtx, user: Doc<User>) -> Result<CalendarLinkCreated> {
    audit::by_key(ctx, &user)?;
    Ok(CalendarLinkCreated { url: calendar::create(ctx, &user)? })
}

/// Revokes the link of the caller's calendar. Without a link, it changes nothing.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[mutation(rights = access::user)]
pub fn revoke_calendar_link(ctx: &mut MutationCtx, user: Doc<User>) -> Result<()> {
    audit::by_key(ctx, &user)?;
    calendar::revoke(ctx, &user)
}

/// Returns an address for the upload of the caller's picture: PNG, JPEG or WebP, at most 5 MiB. `setAvatar` shows it.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[mutation(rights = access::user)]
pub fn begin_avatar_upload(ctx: &mut MutationCtx, _: Doc<User>) -> Result<Upload> {
    ctx.files().upload::<User>()
}

/// Arguments of [`set_avatar`].
///
/// ```json
/// {"upload": null}
/// ```
#[args]
pub struct SetAvatar {
    /// The `storageId` of an upload of the caller. Absent or null: no picture.
    pub upload: Option<StorageId>,
}

/// Sets or removes the caller's picture. `avatarUrl` in every list is then a link to it, valid for an hour.
///
/// # Errors
/// - `NOT_FOUND`: the caller has no such upload, or has used it.
/// - `FAILED_PRECONDITION`: the bytes of the upload have not arrived.
/// - `INVALID_ARGUMENT`: the content is not a PNG, JPEG or WebP of at most 5 MiB.
#[mutation(rights = access::user)]
pub fn set_avatar(ctx: &mut MutationCtx, user: Doc<User>, args: SetAvatar) -> Result<()> {
    let avatar = args.upload.map(|upload| ctx.files().take(upload)).transpose()?;
    let now = ctx.now();
    ctx.db_mut().patch_doc(user, |row| {
        row.avatar = avatar;
        row.updated_at = now;
    })?;
    Ok(())
}
