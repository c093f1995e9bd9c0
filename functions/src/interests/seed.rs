//! The rows of the built-in catalog.
//!
//! They are made at the first need: by whatever first writes to the catalog or admits a user. Every call of a user comes
//! after the latter, so nobody ever reads a catalog that is not there yet.

use convoke::prelude::*;
use schema::{Interest, InterestKey};

use super::catalog;

/// Makes the built-in rows if the catalog has no row at all. What an admin removed later stays removed.
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
