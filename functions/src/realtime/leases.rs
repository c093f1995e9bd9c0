//! Subscriptions as leases: the resource of each, the number and duration of its validations, and the total traffic.
//!
//! These are statistics, not data: they are in memory beside the database, cost no write, and are empty after a
//! restart. With several nodes, all nodes share them. `subscriptions` decides who may subscribe to a resource;
//! `monitoring` decides who may see the statistics.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use convoke::Context;
use convoke::prelude::*;
use convoke::scheduler::{Lease, LeaseLimits, LeaseRejection, LeaseValue, Leases};
use schema::limits::Quotas;
use schema::{Meeting, Role, User};
use serde::{Deserialize, Serialize};

use crate::events::Event;

/// Time from the last validation to the end of a lease.
pub const LASTS: Duration = Duration::from_secs(10 * 60);
/// Time window of the total traffic.
const TRAFFIC: Duration = Duration::from_secs(60);

/// The kinds of resources. All belong to a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resource {
    Notes,
    Transcripts,
    Participants,
    Prompts,
    Insights,
    WebRtc,
}

/// A subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscription {
    /// Kind of the resource, and its meeting.
    pub resource: Resource,
    pub meeting: Id<Meeting>,
    /// Role of its owner in the meeting at the last validation; none before the first.
    pub role: Option<Role>,
    /// Start of the subscription to this resource.
    pub since: Millis,
    /// Number of validations.
    pub updates: u64,
    /// Total duration of the validations.
    pub latency: Duration,
    /// Number of failed validations.
    pub errors: u64,
    /// Time of the last validation.
    pub last_update: Millis,
}

impl LeaseValue for Subscription {
    fn merge(before: &Self, mine: Self, theirs: Self) -> Self {
        let follows = |one: &Self| (one.resource, one.meeting);
        let (newer, older) = if mine.last_update < theirs.last_update { (&theirs, &mine) } else { (&mine, &theirs) };
        if follows(newer) != follows(older) {
            return newer.clone();
        }
        // Both counts include earlier validations if the resource is the same.
        let (updates, latency, errors) = if follows(before) == follows(newer) {
            (before.updates, before.latency, before.errors)
        } else {
            (0, Duration::ZERO, 0)
        };
        Self {
            since: mine.since.min(theirs.since),
            updates: (mine.updates + theirs.updates).saturating_sub(updates),
            latency: (mine.latency + theirs.latency).saturating_sub(latency),
            errors: (mine.errors + theirs.errors).saturating_sub(errors),
            ..newer.clone()
        }
    }
}

/// Validations of one process, per second.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Updates(BTreeMap<i64, u64>);

impl LeaseValue for Updates {
    fn merge(_: &Self, mine: Self, _: Self) -> Self {
        // Only this process counts them.
        mine
    }
}

impl Updates {
    fn count(&mut self, now: Millis) {
        *self.0.entry(second_of(now)).or_default() += 1;
        let first = first_second(now);
        self.0.retain(|second, _| *second >= first);
    }

    fn last_minute(&self, now: Millis) -> u64 {
        self.0.range(first_second(now)..).map(|(_, updates)| updates).sum()
    }
}

/// Returns the first second of the last minute.
fn first_second(now: Millis) -> i64 {
    second_of(now) - second_of(Millis(0) + TRAFFIC) + 1
}

fn second_of(time: Millis) -> i64 {
    time.get().div_euclid(1_000)
}

/// All subscriptions of a runtime, and the validations of each process.
#[derive(Default)]
pub struct Subscriptions {
    leases: OnceLock<Leases<Id<User>, Subscription>>,
    updates: OnceLock<Leases<u32, Updates>>,
}

convoke::gauge!("app_subscriptions", "Subscriptions that are open now.", |runtime| {
    let all = runtime.memory::<Subscriptions>();
    all.leases.get().map_or(0.0, |leases| leases.known(runtime.clock().now()) as f64)
});

/// A successful validation.
pub struct Validation {
    pub resource: Resource,
    pub meeting: Id<Meeting>,
    pub role: Role,
    pub latency: Duration,
}

/// Opens or renews the caller's subscription with this id and counts the validation. Returns the owner's role at the
/// previous validation of the same resource, if there was one.
///
/// # Errors
/// `UNAVAILABLE`: other nodes cannot be reached.
pub fn validated(
    ctx: &impl Context,
    id: &str,
    owner: Id<User>,
    validation: &Validation,
) -> Result<Result<Option<Role>, LeaseRejection>> {
    let now = ctx.now();
    let all = of(ctx);
    let fresh = || Subscription {
        resource: validation.resource,
        meeting: validation.meeting,
        role: None,
        since: now,
        updates: 0,
        latency: Duration::ZERO,
        errors: 0,
        last_update: now,
    };
    let renewed = all.leases(ctx).renew(id, &owner, now, fresh, |held| {
        if (held.resource, held.meeting) != (validation.resource, validation.meeting) {
            *held = fresh();
        }
        held.updates += 1;
        held.latency += validation.latency;
        held.last_update = held.last_update.max(now);
        held.role.replace(validation.role)
    })?;
    if renewed.is_ok() {
        let process = ctx.process();
        let updates = all.updates(ctx);
        // The process owns it, so it is never rejected, and statistics must not fail a call.
        let _ = updates.renew(&process.to_string(), &process, now, Updates::default, |held| held.count(now));
    }
    Ok(renewed)
}

/// Counts a failed validation of the caller's subscription with this id, if it is of this resource.
///
/// # Errors
/// Like [`validated`].
pub fn found_invalid(
    ctx: &impl Context,
    id: &str,
    owner: Id<User>,
    resource: Resource,
    meeting: Id<Meeting>,
) -> Result<()> {
    let counted = of(ctx).leases(ctx).update(id, &owner, ctx.now(), |held| {
        if (held.resource, held.meeting) == (resource, meeting) {
            held.errors += 1;
        }
    });
    counted.map(drop)
}

/// Ends a subscription of the owner after the commit of the mutation. Other ids are ignored.
pub fn end(ctx: &mut MutationCtx, id: String, owner: Id<User>) {
    end_with(ctx, move |leases| leases.end(&id, &owner));
}

/// Ends the subscriptions of a user in a meeting after the commit of the mutation.
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

/// Ends all subscriptions of a user after the commit of the mutation.
pub fn end_all(ctx: &mut MutationCtx, owner: Id<User>) {
    end_those(ctx, owner, |_| true);
}

fn end_those(ctx: &mut MutationCtx, owner: Id<User>, which: impl Fn(&Subscription) -> bool + Send + 'static) {
    end_with(ctx, move |leases| leases.end_of(&owner, which));
}

fn end_with(ctx: &mut MutationCtx, end: impl FnOnce(&Leases<Id<User>, Subscription>) -> Result<()> + Send + 'static) {
    let all = of(ctx);
    all.leases(ctx);
    ctx.after_commit(move || {
        if let Some(Err(error)) = all.leases.get().map(end) {
            warn!("Subscriptions end by themselves, after their time: {error}");
        }
    });
}

/// Returns the subscriptions of one user, in the order of opening.
///
/// # Errors
/// Like [`validated`].
pub fn of_user(ctx: &impl Context, owner: Id<User>) -> Result<Vec<Lease<Id<User>, Subscription>>> {
    of(ctx).leases(ctx).of_owner(&owner, ctx.now())
}

/// Returns all subscriptions, in the order of opening.
///
/// # Errors
/// Like [`validated`].
pub fn all(ctx: &impl Context) -> Result<Vec<Lease<Id<User>, Subscription>>> {
    of(ctx).leases(ctx).all(ctx.now())
}

/// Returns the number of subscriptions validated within the last minute, and the number of validations, of all
/// processes.
///
/// # Errors
/// Like [`validated`].
pub fn traffic(ctx: &impl Context) -> Result<(u64, u64)> {
    let (all, now) = (of(ctx), ctx.now());
    let processes = all.updates(ctx).all(now)?;
    let updates = processes.iter().map(|process| process.value.last_minute(now)).sum();
    Ok((all.leases(ctx).renewed_within(TRAFFIC, now)?, updates))
}

fn of(ctx: &impl Context) -> Arc<Subscriptions> {
    ctx.memory::<Subscriptions>()
}

impl Subscriptions {
    fn leases(&self, ctx: &impl Context) -> &Leases<Id<User>, Subscription> {
        self.leases.get_or_init(|| {
            let quotas = ctx.settings::<Quotas>();
            let (of_one_owner, in_all) = (quotas.leases_per_user, quotas.leases_in_all);
            ctx.leases("subscriptions", LeaseLimits { of_one_owner, in_all, lasts: LASTS })
        })
    }

    fn updates(&self, ctx: &impl Context) -> &Leases<u32, Updates> {
        let limits = LeaseLimits { of_one_owner: 1, in_all: usize::MAX, lasts: TRAFFIC };
        self.updates.get_or_init(|| ctx.leases("validations", limits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_counts_updates() {
        let mut updates = Updates::default();
        for now in [1_000, 1_999, 30_000] {
            updates.count(Millis(now));
        }
        assert_eq!(updates.last_minute(Millis(60_999)), 3);
        // The first second is no longer within the minute.
        assert_eq!(updates.last_minute(Millis(61_000)), 1);
        assert_eq!(updates.last_minute(Millis(90_000)), 0);
        updates.count(Millis(90_000));
        assert_eq!(updates.0.len(), 1, "unused counts are removed");
    }

    #[test]
    fn counts_of_two_nodes_are_added_unless_the_subscription_was_rebound() {
        let subscription = |meeting: u128, updates: u64, at: i64| Subscription {
            resource: Resource::Notes,
            meeting: Id::from_bits(meeting),
            role: Some(Role::Host),
            since: Millis(1_000),
            updates,
            latency: Duration::from_millis(updates),
            errors: updates,
            last_update: Millis(at),
        };
        let before = subscription(1, 3, 5_000);
        let merged = Subscription::merge(&before, subscription(1, 5, 6_000), subscription(1, 4, 7_000));
        assert_eq!(merged, subscription(1, 6, 7_000));
        let bound = subscription(2, 1, 7_000);
        assert_eq!(Subscription::merge(&before, subscription(1, 5, 6_000), bound.clone()), bound);
        assert_eq!(Subscription::merge(&before, bound.clone(), subscription(1, 5, 6_000)), bound);
        let merged = Subscription::merge(&before, bound.clone(), subscription(2, 2, 6_000));
        assert_eq!(merged, subscription(2, 3, 7_000));
    }
}
