//! Offline operations of somebody who lost the right to write: they fail at once and not only when they are drained.
//!
//! The drain checks the rights of their author in its own transaction as well, so what is left to it fails there.

use convoke::prelude::*;
use schema::{Meeting, OfflineOperation, OfflineStatus, User};

/// Operations that one call fails, as far as they fit a page of rows; those beyond it the drain fails.
const OPERATIONS_MAX: usize = 500;

/// Fails what a user has pending for the notes of one meeting.
///
/// # Errors
/// A failure of the store.
pub fn fail_pending_in(ctx: &mut MutationCtx, meeting: Id<Meeting>, author: Id<User>) -> Result<()> {
    let rows = ctx.db().query(OfflineOperation::by_author_status).eq(author).eq(OfflineStatus::Pending).eq(meeting);
    let rows = rows.page(None, OPERATIONS_MAX)?.items;
    fail(ctx, rows)
}

/// Fails what a user has pending anywhere.
///
/// # Errors
/// A failure of the store.
pub fn fail_pending_of(ctx: &mut MutationCtx, author: Id<User>) -> Result<()> {
    let rows = ctx.db().query(OfflineOperation::by_author_status).eq(author).eq(OfflineStatus::Pending);
    let rows = rows.page(None, OPERATIONS_MAX)?.items;
    fail(ctx, rows)
}

fn fail(ctx: &mut MutationCtx, rows: Vec<Doc<OfflineOperation>>) -> Result<()> {
    for row in rows {
        ctx.db_mut().patch_doc(row, |row| {
            row.status = OfflineStatus::Failed;
            row.error = Some("Access denied".to_owned());
        })?;
    }
    Ok(())
}
