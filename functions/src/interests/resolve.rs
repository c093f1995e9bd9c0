//! From the interests that a client sends at onboarding to keys of the catalog; unknown ones join it.

use std::collections::HashSet;

use convoke::prelude::*;
use schema::limits::Quotas;
use schema::{Interest, InterestKey, User};

use super::catalog::slug;
use crate::users::mutations::SentInterest;

/// The keys of these interests, each once, in the order they were sent. Makes the rows that are missing, as `maker`'s.
///
/// An interest is the row whose key is its id; else the one of its name's slug; else a new row.
///
/// # Errors
/// `FAILED_PRECONDITION` past the quota of rows made by one user.
pub fn keys(ctx: &mut MutationCtx, maker: Id<User>, sent: &[SentInterest]) -> Result<Vec<InterestKey>> {
    let candidates: HashSet<InterestKey> =
        sent.iter().flat_map(|interest| key_of_id(interest).into_iter().chain([key_of_name(interest)])).collect();
    let found = ctx.db().query(Interest::by_key).any(&candidates).take(candidates.len())?;
    let mut known: HashSet<InterestKey> = found.into_iter().map(|row| row.key.clone()).collect();
    let mut missing = Vec::new();
    let mut keys = Vec::new();
    for interest in sent {
        let (id, name) = (key_of_id(interest), key_of_name(interest));
        let key = match id {
            Some(id) if known.contains(&id) => id,
            _ if known.contains(&name) => name,
            id => {
                let key = id.filter(|id| !id.is_custom()).unwrap_or(name);
                known.insert(key.clone());
                missing.push(row(key.clone(), interest, maker));
                key
            }
        };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    make(ctx, maker, missing)?;
    Ok(keys)
}

fn key_of_id(interest: &SentInterest) -> Option<InterestKey> {
    InterestKey::new(interest.id.as_str()).ok()
}

fn key_of_name(interest: &SentInterest) -> InterestKey {
    let key = format!("custom:{}", slug(interest.name.as_str()));
    InterestKey::new(key).expect("a slug of at most 57 characters behind `custom:` is a key")
}

fn row(key: InterestKey, interest: &SentInterest, maker: Id<User>) -> Interest {
    Interest {
        key,
        label: interest.name.clone(),
        category: interest.category,
        icon_name: interest.icon_name.clone(),
        usage_count: 0,
        created_by: Some(maker),
    }
}

fn make(ctx: &mut MutationCtx, maker: Id<User>, rows: Vec<Interest>) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let made = ctx.db().query(Interest::by_creator).eq(maker).count()?;
    let most = ctx.settings::<Quotas>().catalog_rows_per_user;
    if made + rows.len() as u64 > most as u64 {
        let message = format!("Too many interests of your own (max {most})");
        return Err(Error::failed_precondition(message));
    }
    for row in rows {
        ctx.db_mut().insert(row)?;
    }
    Ok(())
}
