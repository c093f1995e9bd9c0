//! Matching of waiting users.
//!
//! The first modules below are pure, without context and database. Reading order: names, levels, fields and roles give
//! the meaning of single words; text compares longer texts; candidate, score, conditions and explain evaluate a pair;
//! assignment chooses among all pairs. Then follow a run of the matcher (`waiting` reads the queue, `pairing` chooses
//! and writes, `pace` and `scheduling` define the times), the state of a match (`standing`), the positions in the queue
//! (`line`), and the functions.

use convoke::prelude::*;
use convoke::{action, mutation};
use schema::{Match, MatchStatus, QueueEntry, QueueStatus};

pub mod assignment;
pub mod candidate;
pub mod conditions;
pub mod explain;
pub mod fields;
pub mod levels;
pub mod names;
pub mod organizations;
pub mod roles;
pub mod score;
pub mod text;
pub mod settings;
pub mod standing;
pub mod line;
pub mod waiting;
pub mod pairing;
pub mod pace;
pub mod scheduling;
pub mod index;
pub mod queue;
pub mod queries;
pub mod analytics;
pub mod lifecycle;
pub mod engine;
pub mod scoring;

/// Runs the matcher, and again while any user waits.
///
/// # Errors
/// A failure of the store.
#[action(internal, tries = 3)]
pub async fn r#match(ctx: &ActionCtx) -> Result<()> {
    let cycle = pairing::run(ctx, None, pairing::Effect::Real).await?;
    if cycle.waiting > 2 * cycle.matched {
        ctx.schedule_once::<r#match>(pace::CYCLING, pace::CYCLE, NoArgs {}).await?;
    }
    Ok(())
}

/// Rows of each kind that one sweep changes, which takes a few milliseconds.
const SWEPT_MAX: usize = 200;

/// Ends expired entries and matches every minute. If they do not fit into one transaction, the next one starts
/// immediately.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
#[cron("* * * * *")]
pub fn expire(ctx: &mut MutationCtx) -> Result<()> {
    let now = ctx.now();
    let stale = ctx.db().query(QueueEntry::by_status_available).eq(QueueStatus::Waiting).range(..=now);
    let stale = stale.take(SWEPT_MAX)?;
    let over = ctx.db().query(Match::by_status).eq(MatchStatus::Proposed).range(..=now).take(SWEPT_MAX)?;
    let is_more = stale.len() == SWEPT_MAX || over.len() == SWEPT_MAX;
    for entry in stale {
        queue::finish(ctx, entry, QueueStatus::Expired, None)?;
    }
    for row in over {
        ctx.db_mut().patch_doc(row, |row| row.status = MatchStatus::Expired)?;
    }
    if is_more {
        ctx.schedule_once::<expire>("more", When::now(), NoArgs {})?;
    }
    if !waiting::entries(ctx.db(), now, 1)?.is_empty() {
        ctx.schedule_once::<r#match>(pace::CYCLING, pace::CYCLE, NoArgs {})?;
    }
    Ok(())
}
