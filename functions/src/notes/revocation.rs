//! Fails offline operations of a user who lost the right to write, immediately rather than when they are drained.
//!
//! The drain checks the rights of the author in its own transaction too, so the remaining operations fail there.

use convoke::prelude::*;
use schema::{Meeting, OfflineOperation, OfflineStatus, User};

/// Most operations that one call fails, if they fit into a page of rows; the drain fails the rest.
const OPERATIONS_MAX: usize = 500;

/// Fails a user's pending operations for the notes of one meeting.
///
/// # Errors
/// A failure of the store.
pub fn fail_pending_in(ctx: &mut MutationCtx, meeting: Id<Meeting>, author: Id<User>) -> Result<()> {
    let rows = ctx.db().query(OfflineOperation::by_author_status).eq(author).eq(OfflineStatus::Pending).eq(meeting);
    let rows = rows.page(None, OPERATIONS_MAX)?.items;
    fail(ctx, rows)
}

/// Fails all pending operations of a user.
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
