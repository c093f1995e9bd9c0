//! Matching.

mod compatibility;
mod entering;
mod feedback;
mod history;
mod matcher;
mod meetings;

use std::collections::HashMap;
use std::time::Duration;

use convoke::testing::{Reply, TestApp, TestCaller};
use schema::{Match, MatchOutcome, QueueCount, QueueEntry, QueueStatus};
use serde_json::{Value, json};

use crate::support::with;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR_MS: i64 = 3_600_000;
pub(crate) const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Arguments of `enterMatchingQueue`: available for the next hour, with a common interest. Two users without any data
/// do not score enough.
pub(crate) fn window(app: &TestApp) -> Value {
    let now = app.now().get();
    json!({"availableFrom": now, "availableTo": now + HOUR_MS, "constraints": {"interests": ["chess"], "roles": []}})
}

/// Enters the queue with these arguments instead of the usual ones.
pub(crate) fn enter(app: &TestApp, caller: &TestCaller<'_>, changes: Value) -> Reply {
    caller.call("matching/index/enterMatchingQueue", with(window(app), changes))
}

/// Returns the result of `getMatchHistory`.
pub(crate) fn history(caller: &TestCaller<'_>) -> Vec<Value> {
    caller.call("matching/analytics/getMatchHistory", json!({})).value().as_array().unwrap().clone()
}

/// Returns the result of `getQueueStatus`.
pub(crate) fn place(caller: &TestCaller<'_>) -> Value {
    caller.call("matching/queue/getQueueStatus", json!({})).value().clone()
}

/// Submits the outcome of a match.
pub(crate) fn say(caller: &TestCaller<'_>, id: &str, outcome: &str) -> Reply {
    let args = json!({"matchId": id, "outcome": outcome});
    caller.call("matching/analytics/submitMatchFeedback", args)
}

/// Returns the result of `getMatch`.
pub(crate) fn shown(caller: &TestCaller<'_>, id: &str) -> Value {
    caller.call("matching/queries/getMatch", json!({"matchId": id})).value().clone()
}

/// Enters and matches these two users; returns the match.
pub(crate) fn matched(app: &TestApp, one: &TestCaller<'_>, other: &TestCaller<'_>) -> String {
    for caller in [one, other] {
        enter(app, caller, json!({})).value();
    }
    app.advance(SECOND);
    let newest = history(one)[0]["matchId"].as_str().unwrap().to_owned();
    assert_eq!(history(other)[0]["matchId"], newest.as_str());
    newest
}

/// Invariants: two outcomes per match, and at most one open match and one waiting entry per user.
pub(crate) fn assert_matches_consistent(app: &TestApp) {
    let now = app.now();
    let (matches, outcomes, entries) = app.read(|db| {
        Ok((
            db.scan::<Match>().take(10_000)?,
            db.scan::<MatchOutcome>().take(10_000)?,
            db.scan::<QueueEntry>().take(10_000)?,
        ))
    });
    let mut open = HashMap::new();
    for row in &matches {
        assert!(row.user_a < row.user_b, "{row:?}");
        let users: Vec<_> =
            outcomes.iter().filter(|outcome| outcome.match_id == row.id()).map(|outcome| outcome.user_id).collect();
        assert!(users.len() == 2 && users.contains(&row.user_a) && users.contains(&row.user_b), "{row:?}");
        if functions::matching::standing::is_open(row, now) {
            for user in [row.user_a, row.user_b] {
                assert_eq!(open.insert(user, row.id()), None, "{user} is in two open matches");
            }
        }
    }
    assert_eq!(outcomes.len(), 2 * matches.len());
    let counts = app.read(|db| Ok(db.scan::<QueueCount>().take(10_000)?));
    let with_ticket =
        |entry: &&convoke::Doc<QueueEntry>| entry.status == QueueStatus::Waiting && entry.ticket.is_some();
    let in_line = i64::try_from(entries.iter().filter(with_ticket).count()).unwrap();
    for level in 1..=3 {
        let counted = counts.iter().filter(|row| row.level == level).map(|row| row.waiting);
        assert_eq!(counted.sum::<i64>(), in_line, "counts of level {level}");
    }
    let mut waiting = HashMap::new();
    for entry in entries {
        assert_eq!(entry.status == QueueStatus::Matched, entry.match_id.is_some());
        if entry.status == QueueStatus::Waiting {
            assert_eq!(waiting.insert(entry.user_id, entry.id()), None, "two waiting entries");
        }
    }
}
