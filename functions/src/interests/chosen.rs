//! The interests of users, and the number of users per interest.

use std::collections::HashSet;

use convoke::prelude::*;
use schema::{Interest, InterestKey, InterestRef, User, UserInterest};

/// Returns the keys of a user's interests, in the order in which they were added.
///
/// # Errors
/// A failure of the store.
pub fn keys(ctx: &impl Read, user: Id<User>) -> Result<Vec<InterestKey>> {
    Ok(rows(ctx, user)?.into_iter().map(|row| row.key.clone()).collect())
}

/// Converts references to keys of the catalog, without duplicates.
///
/// # Errors
/// `INVALID_ARGUMENT` "Invalid interests: x, y" with all unknown references, also in `invalid`.
pub fn known(ctx: &impl Read, references: Vec<InterestRef>) -> Result<Vec<InterestKey>> {
    let mut seen = HashSet::new();
    let references: Vec<InterestRef> = references.into_iter().filter(|text| seen.insert(text.clone())).collect();
    let keys: Vec<InterestKey> = references.iter().filter_map(|text| InterestKey::new(text.as_str()).ok()).collect();
    let found = ctx.db().query(Interest::by_key).any(&keys).take(keys.len())?;
    let found: HashSet<&str> = found.iter().map(|row| row.key.as_str()).collect();
    let invalid: Vec<&str> = references.iter().map(|text| text.as_str()).filter(|text| !found.contains(text)).collect();
    if invalid.is_empty() {
        return Ok(keys);
    }
    let message = format!("Invalid interests: {}", invalid.join(", "));
    Err(Error::invalid_argument("interests", message).with("invalid", invalid))
}

/// Sets a user's interests to exactly these keys of the catalog, and updates the use counts.
///
/// # Errors
/// A failure of the store.
pub fn replace(ctx: &mut MutationCtx, user: Id<User>, keys: Vec<InterestKey>) -> Result<()> {
    let old = rows(ctx, user)?;
    let had: HashSet<InterestKey> = old.iter().map(|row| row.key.clone()).collect();
    let wanted: HashSet<&InterestKey> = keys.iter().collect();
    let gone: Vec<_> = old.iter().filter(|row| !wanted.contains(&row.key)).collect();
    let changed: Vec<&InterestKey> =
        gone.iter().map(|row| &row.key).chain(keys.iter().filter(|key| !had.contains(*key))).collect();
    let counted = ctx.db().query(Interest::by_key).any(changed.iter().copied()).take(changed.len())?;
    for row in gone {
        ctx.db_mut().delete(row.id())?;
    }
    for key in keys.iter().filter(|key| !had.contains(*key)) {
        ctx.db_mut().insert(UserInterest { user_id: user, key: key.clone() })?;
    }
    for interest in counted {
        let by = if had.contains(&interest.key) { -1 } else { 1 };
        ctx.db_mut().patch_doc(interest, |row| row.usage_count += by)?;
    }
    Ok(())
}

/// More interests than onboarding and replacement together can give a user.
const ROWS_MAX: usize = 1_000;

fn rows(ctx: &impl Read, user: Id<User>) -> Result<Vec<Doc<UserInterest>>> {
    let mut rows = ctx.db().query(UserInterest::by_user_key).eq(user).take(ROWS_MAX)?;
    rows.sort_by_key(|row| (row.creation_time(), row.id()));
    Ok(rows)
}
