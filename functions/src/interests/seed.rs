//! The rows of the built-in catalog.
//!
//! They are created at the first need: by the first write to the catalog or the first admission of a user. Every user
//! call follows an admission, so no caller sees a catalog without them.

use convoke::prelude::*;
use schema::{Interest, InterestKey};

use super::catalog;

/// Creates the built-in rows if the catalog is empty. Rows that an admin removed later stay removed.
///
/// # Errors
/// A failure of the store.
pub fn ensure(ctx: &mut MutationCtx) -> Result<()> {
    if ctx.db().scan::<Interest>().first()?.is_some() {
        return Ok(());
    }
    for entry in catalog::entries() {
        let built_in = |error| Error::internal(format!("the built-in interest {:?}: {error}", entry.key));
        let label = entry.label();
        ctx.db_mut().insert(Interest {
            key: InterestKey::new(entry.key).map_err(built_in)?,
            label_key: Some(catalog::label_key(&label)),
            label: schema::InterestName::new(label).map_err(built_in)?,
            category: entry.category.parse().map_err(built_in)?,
            icon_name: None,
            usage_count: 0,
            created_by: None,
        })?;
    }
    Ok(())
}
