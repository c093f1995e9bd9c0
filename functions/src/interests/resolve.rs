//! Converts the interests that a client sends at onboarding to keys of the catalog. Unknown ones are added.
//!
//! Ids that clients make up ("1", "ML") have no meaning across clients. So the key of a user's own interest comes from
//! its name, never from the id.

use std::collections::HashMap;

use convoke::prelude::*;
use schema::limits::Quotas;
use schema::{IconName, Interest, InterestCategory, InterestId, InterestKey, InterestName, User};

use super::catalog::{label_key, slug};

/// An interest from a client at onboarding.
///
/// ```json
/// {"id": "machine-learning", "name": "Machine Learning", "category": "industry"}
/// ```
#[value]
pub struct SentInterest {
    /// A key of the catalog, or any id of the client.
    pub id: InterestId,
    pub name: InterestName,
    pub category: InterestCategory,
    pub icon_name: Option<IconName>,
}

/// Returns the keys of these interests without duplicates, in their order. Creates missing rows with the creator
/// `maker`.
///
/// An interest is the built-in or admin's row whose key is its id; otherwise the row whose label equals its name;
/// otherwise the row of its name's slug, which is created if it is missing.
///
/// # Errors
/// `FAILED_PRECONDITION`: the user has created too many interests.
pub fn keys(ctx: &mut MutationCtx, maker: Id<User>, sent: &[SentInterest]) -> Result<Vec<InterestKey>> {
    let ids = sent.iter().filter_map(|interest| InterestKey::new(interest.id.as_str()).ok());
    let candidates: Vec<InterestKey> =
        ids.chain(sent.iter().map(|interest| key_of_name(interest.name.as_str()))).collect();
    let known = ctx.db().query(Interest::by_key).any(&candidates).take(candidates.len())?;
    let known: HashMap<&str, &Interest> = known.iter().map(|row| (row.key.as_str(), &**row)).collect();
    let mut by_label: HashMap<String, InterestKey> = HashMap::new();
    let mut missing = Vec::new();
    let mut keys = Vec::new();
    for interest in sent {
        let official = known.get(interest.id.as_str()).filter(|row| row.created_by.is_none());
        let label = label_key(interest.name.as_str());
        let key = match official {
            Some(row) => row.key.clone(),
            None => match by_label.get(&label) {
                Some(key) => key.clone(),
                None => {
                    let key = match of_label(ctx, &label)? {
                        Some(key) => key,
                        None => {
                            let key = key_of_name(interest.name.as_str());
                            if !known.contains_key(key.as_str()) && !missing.iter().any(|row: &Interest| row.key == key)
                            {
                                missing.push(row(key.clone(), interest, maker));
                            }
                            key
                        }
                    };
                    by_label.insert(label, key.clone());
                    key
                }
            },
        };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    make(ctx, maker, missing)?;
    Ok(keys)
}

/// Returns the key of a user's own interest with this name.
pub fn key_of_name(name: &str) -> InterestKey {
    let key = format!("custom:{}", slug(name));
    InterestKey::new(key).expect("a slug behind `custom:` is a key")
}

/// Returns the key of the row with this label. A row without a creator precedes others in the index.
fn of_label(ctx: &impl Read, label: &str) -> Result<Option<InterestKey>> {
    Ok(ctx.db().query(Interest::by_label).eq(label).first()?.map(|row| row.key.clone()))
}

fn row(key: InterestKey, interest: &SentInterest, maker: Id<User>) -> Interest {
    Interest {
        key,
        label: interest.name.clone(),
        category: interest.category,
        icon_name: interest.icon_name.clone(),
        usage_count: 0,
        created_by: Some(maker),
        label_key: Some(label_key(interest.name.as_str())),
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
