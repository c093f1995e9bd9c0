//! Rows of former releases, in which the id that a client made up ("1") was the key of what its user meant by it.
//!
//! Both migrations may run in either order, and beside callers: what they have not come to yet is resolved as a client's
//! interest is, by its name.

use std::collections::HashMap;

use convoke::prelude::*;
use convoke::{Batch, Migrated, mutation};
use schema::{Actor, Interest, InterestKey, InterestName, User, UserInterest};

use super::catalog::label_key;
use super::resolve::key_of_name;
use crate::access;

/// Gives every entry of the catalog the form of its label by which it is found. One that nobody has gets its label's key.
///
/// # Errors
/// `FORBIDDEN`: not called with a deploy key.
#[mutation(admin, rights = access::deploy_key)]
pub fn label_interests(ctx: &mut MutationCtx, _: Actor, args: Batch) -> Result<Migrated> {
    let mut official = Official::default();
    ctx.migrate_with::<Interest>(&args, |ctx, row| {
        let label: InterestName = row.get("label")?;
        row.set("labelKey", &Some(label_key(label.as_str())))?;
        let (key, uses): (InterestKey, i64) = (row.get("key")?, row.get("usageCount")?);
        let maker: Option<Id<User>> = row.get("createdBy")?;
        let to = if maker.is_some() { official.key_of(ctx, &label)? } else { key.clone() };
        if to == key || uses > 0 {
            return Ok(());
        }
        match find(ctx, &to)? {
            Some(_) => ctx.db_mut().delete(row.id()).map(|_| ())?,
            None => row.set("key", &to)?,
        }
        Ok(())
    })
}

/// Moves users from keys that clients made up to those of the same label. Entries that nobody has any more go.
///
/// # Errors
/// `FORBIDDEN`: not called with a deploy key.
#[mutation(admin, rights = access::deploy_key)]
pub fn rekey_interests(ctx: &mut MutationCtx, _: Actor, args: Batch) -> Result<Migrated> {
    let mut official = Official::default();
    ctx.migrate_with::<UserInterest>(&args, |ctx, row| {
        let (user, key): (Id<User>, InterestKey) = (row.get("userId")?, row.get("key")?);
        let Some(from) = find(ctx, &key)?.filter(|interest| interest.created_by.is_some()) else { return Ok(()) };
        let to = official.key_of(ctx, &from.label)?;
        if to == key {
            return Ok(());
        }
        if ctx.db().query(UserInterest::by_user_key).eq(user).eq(&to).unique()?.is_some() {
            ctx.db_mut().delete(row.id())?;
        } else {
            let label_key = Some(label_key(from.label.as_str()));
            let blank = Interest { key: to.clone(), usage_count: 0, label_key, ..(*from).clone() };
            let entry = ctx.db_mut().insert_unique(Interest::by_key, blank)?.into_doc();
            ctx.db_mut().patch_doc(entry, |entry| entry.usage_count += 1)?;
            row.set("key", &to)?;
        }
        if from.usage_count > 1 {
            ctx.db_mut().patch_doc(from, |from| from.usage_count -= 1)?;
        } else {
            ctx.db_mut().delete(from.id())?;
        }
        Ok(())
    })
}

fn find(ctx: &impl Read, key: &InterestKey) -> Result<Option<Doc<Interest>>> {
    Ok(ctx.db().query(Interest::by_key).eq(key).unique()?)
}

/// The built-in entries and the admins', by label: read once a part, since some may not have their label's key yet.
#[derive(Default)]
struct Official(Option<HashMap<String, InterestKey>>);

/// More entries than the built-in ones and what an operator adds.
const OFFICIAL_MAX: usize = 100_000;

impl Official {
    /// The key that an interest of this name has in the catalog.
    fn key_of(&mut self, ctx: &impl Read, label: &InterestName) -> Result<InterestKey> {
        let official = match &mut self.0 {
            Some(official) => official,
            unread @ None => {
                let rows = ctx.db().query(Interest::by_creator).eq(None::<Id<User>>).take(OFFICIAL_MAX)?;
                // The oldest of one label counts.
                unread.insert(rows.iter().rev().map(|row| (label_key(row.label.as_str()), row.key.clone())).collect())
            }
        };
        let found = official.get(&label_key(label.as_str())).cloned();
        Ok(found.unwrap_or_else(|| key_of_name(label.as_str())))
    }
}
