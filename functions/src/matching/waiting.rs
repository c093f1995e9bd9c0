//! The input of the matcher: the waiting users, read on one snapshot in a fixed number of statements.

use std::collections::{HashMap, HashSet};
use std::ops::Bound;

use convoke::prelude::*;
use convoke::store::Db;
use convoke::{query, value};
use schema::{Match, MatchConstraints, MatchOutcome, MatchStatus, QueueEntry, QueueStatus, User};

use super::candidate::{Interest, Person, Window};
use super::settings::Matching;
use crate::people::{self, PersonRecord};

/// Most waiting entries that are read to find the longest-waiting.
const READ_MAX: usize = 50_000;

/// The users who can be matched, and their recent declines.
#[value(output)]
pub struct Applicants {
    /// Waiting entries of active users without an open match, longest-waiting first.
    pub applicants: Vec<Applicant>,
    /// Recent declines between them.
    pub declines: Vec<Decline>,
    /// Number of all waiting entries.
    pub waiting: i64,
}

/// A waiting user.
#[value(output)]
pub struct Applicant {
    pub entry: Doc<QueueEntry>,
    pub person: PersonRecord,
}

/// A decline of one user by the other.
#[value(output)]
pub struct Decline {
    pub a: Id<User>,
    pub b: Id<User>,
    pub at: Millis,
}

/// Returns the users who wait now.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn applicants(ctx: &QueryCtx) -> Result<Applicants> {
    let settings = ctx.settings::<Matching>();
    let now = ctx.now();
    let mut entries = entries(ctx.db(), now, READ_MAX)?;
    let waiting = i64::try_from(entries.len()).unwrap_or(i64::MAX);
    let engaged = engaged(ctx.db(), now)?;
    entries.retain(|entry| !engaged.contains(&entry.user_id));
    entries.sort_by_key(|entry| (entry.creation_time(), entry.id()));
    entries.truncate(settings.waiting_max);
    let ids: Vec<Id<User>> = entries.iter().map(|entry| entry.user_id).collect();
    let people = people::of(ctx, &ids)?;
    let mut people: HashMap<Id<User>, PersonRecord> = people.into_iter().map(|one| (one.user.id(), one)).collect();
    let applicant = |entry: Doc<QueueEntry>| {
        let person = people.remove(&entry.user_id).filter(|person| person.user.is_active)?;
        Some(Applicant { entry, person })
    };
    let applicants: Vec<Applicant> = entries.into_iter().filter_map(applicant).collect();
    let users: HashSet<Id<User>> = applicants.iter().map(|applicant| applicant.person.user.id()).collect();
    let since = Millis(now.get() - settings.rules.decline_ms);
    Ok(Applicants { applicants, declines: declines(ctx.db(), &users, since)?, waiting })
}

/// Returns waiting entries that have not expired, by their end.
///
/// # Errors
/// A failure of the store.
pub fn entries(db: &Db, now: Millis, rows_max: usize) -> Result<Vec<Doc<QueueEntry>>> {
    let waiting = db.query(QueueEntry::by_status_available).eq(QueueStatus::Waiting);
    Ok(waiting.range((Bound::Excluded(now), Bound::Unbounded)).take(rows_max)?)
}

/// Returns the users in open matches.
fn engaged(db: &Db, now: Millis) -> Result<HashSet<Id<User>>> {
    let open = db.query(Match::by_status).eq(MatchStatus::Proposed).range((Bound::Excluded(now), Bound::Unbounded));
    Ok(open.take(READ_MAX)?.iter().flat_map(|row| [row.user_a, row.user_b]).collect())
}

/// Returns the declines between these users since then. A match can only be declined before it expires.
fn declines(db: &Db, users: &HashSet<Id<User>>, since: Millis) -> Result<Vec<Decline>> {
    let mut declined = db.query(Match::by_status).eq(MatchStatus::Declined).range(since..).take(READ_MAX)?;
    declined.retain(|row| users.contains(&row.user_a) && users.contains(&row.user_b));
    let ids: Vec<Id<Match>> = declined.iter().map(Doc::id).collect();
    let outcomes = db.query(MatchOutcome::by_match_user).any(&ids).take(2 * ids.len())?;
    let mut latest: HashMap<Id<Match>, Millis> = HashMap::new();
    for outcome in outcomes {
        if let Some(at) = outcome.declined_at {
            let known = latest.entry(outcome.match_id).or_insert(at);
            *known = at.max(*known);
        }
    }
    let decline = |row: &Doc<Match>| Some(Decline { a: row.user_a, b: row.user_b, at: *latest.get(&row.id())? });
    Ok(declined.iter().filter_map(decline).collect())
}

/// Returns a person in the form for the matcher.
pub fn person(person: &PersonRecord, constraints: Option<&MatchConstraints>, window: Option<Window>) -> Person {
    let profile = person.profile.as_ref();
    let text = |text: Option<&str>| text.map(str::to_owned);
    let interests = person.interests.iter();
    let user = &person.user;
    Person {
        interests: interests
            .map(|one| Interest { key: one.key.as_str().to_owned(), label: one.label.clone() })
            .collect(),
        bio: text(profile.and_then(|row| row.bio.as_deref())),
        goals: text(profile.and_then(|row| row.goals.as_deref())),
        experience: text(profile.and_then(|row| row.experience.as_deref())),
        field: text(profile.and_then(|row| row.field.as_deref())),
        job_title: text(profile.and_then(|row| row.job_title.as_deref())),
        company: text(profile.and_then(|row| row.company.as_deref())),
        languages: profile.iter().flat_map(|row| &row.languages).map(|name| name.as_str().to_owned()).collect(),
        organization: user.org_id.clone().filter(|id| !id.is_empty()).map(|id| (user.issuer.clone(), id)),
        window,
        wanted_interests: constraints.iter().flat_map(|of| &of.interests).map(|one| one.as_str().to_owned()).collect(),
        roles: constraints.iter().flat_map(|of| &of.roles).map(|one| one.as_str().to_owned()).collect(),
        organization_wish: text(constraints.and_then(|of| of.org_constraints.as_deref())),
    }
}

/// Returns the availability of a waiting user.
pub fn window(entry: &QueueEntry) -> Window {
    Window { from: entry.available_from.get(), to: entry.available_to.get() }
}
