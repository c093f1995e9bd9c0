//! The public part of a user: a name and a picture, never an e-mail address.

use std::collections::HashMap;
use std::time::Duration;

use convoke::prelude::*;
use convoke::value;
use schema::{DisplayName, Profile, User};

/// A user in lists.
///
/// ```json
/// {"_id": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "displayName": "Ada", "avatarUrl": ""}
/// ```
#[value(output)]
pub struct Person {
    /// The user.
    #[value(rename = "_id")]
    pub id: Id<User>,
    /// Display name; never empty.
    pub display_name: String,
    /// URL of a picture, or `""`.
    pub avatar_url: String,
}

impl Person {
    /// Creates the person of these rows.
    ///
    /// # Errors
    /// As [`avatar_url`].
    pub fn new(ctx: &impl Read, user: &Doc<User>, profile: Option<&Profile>) -> Result<Self> {
        Ok(Self { id: user.id(), display_name: display_name(user, profile), avatar_url: avatar_url(ctx, user)? })
    }

    /// Creates the person of a deleted user.
    fn unknown(id: Id<User>) -> Self {
        Self { id, display_name: UNKNOWN.to_owned(), avatar_url: String::new() }
    }
}

const UNKNOWN: &str = "Unknown user";

/// Returns the display name: of the profile, or the name claim, or the part of the e-mail before `@`, or "Unknown
/// user".
pub fn display_name(user: &User, profile: Option<&Profile>) -> String {
    match profile {
        Some(profile) => profile.display_name.as_str().to_owned(),
        None => claimed_name(user).map_or_else(|| UNKNOWN.to_owned(), |name| name.as_str().to_owned()),
    }
}

/// Returns the name in a user's claims: the name claim, or the part of the e-mail before `@`.
pub fn claimed_name(user: &User) -> Option<DisplayName> {
    let local_part = || DisplayName::new(user.email.as_ref()?.local_part()).ok();
    user.display_name.clone().or_else(local_part)
}

/// Life of a link to a picture.
const AVATAR_LINK: Duration = Duration::from_hours(1);

/// Returns the URL of a user's picture, or `""`: a link to the uploaded picture, or the URL in the claims.
///
/// # Errors
/// `INTERNAL`: the key of links cannot be read.
pub fn avatar_url(ctx: &impl Read, user: &User) -> Result<String> {
    match &user.avatar {
        Some(avatar) => Read::files(ctx).link(avatar, AVATAR_LINK).url(),
        None => Ok(user.avatar_url.as_ref().map(|url| url.as_str().to_owned()).unwrap_or_default()),
    }
}

/// Returns the persons with these ids. Runs two statements, whatever their number.
///
/// # Errors
/// A failure of the store.
pub fn people(ctx: &impl Read, ids: &[Id<User>]) -> Result<HashMap<Id<User>, Person>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let users = ctx.db().get_many(ids)?;
    let profiles = ctx.db().query(Profile::by_user).any(ids).take(ids.len())?;
    let profiles: HashMap<Id<User>, Doc<Profile>> = profiles.into_iter().map(|row| (row.user_id, row)).collect();
    let person = |(id, user): (&Id<User>, Option<Doc<User>>)| match user {
        Some(user) => Ok((*id, Person::new(ctx, &user, profiles.get(id).map(|row| &**row))?)),
        None => Ok((*id, Person::unknown(*id))),
    };
    ids.iter().zip(users).map(person).collect()
}
