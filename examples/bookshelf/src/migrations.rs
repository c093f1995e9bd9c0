//! What brings rows from before to their new form.

use convoke::prelude::*;
use convoke::{Batch, Migrated};

use crate::books::{Book, mark};

/// Gives every book of the time before there were marks one.
#[mutation(admin)]
pub fn mark_books(ctx: &mut MutationCtx, args: Batch) -> Result<Migrated> {
    ctx.migrate::<Book>(&args, |book| {
        // A row is read as it is stored: it may not fit its struct yet.
        if book.get::<Option<String>>("mark")?.is_none() {
            let title: String = book.get("title")?;
            book.set("mark", &mark(&title))?;
        }
        Ok(())
    })
}
