//! Maintenance of the catalog, with a deploy key only.

use convoke::prelude::*;
use convoke::{args, mutation};
use schema::{Actor, Details, IconName, Interest, InterestCategory, InterestKey, InterestName};

use super::catalog::label_key;
use super::seed;
use crate::{access, audit};

/// Arguments of [`upsert_catalog_entry`].
#[args]
pub struct UpsertCatalogEntry {
    pub key: InterestKey,
    /// The display name.
    pub label: InterestName,
    pub category: InterestCategory,
    pub icon_name: Option<IconName>,
}

/// Adds an interest to the catalog, or changes its label and category. An interest that a user created becomes public.
///
/// # Errors
/// `FORBIDDEN`: the caller is not a deploy key.
#[mutation(admin, rights = access::deploy_key)]
pub fn upsert_catalog_entry(ctx: &mut MutationCtx, actor: Actor, args: UpsertCatalogEntry) -> Result<()> {
    seed::ensure(ctx)?;
    let UpsertCatalogEntry { key, label, category, icon_name } = args;
    let found = ctx.db().query(Interest::by_key).eq(&key).unique()?;
    let details = Details::new().with("label", &label).with("category", category).with("isNew", found.is_none());
    let label_key = Some(label_key(label.as_str()));
    match found {
        Some(row) => {
            ctx.db_mut().patch_doc(row, |row| {
                row.label_key = label_key;
                row.label = label;
                row.category = category;
                row.icon_name = icon_name;
                row.created_by = None;
            })?;
        }
        None => {
            let key = key.clone();
            let row = Interest { key, label, category, icon_name, usage_count: 0, created_by: None, label_key };
            ctx.db_mut().insert(row)?;
        }
    }
    audit::catalog(ctx, &actor, "interest.saved", key.as_str(), details)
}

/// Arguments of [`remove_catalog_entry`].
///
/// ```json
/// {"key": "chess"}
/// ```
#[args]
pub struct RemoveCatalogEntry {
    pub key: InterestKey,
}

/// Deletes an interest that no user has.
///
/// # Errors
/// `FORBIDDEN`: the caller is not a deploy key. `NOT_FOUND`: there is no such interest. `FAILED_PRECONDITION`: users have it;
/// `usageCount` says how many.
#[mutation(admin, rights = access::deploy_key)]
pub fn remove_catalog_entry(ctx: &mut MutationCtx, actor: Actor, args: RemoveCatalogEntry) -> Result<()> {
    seed::ensure(ctx)?;
    let found = ctx.db().query(Interest::by_key).eq(&args.key).unique()?;
    let row = found.ok_or_else(|| Error::not_found("Interest not found"))?;
    if row.usage_count > 0 {
        let users = if row.usage_count == 1 { "1 user".to_owned() } else { format!("{} users", row.usage_count) };
        let error = Error::failed_precondition(format!("Interest is in use by {users}"));
        return Err(error.with("usageCount", row.usage_count));
    }
    ctx.db_mut().delete(row.id())?;
    audit::catalog(ctx, &actor, "interest.removed", args.key.as_str(), Details::new())
}
