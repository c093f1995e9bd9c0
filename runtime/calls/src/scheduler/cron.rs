//! Crons: expressions of `#[cron]`, in UTC, and the next time of each.
//!
//! The next time is stored, so a run that was missed while the server was down happens once at the next start. A cron
//! does not start while its last job is pending or running.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::function::Kind;
use crate::registry::Registry;
use crate::rows::job::{Cron, Job, JobKind, JobState};
use convoke_core::clock::Millis;
use convoke_core::error::Result;
use convoke_core::id::Id;
use convoke_store::DbMut;

/// The crons of a program, in the order of their paths.
#[derive(Clone)]
pub(crate) struct Crons(Arc<[Declared]>);

struct Declared {
    path: Arc<str>,
    expression: &'static str,
    kind: JobKind,
    parsed: croner::Cron,
}

impl Crons {
    /// Parses the expressions of all functions.
    ///
    /// # Errors
    /// The first expression that is invalid or is above a query, with file and line.
    pub(crate) fn collect(registry: &Registry) -> Result<Self, String> {
        let mut crons = Vec::new();
        for function in registry.all() {
            let def = function.def;
            for expression in def.crons {
                let refuse = |reason: &str| {
                    format!("{}:{}: #[cron({expression:?})] of `{}`: {reason}", def.file, def.line, def.name)
                };
                let kind = match def.kind {
                    Kind::Mutation => JobKind::Mutation,
                    Kind::Action => JobKind::Action,
                    Kind::Query => return Err(refuse("a query cannot run on a schedule; its result would be lost")),
                };
                let parsed = parse(expression).map_err(|reason| refuse(&reason))?;
                crons.push(Declared { path: function.path.clone(), expression, kind, parsed });
            }
        }
        Ok(Self(crons.into()))
    }

    /// Returns true if the program declares it.
    pub(crate) fn has(&self, cron: &Cron) -> bool {
        self.find(cron).is_some()
    }

    fn find(&self, cron: &Cron) -> Option<&Declared> {
        self.0.iter().find(|declared| *declared.path == *cron.path && declared.expression == cron.expression)
    }

    /// Updates the rows: adds the program's new crons, removes those that it no longer declares, and moves times that
    /// are too far ahead to an earlier time, since the clock was set back.
    ///
    /// If other nodes serve the database, undeclared crons stay: nodes of another release may declare them.
    pub(crate) fn enter(&self, db: &mut DbMut, now: Millis, has_other_nodes: bool) -> Result<()> {
        let mut known = HashSet::new();
        for row in db.scan::<Cron>().take(usize::MAX)? {
            let Some(declared) = self.find(&row) else {
                if !has_other_nodes {
                    db.delete(row.id())?;
                }
                continue;
            };
            known.insert((row.path.clone(), row.expression.clone()));
            if let Some(next_at) = next_after(&declared.parsed, now)
                && next_at < row.next_at
            {
                db.patch_doc(row, |row| row.next_at = next_at)?;
            }
        }
        for declared in &*self.0 {
            if known.contains(&(declared.path.to_string(), declared.expression.to_owned())) {
                continue;
            }
            if let Some(next_at) = next_after(&declared.parsed, now) {
                let (path, expression) = (declared.path.to_string(), declared.expression.to_owned());
                db.insert(Cron { path, expression, next_at, job: None, failed: None })?;
            }
        }
        Ok(())
    }

    /// Creates the job of a due cron, and stores its next time. Does nothing if the cron was fired in the meantime.
    pub(crate) fn fire(&self, db: &mut DbMut, id: Id<Cron>, due_at: Millis, now: Millis) -> Result<()> {
        let Some(row) = db.get(id)?.filter(|row| row.next_at == due_at) else { return Ok(()) };
        let Some(declared) = self.find(&row) else {
            db.delete(id)?;
            return Ok(());
        };
        let last = match row.job {
            Some(job) => db.get(job)?,
            None => None,
        };
        let last = last.map(|job| (job.id(), job.state));
        let mut failed = row.failed;
        if let Some((job, JobState::Failed)) = last
            && let Some(older) = failed.replace(job)
            && older != job
        {
            // Only the latest failure of a cron is stored.
            db.delete(older)?;
        }
        let job = match last {
            Some((job, JobState::Pending | JobState::Running)) => job,
            Some((_, JobState::Failed)) | None => db.insert(declared.job(due_at))?,
        };
        // A pattern that ends (with a year) has no next time.
        match next_after(&declared.parsed, now.max(due_at)) {
            Some(next_at) => db.patch_doc(row, |row| {
                row.next_at = next_at;
                row.job = Some(job);
                row.failed = failed;
            })?,
            None => db.patch_doc(row, |row| row.next_at = Millis(i64::MAX))?,
        };
        Ok(())
    }
}

impl Declared {
    fn job(&self, run_at: Millis) -> Job {
        let job = Job::new(self.path.to_string(), self.kind, "{}".to_owned(), run_at);
        Job { asked_at: Some(run_at), ..job }
    }
}

fn parse(expression: &str) -> Result<croner::Cron, String> {
    croner::Cron::new(expression).with_seconds_optional().parse().map_err(|error| error.to_string())
}

/// Returns the first time after `after`, in whole seconds of UTC.
fn next_after(cron: &croner::Cron, after: Millis) -> Option<Millis> {
    let second: DateTime<Utc> = DateTime::from_timestamp(after.0.div_euclid(1_000), 0)?;
    let next = cron.find_next_occurrence(&second, false).ok()?;
    Some(Millis(next.timestamp_millis()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01T00:00:00Z, a Thursday.
    const START: i64 = 1_767_225_600_000;

    fn next(expression: &str, after_ms: i64) -> i64 {
        next_after(&parse(expression).unwrap(), Millis(START + after_ms)).unwrap().0 - START
    }

    #[test]
    fn next_time_is_after_the_given_time_and_in_utc() {
        let (second, minute, hour, day) = (1_000, 60_000, 3_600_000, 86_400_000);
        assert_eq!(next("* * * * *", 0), minute);
        assert_eq!(next("* * * * *", minute - 1), minute);
        assert_eq!(next("* * * * *", 500), minute);
        assert_eq!(next("*/15 * * * * *", 15 * second), 30 * second);
        assert_eq!(next("*/15 * * * * *", 15 * second + 1), 30 * second);
        assert_eq!(next("30 3 * * *", 0), 3 * hour + 30 * minute);
        assert_eq!(next("0 0 * * MON", 0), 4 * day);
        assert_eq!(next("@hourly", 1), hour);
    }

    #[test]
    fn invalid_expressions_are_rejected() {
        assert!(parse("61 * * * *").is_err());
        assert!(parse("every minute").is_err());
    }
}
