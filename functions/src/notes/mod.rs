//! Notes that several participants edit concurrently.
//!
//! The first modules below are pure, without context and database. Reading order: operations, the transformation of two
//! operations, the way of a chain through a log, the pieces of a text, and the difference of two texts. Then follow the
//! database (a document and its history), the functions for editing and reading, and the offline queue with its
//! functions.

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

/// Arguments of [`drain`]: a queue.
#[args]
pub struct DrainQueue {
    /// Meeting of the notes.
    pub meeting_id: Id<Meeting>,
    /// Author.
    pub author_id: Id<User>,
    /// Client of the author.
    pub client_id: ClientToken,
}

/// Applies a client's offline operations to the notes, 50 per transaction, until none is pending.
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

/// Schedules a drain of a queue in the background, unless one is pending.
///
/// # Errors
/// A failure of the store.
pub fn schedule_drain(ctx: &mut MutationCtx, queue: Queue, after: Duration) -> Result<()> {
    let Queue { meeting, author, client } = queue;
    let key = format!("{meeting}/{author}/{client}");
    ctx.schedule_once::<drain>(&key, after, DrainQueue { meeting_id: meeting, author_id: author, client_id: client })?;
    Ok(())
}
