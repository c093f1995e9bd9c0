//! Notes that several people edit at once.
//!
//! The first modules below know no context and no database: values in, values out. Reading order: what an operation
//! is, how two of them pass each other, how a chain of them passes a log, how the text lies in pieces, how two texts
//! differ. Then what lies in the database (a document and its history), the functions for editing and reading, and the
//! offline queue with its functions.

use std::time::Duration;

use convoke::prelude::*;
use convoke::{args, mutation};
use schema::{ClientToken, Meeting, User};

use queue::Queue;

pub mod units;
pub mod operation;
pub mod transform;
pub mod chain;
pub mod pieces;
pub mod difference;
pub mod edits;
pub mod texts;
pub mod document;
pub mod log;
pub mod course;
pub mod history;
pub mod thinning;
pub mod idempotency;
pub mod index;
pub mod queries;
pub mod queue;
pub mod queueing;
pub mod draining;
pub mod offline;
pub mod revocation;

/// What [`drain`] takes: whose queue.
#[args]
pub struct DrainQueue {
    /// Of which meeting's notes.
    pub meeting_id: Id<Meeting>,
    /// Who wrote.
    pub author_id: Id<User>,
    /// On which of their clients.
    pub client_id: ClientToken,
}

/// Brings what a client did offline into the notes, 50 operations in a transaction, until nothing of it is pending.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
pub fn drain(ctx: &mut MutationCtx, args: DrainQueue) -> Result<()> {
    let queue = Queue { meeting: args.meeting_id, author: args.author_id, client: args.client_id };
    let mut drained = draining::Drained::default();
    draining::drain(ctx, &queue, draining::OPERATIONS_PER_DRAIN, &mut drained)?;
    for (operation, reason) in &drained.failed {
        info!("Offline operation {operation} failed: {reason}");
    }
    if queue.pending(ctx.db(), 1)?.is_empty() {
        return Ok(());
    }
    schedule_drain(ctx, queue, Duration::ZERO)
}

/// Has a queue drained in the background, unless that is about to happen.
///
/// # Errors
/// A failure of the store.
pub fn schedule_drain(ctx: &mut MutationCtx, queue: Queue, after: Duration) -> Result<()> {
    let Queue { meeting, author, client } = queue;
    let key = format!("{meeting}/{author}/{client}");
    ctx.schedule_once::<drain>(&key, after, DrainQueue { meeting_id: meeting, author_id: author, client_id: client })?;
    Ok(())
}
