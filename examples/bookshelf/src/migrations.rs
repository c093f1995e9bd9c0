//! Migrations of older rows.

use convoke::prelude::*;
use convoke::{Batch, Migrated};

use crate::books::{Book, mark};

/// Adds the mark to every book without one.
#[mutation(admin)]
pub fn mark_books(ctx: &mut MutationCtx, args: Batch) -> Result<Migrated> {
    ctx.migrate::<Book>(&args, |book| {
        // A row is read in its stored form, because it may not fit its struct yet.
        if book.get::<Option<String>>("mark")?.is_none() {
            let title: String = book.get("title")?;
            book.set("mark", &mark(&title))?;
        }
        Ok(())
    })
}
