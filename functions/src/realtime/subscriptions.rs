//! Whether a client may go on following something, and until when.

use std::time::Duration;

use convoke::leases::LeaseRejection;
use convoke::prelude::*;
use convoke::{args, mutation, query, value};
use schema::{ClientToken, Meeting, ResourceId, ResourceType, Role, User};

use super::leases::{self, Resource, Validation};
use crate::access::{self, Membership};
use crate::audit;
use crate::meetings::state;

/// How long a validation holds.
const HOLDS: Duration = Duration::from_secs(5 * 60);
/// After which a client is to connect anew: it has missed too much.
const MISSED: Duration = Duration::from_secs(10 * 60);

/// What [`validate_subscription`] takes.
///
/// ```json
/// {"subscriptionId": "notes-1", "resourceType": "meetingNotes", "resourceId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "lastValidated": 1767225600000}
/// ```
#[args]
pub struct ValidateSubscription {
    /// When the client validated it last.
    pub last_validated: Millis,
    /// The meeting whose part is followed.
    pub resource_id: ResourceId,
    /// `meeting`, `participants`, `meetingParticipants`, `notes`, `meetingNotes`, `transcript`, `transcripts`,
    /// `prompts`, `insights` or `webrtc`.
    pub resource_type: ResourceType,
    /// The client's own name of the subscription.
    pub subscription_id: ClientToken,
}

/// Whether a subscription is valid.
///
/// ```json
/// {"valid": true, "permissions": ["read", "write"], "shouldReconnect": false, "validUntil": 1767225900000}
/// ```
#[value(output)]
pub struct SubscriptionValidity {
    /// Whether the caller may go on following.
    pub valid: bool,
    /// What the caller may do with what they follow; none if it is not valid.
    pub permissions: Vec<String>,
    /// Whether the client is to connect anew: it was away for long, or may do more or less than before.
    pub should_reconnect: bool,
    /// Why it is not valid.
    pub reason: Option<String>,
    /// When it is to be validated again.
    pub valid_until: Option<Millis>,
}

/// Checks that the caller may still follow a resource. That they may not is an answer, not an error. Opens or renews
/// their lease of the subscription, which ends ten minutes after the last confirmation.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls. `UNAVAILABLE`: what other nodes know of it cannot be asked.
#[query(rights = access::user)]
pub fn validate_subscription(
    ctx: &QueryCtx,
    user: Doc<User>,
    args: ValidateSubscription,
) -> Result<SubscriptionValidity> {
    let owner = user.id();
    let Some(resource) = Resource::of(args.resource_type.as_str()) else {
        return Ok(not_valid("Unknown resource type"));
    };
    let Ok(meeting) = args.resource_id.parse::<Id<Meeting>>() else {
        return Ok(not_valid("Access denied: Not a meeting participant"));
    };
    let role = match permitted(ctx, user, resource, meeting) {
        Ok(role) => role,
        Err(error) if matches!(error.code(), Code::Forbidden | Code::FailedPrecondition) => {
            leases::found_invalid(ctx, &args.subscription_id, owner, resource, meeting)?;
            return Ok(not_valid(error.message()));
        }
        Err(error) => return Err(error),
    };
    let validation = Validation { resource, meeting, role, latency: ctx.elapsed() };
    let before = match leases::validated(ctx, &args.subscription_id, owner, &validation)? {
        Ok(before) => before,
        Err(LeaseRejection::OfAnother) => return Ok(not_valid("Subscription belongs to another user")),
        Err(LeaseRejection::OwnerIsFull | LeaseRejection::Full) => return Ok(not_valid("Too many subscriptions")),
    };
    let permissions = resource.permissions(role);
    let has_changed = before.is_some_and(|before| resource.permissions(before) != permissions);
    Ok(SubscriptionValidity {
        valid: true,
        permissions: permissions.iter().map(|&permission| permission.to_owned()).collect(),
        should_reconnect: has_changed || ctx.now().since(args.last_validated) > MISSED,
        reason: None,
        valid_until: Some(valid_until(ctx)),
    })
}

fn permitted(ctx: &QueryCtx, user: Doc<User>, resource: Resource, meeting: Id<Meeting>) -> Result<Role> {
    let Membership { meeting, participant, .. } = access::membership_of(ctx, user, meeting)?;
    if resource.needs_active_meeting() {
        state::require_active(&meeting)?;
    }
    Ok(participant.role)
}

fn not_valid(reason: &str) -> SubscriptionValidity {
    SubscriptionValidity {
        valid: false,
        permissions: Vec::new(),
        should_reconnect: false,
        reason: Some(reason.to_owned()),
        valid_until: None,
    }
}

/// No longer than the token that the caller came with.
fn valid_until(ctx: &QueryCtx) -> Millis {
    let token_ends = ctx.identity().and_then(|identity| identity.expires_at).map(|s| Millis(s.saturating_mul(1_000)));
    let holds = ctx.now() + HOLDS;
    token_ends.map_or(holds, |ends| ends.min(holds))
}

impl Resource {
    /// The kind that a client names, if there is one.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "meetingNotes" | "notes" => Some(Resource::Notes),
            "transcripts" | "transcript" => Some(Resource::Transcripts),
            "meetingParticipants" | "participants" | "meeting" => Some(Resource::Participants),
            "prompts" => Some(Resource::Prompts),
            "insights" => Some(Resource::Insights),
            "webrtc" => Some(Resource::WebRtc),
            _ => None,
        }
    }

    /// What somebody with this role may do with it.
    pub fn permissions(self, role: Role) -> &'static [&'static str] {
        match (self, role) {
            (Resource::Notes, Role::Host) => &["read", "write", "manage", "export"],
            (Resource::Transcripts, Role::Host) => &["read", "export", "manage"],
            (Resource::Participants, Role::Host) => &["read", "invite", "remove", "manage"],
            (Resource::WebRtc, Role::Host) => &["read", "write", "manage"],
            (Resource::Notes | Resource::WebRtc, Role::Participant) => &["read", "write"],
            (Resource::Transcripts | Resource::Participants, Role::Participant) => &["read"],
            (Resource::Prompts | Resource::Insights, Role::Host | Role::Participant) => &["read"],
        }
    }

    /// Whether there is anything to follow only while the meeting goes on.
    fn needs_active_meeting(self) -> bool {
        match self {
            Resource::Transcripts | Resource::WebRtc => true,
            Resource::Notes | Resource::Participants | Resource::Prompts | Resource::Insights => false,
        }
    }
}

/// What [`terminate_subscription`] takes.
#[args]
pub struct TerminateSubscription {
    pub subscription_id: ClientToken,
}

/// Ends a subscription of the caller's. Any other id, also somebody else's, is ignored.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
#[mutation(rights = access::user)]
pub fn terminate_subscription(ctx: &mut MutationCtx, user: Doc<User>, args: TerminateSubscription) -> Result<()> {
    leases::end(ctx, args.subscription_id.into_string(), user.id());
    audit::by_key(ctx, &user)
}
