//! Queries of the caller's profile and of public profiles.

use std::collections::HashSet;

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::{
    Bio, Experience, Goals, HttpUrl, InterestKey, LanguageName, Match, MatchStatus, Meeting, Participant, Profile,
    ShortText, User, UserRef,
};

use super::record;
use crate::interests::chosen;
use crate::{access, names};

/// Returns the caller's profile with all its fields, or null if there is none yet.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[query(rights = access::user)]
pub fn get_current_user_profile(ctx: &QueryCtx, user: Doc<User>) -> Result<Option<Doc<Profile>>> {
    record::of(ctx, user.id())
}

/// Arguments of [`get_public_profile`].
#[args]
pub struct GetPublicProfile {
    /// The user: an id, or the `sub` of a token of the caller's issuer.
    pub user_id: UserRef,
}

/// The public part of a user's profile.
///
/// ```json
/// {"userId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "displayName": "Ada", "avatarUrl": "", "languages": ["English"],
///  "interests": ["chess"]}
/// ```
#[value(output)]
pub struct PublicProfile {
    pub user_id: Id<User>,
    /// Display name.
    pub display_name: String,
    /// URL of a picture; `""` if there is none.
    pub avatar_url: String,
    pub bio: Option<Bio>,
    pub goals: Option<Goals>,
    /// Spoken languages, under any name.
    pub languages: Vec<LanguageName>,
    pub experience: Option<Experience>,
    pub field: Option<ShortText>,
    pub job_title: Option<ShortText>,
    pub company: Option<ShortText>,
    pub linkedin_url: Option<HttpUrl>,
    /// Keys of the catalog of interests.
    pub interests: Vec<InterestKey>,
}

impl PublicProfile {
    /// Returns the public profile of a user. The caller checks the rights.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn of(ctx: &impl Read, user: &Doc<User>) -> Result<Self> {
        let profile = record::of(ctx, user.id())?;
        let interests = chosen::keys(ctx, user.id())?;
        let display_name = names::display_name(user, profile.as_deref());
        let said = profile.map(Doc::into_inner);
        Ok(Self {
            user_id: user.id(),
            display_name,
            avatar_url: names::avatar_url(ctx, user)?,
            bio: said.as_ref().and_then(|row| row.bio.clone()),
            goals: said.as_ref().and_then(|row| row.goals.clone()),
            languages: said.as_ref().map(|row| row.languages.clone()).unwrap_or_default(),
            experience: said.as_ref().and_then(|row| row.experience.clone()),
            field: said.as_ref().and_then(|row| row.field.clone()),
            job_title: said.as_ref().and_then(|row| row.job_title.clone()),
            company: said.as_ref().and_then(|row| row.company.clone()),
            linkedin_url: said.and_then(|row| row.linkedin_url),
            interests,
        })
    }
}

/// Returns the public profile of a user.
///
/// Allowed for the own profile, users of the same organization, participants of a meeting that both have joined, and
/// users of a match that neither declined.
///
/// # Errors
/// `FORBIDDEN`: the profile is not visible to the caller, or there is no such user.
#[query(rights = acquaintance(&args.user_id))]
pub fn get_public_profile(ctx: &QueryCtx, user: Doc<User>, _: GetPublicProfile) -> Result<PublicProfile> {
    PublicProfile::of(ctx, &user)
}

/// Returns a user whose public profile the caller may read.
fn acquaintance(ctx: &impl Read, who: &UserRef) -> Result<Doc<User>> {
    let caller = access::user(ctx)?;
    let user = access::find_user(ctx, Some(&caller), who)?.ok_or_else(access::insufficient)?;
    let knows = caller.id() == user.id()
        || access::same_organization(&caller, &user)
        || are_matched(ctx, caller.id(), user.id())?
        || have_met(ctx, caller.id(), user.id())?;
    if knows { Ok(user) } else { Err(access::insufficient()) }
}

fn are_matched(ctx: &impl Read, one: Id<User>, other: Id<User>) -> Result<bool> {
    let (a, b) = if one < other { (one, other) } else { (other, one) };
    let matches = ctx.db().query(Match::by_users).eq(a).eq(b).take(MATCHES_MAX)?;
    Ok(matches.iter().any(|row| row.status != MatchStatus::Declined))
}

fn have_met(ctx: &impl Read, one: Id<User>, other: Id<User>) -> Result<bool> {
    let joined = |user: Id<User>| -> Result<HashSet<Id<Meeting>>> {
        let places = ctx.db().query(Participant::by_user_meeting).eq(user).order(Order::Desc).take(PLACES_MAX)?;
        Ok(places.iter().filter(|place| place.joined_at.is_some()).map(|place| place.meeting_id).collect())
    };
    let theirs = joined(other)?;
    Ok(joined(one)?.iter().any(|meeting| theirs.contains(meeting)))
}

/// Most matches of one pair; they are a month apart, so this covers decades.
const MATCHES_MAX: usize = 500;
/// Most meetings of a user that are compared, the newest first.
const PLACES_MAX: usize = 10_000;
