//! The input of generators and the matcher about users: name, profile, and labels of interests.
//!
//! Reads many users in four statements, whatever their number. The caller decides whose data may be used.

use std::collections::HashMap;

use convoke::prelude::*;
use convoke::value;
use schema::{Interest, InterestKey, Profile, User, UserInterest};

use crate::names;

/// A user with profile and interests.
#[value(output)]
pub struct PersonRecord {
    pub user: Doc<User>,
    /// Absent if there is none yet.
    pub profile: Option<Doc<Profile>>,
    /// In the order in which the user added them.
    pub interests: Vec<Labelled>,
}

/// An interest with its label.
#[value(output)]
pub struct Labelled {
    pub key: InterestKey,
    pub label: String,
}

impl PersonRecord {
    /// Returns the display name.
    pub fn name(&self) -> String {
        names::display_name(&self.user, self.profile.as_deref())
    }

    /// Returns the labels of the interests.
    pub fn labels(&self) -> Vec<String> {
        self.interests.iter().map(|interest| interest.label.clone()).collect()
    }
}

/// More interests than a user can have.
const INTERESTS_MAX: usize = 200;

/// Returns the records of these users, in their order. Users without a row are skipped.
///
/// # Errors
/// A failure of the store.
pub fn of(ctx: &impl Read, ids: &[Id<User>]) -> Result<Vec<PersonRecord>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let users = ctx.db().get_many(ids)?;
    let profiles = ctx.db().query(Profile::by_user).any(ids).take(ids.len())?;
    let mut profiles: HashMap<Id<User>, Doc<Profile>> = profiles.into_iter().map(|row| (row.user_id, row)).collect();
    let mut interests = interests(ctx, ids)?;
    let person = |user: Doc<User>| {
        let id = user.id();
        let profile = profiles.remove(&id);
        PersonRecord { user, profile, interests: interests.remove(&id).unwrap_or_default() }
    };
    Ok(users.into_iter().flatten().map(person).collect())
}

fn interests(ctx: &impl Read, ids: &[Id<User>]) -> Result<HashMap<Id<User>, Vec<Labelled>>> {
    let mut rows = ctx.db().query(UserInterest::by_user_key).any(ids).take(ids.len().saturating_mul(INTERESTS_MAX))?;
    rows.sort_by_key(|row| (row.creation_time(), row.id()));
    let mut keys: Vec<&InterestKey> = rows.iter().map(|row| &row.key).collect();
    keys.sort_unstable_by_key(|key| key.as_str());
    keys.dedup();
    let catalog = ctx.db().query(Interest::by_key).any(keys.iter().copied()).take(keys.len())?;
    let labels: HashMap<&str, &str> = catalog.iter().map(|row| (row.key.as_str(), row.label.as_str())).collect();
    let mut interests: HashMap<Id<User>, Vec<Labelled>> = HashMap::new();
    for row in &rows {
        let label = labels.get(row.key.as_str()).copied().unwrap_or(row.key.as_str()).to_owned();
        interests.entry(row.user_id).or_default().push(Labelled { key: row.key.clone(), label });
    }
    Ok(interests)
}
