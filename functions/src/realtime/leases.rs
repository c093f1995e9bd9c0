//! Subscriptions as leases in memory: what each follows, how often and how fast it is validated, and what passes
//! through the whole process.
//!
//! Figures, not facts: they cost no write, and a restart begins them anew. Who may follow what is decided by
//! `subscriptions`; who may see which figures, by `monitoring`.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use convoke::Context;
use convoke::leases::{Lease, LeaseLimits, LeaseRejection, Leases};
use convoke::prelude::*;
use parking_lot::Mutex;
use schema::limits::Quotas;
use schema::{Meeting, User};

use crate::events::Event;

/// How long after its last validation a lease ends.
pub const LASTS: Duration = Duration::from_secs(10 * 60);
/// How far back the figures of the whole process go, in seconds.
const TRAFFIC_S: i64 = 60;

/// The kinds of things that can be followed. All belong to a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    Notes,
    Transcripts,
    Participants,
    Prompts,
    Insights,
    WebRtc,
}

/// A subscription.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscription {
    /// What it follows, and in which meeting.
    pub resource: Resource,
    pub meeting: Id<Meeting>,
    /// What its owner might do at the last validation; none before the first.
    pub permissions: Option<&'static [&'static str]>,
    /// Since when it follows that.
    pub since: Millis,
    /// How often it was validated.
    pub updates: u64,
    /// How long that took together.
    pub latency: Duration,
    /// How often it was found not valid.
    pub errors: u64,
    /// When it was validated last.
    pub last_update: Millis,
}

/// All subscriptions of a runtime.
#[derive(Default)]
pub struct Subscriptions {
    leases: OnceLock<Leases<Id<User>, Subscription>>,
    traffic: Mutex<Traffic>,
}

convoke::gauge!("app_subscriptions", "Subscriptions that are open now.", |runtime| {
    let all = runtime.memory::<Subscriptions>();
    all.leases.get().map_or(0.0, |leases| leases.len(runtime.clock().now()) as f64)
});

/// A validation that succeeded.
pub struct Validation {
    pub resource: Resource,
    pub meeting: Id<Meeting>,
    pub permissions: &'static [&'static str],
    pub latency: Duration,
}

/// Opens or renews the caller's subscription of this id and counts the validation. Returns what its owner might do at
/// the one before, if there was one of the same thing.
///
/// # Errors
/// [`LeaseRejection`].
pub fn validated(
    ctx: &impl Context,
    id: &str,
    owner: Id<User>,
    validation: &Validation,
) -> Result<Option<&'static [&'static str]>, LeaseRejection> {
    let now = ctx.now();
    let all = ctx.memory::<Subscriptions>();
    let fresh = || Subscription {
        resource: validation.resource,
        meeting: validation.meeting,
        permissions: None,
        since: now,
        updates: 0,
        latency: Duration::ZERO,
        errors: 0,
        last_update: now,
    };
    let (before, last_update) = all.leases(ctx).renew(id, &owner, now, fresh, |held| {
        let last_update = (held.updates > 0).then_some(held.last_update);
        if (held.resource, held.meeting) != (validation.resource, validation.meeting) {
            *held = fresh();
        }
        held.updates += 1;
        held.latency += validation.latency;
        held.last_update = held.last_update.max(now);
        (held.permissions.replace(validation.permissions), last_update)
    })?;
    all.traffic.lock().count(now, last_update);
    Ok(before)
}

/// Counts that the caller's subscription of this id was found not valid, if they have one of this thing.
pub fn found_invalid(ctx: &impl Context, id: &str, owner: Id<User>, resource: Resource, meeting: Id<Meeting>) {
    let all = ctx.memory::<Subscriptions>();
    all.leases(ctx).update(id, &owner, ctx.now(), |held| {
        if (held.resource, held.meeting) == (resource, meeting) {
            held.errors += 1;
        }
    });
}

/// Ends a subscription of the owner's once the mutation is committed; any other id is passed over.
pub fn end(ctx: &mut MutationCtx, id: String, owner: Id<User>) {
    let all = of(ctx);
    ctx.after_commit(move || {
        if let Some(ended) = all.leases.get().and_then(|leases| leases.end(&id, &owner)) {
            all.traffic.lock().forget(ended.last_update);
        }
    });
}

/// Ends what a user follows in a meeting, once the mutation is committed.
fn end_in(ctx: &mut MutationCtx, owner: Id<User>, meeting: Id<Meeting>) {
    end_those(ctx, owner, move |held| held.meeting == meeting);
}

crate::listener!(hear);

fn hear(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, event: Event) -> Result<()> {
    if let Event::ParticipantRemoved(user) = event {
        end_in(ctx, user, meeting.id());
    }
    Ok(())
}

/// Ends all that a user follows, once the mutation is committed.
pub fn end_all(ctx: &mut MutationCtx, owner: Id<User>) {
    end_those(ctx, owner, |_| true);
}

fn end_those(ctx: &mut MutationCtx, owner: Id<User>, which: impl Fn(&Subscription) -> bool + Send + 'static) {
    let all = of(ctx);
    ctx.after_commit(move || {
        let Some(leases) = all.leases.get() else { return };
        let mut ended = Vec::new();
        leases.end_of(&owner, |held| {
            let is_meant = which(held);
            if is_meant {
                ended.push(held.last_update);
            }
            is_meant
        });
        let mut traffic = all.traffic.lock();
        ended.into_iter().for_each(|last_update| traffic.forget(last_update));
    });
}

/// The subscriptions of one user, in the order of opening.
pub fn of_user(ctx: &impl Context, owner: Id<User>) -> Vec<Lease<Id<User>, Subscription>> {
    of(ctx).leases(ctx).of(&owner, ctx.now())
}

/// All subscriptions, in the order of opening.
pub fn all(ctx: &impl Context) -> Vec<Lease<Id<User>, Subscription>> {
    of(ctx).leases(ctx).all(ctx.now())
}

/// Subscriptions that were validated within the last minute, and how often that was, of the whole process.
pub fn traffic(ctx: &impl Context) -> (u64, u64) {
    of(ctx).traffic.lock().last_minute(ctx.now())
}

fn of(ctx: &impl Context) -> Arc<Subscriptions> {
    ctx.memory::<Subscriptions>()
}

impl Subscriptions {
    fn leases(&self, ctx: &impl Context) -> &Leases<Id<User>, Subscription> {
        self.leases.get_or_init(|| {
            let quotas = ctx.settings::<Quotas>();
            Leases::new(LeaseLimits {
                of_one_owner: quotas.leases_per_user,
                in_all: quotas.leases_in_all,
                lasts: LASTS,
            })
        })
    }
}

/// The last minute, second by second: how many validations there were, and how many subscriptions had their last one
/// then. So the sums are at hand however many subscriptions there are.
#[derive(Default)]
struct Traffic {
    seconds: BTreeMap<i64, Second>,
}

#[derive(Default)]
struct Second {
    updates: u64,
    subscriptions: u64,
}

impl Traffic {
    /// A validation now of a subscription whose former one was at `former`.
    fn count(&mut self, now: Millis, former: Option<Millis>) {
        if let Some(former) = former {
            self.forget(former);
        }
        let second = self.seconds.entry(second_of(now)).or_default();
        second.updates += 1;
        second.subscriptions += 1;
        self.forget_before(now);
    }

    /// A subscription whose last validation was then has ended, or has a later one.
    fn forget(&mut self, last_update: Millis) {
        if let Some(second) = self.seconds.get_mut(&second_of(last_update)) {
            second.subscriptions = second.subscriptions.saturating_sub(1);
        }
    }

    fn last_minute(&mut self, now: Millis) -> (u64, u64) {
        self.forget_before(now);
        let sum = |of: fn(&Second) -> u64| self.seconds.values().map(of).sum();
        (sum(|second| second.subscriptions), sum(|second| second.updates))
    }

    fn forget_before(&mut self, now: Millis) {
        let first = second_of(now) - TRAFFIC_S + 1;
        while self.seconds.first_key_value().is_some_and(|(second, _)| *second < first) {
            self.seconds.pop_first();
        }
    }
}

fn second_of(time: Millis) -> i64 {
    time.get().div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_counts_updates_and_each_subscription_once() {
        let mut traffic = Traffic::default();
        traffic.count(Millis(1_000), None);
        traffic.count(Millis(1_999), Some(Millis(1_000)));
        traffic.count(Millis(30_000), None);
        assert_eq!(traffic.last_minute(Millis(60_999)), (2, 3));
        // The first second has left the minute.
        assert_eq!(traffic.last_minute(Millis(61_000)), (1, 1));
        assert_eq!(traffic.last_minute(Millis(90_000)), (0, 0));
        assert!(traffic.seconds.is_empty());
    }

    #[test]
    fn what_ended_is_active_no_more_but_its_updates_count() {
        let mut traffic = Traffic::default();
        traffic.count(Millis(0), None);
        traffic.count(Millis(5), None);
        traffic.forget(Millis(0));
        assert_eq!(traffic.last_minute(Millis(10)), (1, 2));
        traffic.forget(Millis(600_000));
        assert_eq!(traffic.last_minute(Millis(10)), (1, 2));
    }
}
