//! Entering the matching queue.

use std::time::Duration;

use convoke::prelude::*;
use convoke::{Context, args, mutation};
use schema::limits::{NEAR, days};
use schema::{IdempotencyKey, MatchConstraints, QueueEntry, QueueStatus, User};

use super::{line, queue, scheduling};
use crate::{access, audit};

/// The longest time for which somebody waits, and the farthest ahead it begins: plans of more than a month are none.
const AHEAD_MAX: Duration = days(30);

/// What [`enter_matching_queue`] takes.
///
/// ```json
/// {"availableFrom": 1767225600000, "availableTo": 1767229200000,
///  "constraints": {"interests": ["machine-learning"], "roles": ["mentor"], "orgConstraints": "any"}}
/// ```
#[args]
pub struct EnterMatchingQueue {
    /// Free from; up to five minutes ago counts as now.
    pub available_from: Millis,
    /// Free until.
    pub available_to: Millis,
    pub constraints: MatchConstraints,
    /// A retry with the same key and the same arguments makes no second entry and returns the first.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// Adds the caller to the matching queue and starts the matcher. Returns the id of their entry in the queue.
///
/// # Errors
/// - `INVALID_ARGUMENT`: "Availability end time must be after start time", "Availability window cannot start in the
///   past", "Availability window cannot exceed 30 days"; one that starts more than 30 days ahead.
/// - `CONFLICT`: "User is already in the matching queue", with `queueId`.
/// - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
#[mutation(form = in_order(&args), rights = access::user)]
pub fn enter_matching_queue(
    ctx: &mut MutationCtx,
    user: Doc<User>,
    args: EnterMatchingQueue,
) -> Result<Id<QueueEntry>> {
    let call = args.clone();
    ctx.once(call.idempotency_key.as_ref().map(IdempotencyKey::as_str), &call, |ctx| enter(ctx, &user, args))
}

fn enter(ctx: &mut MutationCtx, user: &Doc<User>, args: EnterMatchingQueue) -> Result<Id<QueueEntry>> {
    let now = ctx.now();
    if let Some(waiting) = queue::waiting(ctx, user.id())? {
        if waiting.available_to > now {
            return Err(
                Error::conflict("User is already in the matching queue").with("queueId", waiting.id().to_string())
            );
        }
        queue::finish(ctx, waiting, QueueStatus::Expired, None)?;
    }
    let available_from = start(args.available_from, args.available_to, now)?;
    let entry = QueueEntry {
        user_id: user.id(),
        available_from,
        available_to: args.available_to,
        constraints: args.constraints,
        status: QueueStatus::Waiting,
        match_id: None,
        updated_at: now,
        ticket: None,
    };
    let entry = line::join(ctx, entry)?;
    scheduling::wake(ctx)?;
    audit::by_key(ctx, user)?;
    Ok(entry)
}

fn in_order(_: &impl Context, args: &EnterMatchingQueue) -> Result<()> {
    require_order(args.available_from, args.available_to)
}

fn require_order(from: Millis, to: Millis) -> Result<()> {
    if from < to {
        return Ok(());
    }
    Err(Error::invalid_argument("availableTo", "Availability end time must be after start time"))
}

/// When the entry begins, if its times are right at `now`.
fn start(from: Millis, to: Millis, now: Millis) -> Result<Millis> {
    if from < now - NEAR {
        return Err(Error::invalid_argument("availableFrom", "Availability window cannot start in the past"));
    }
    if from > now + AHEAD_MAX {
        return Err(Error::invalid_argument(
            "availableFrom",
            "Availability window cannot start more than 30 days ahead",
        ));
    }
    let start = from.max(now);
    require_order(start, to)?;
    if to.since(start) > AHEAD_MAX {
        return Err(Error::invalid_argument("availableTo", "Availability window cannot exceed 30 days"));
    }
    Ok(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_767_225_600_000);
    const MINUTE: i64 = 60_000;
    const DAY: i64 = 24 * 60 * MINUTE;

    fn started(from: i64, to: i64) -> Result<i64, String> {
        let started = start(Millis(NOW.get() + from), Millis(NOW.get() + to), NOW);
        started.map(|start| start.get() - NOW.get()).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_window_begins_between_five_minutes_ago_and_a_month_ahead() {
        assert_eq!(started(-5 * MINUTE, MINUTE), Ok(0));
        assert_eq!(started(-5 * MINUTE - 1, MINUTE).unwrap_err(), "Availability window cannot start in the past");
        assert_eq!(started(30 * DAY, 31 * DAY), Ok(30 * DAY));
        assert!(started(30 * DAY + 1, 31 * DAY).is_err());
    }

    #[test]
    fn a_window_lasts_a_month_at_most_and_more_than_nothing() {
        assert_eq!(started(-MINUTE, 30 * DAY), Ok(0));
        assert_eq!(started(0, 30 * DAY + 1).unwrap_err(), "Availability window cannot exceed 30 days");
        assert_eq!(started(-2 * MINUTE, 0).unwrap_err(), "Availability end time must be after start time");
    }
}
