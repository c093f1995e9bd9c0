//! Actions of admins on meetings of their organization.

use convoke::prelude::*;
use convoke::{args, mutation};
use schema::{Meeting, Role, UserRef};

use super::{participants, roles};
use crate::access::{self, Admin, Administered};

/// Arguments of [`assign_host`].
#[args]
pub struct AssignHost {
    pub meeting_id: Id<Meeting>,
    /// A participant: an id, or the `sub` of a token of the caller's issuer.
    pub user_id: UserRef,
}

/// Makes a participant a host, for a meeting whose only host has left the organization.
///
/// # Errors
/// - `FORBIDDEN`: the caller is no admin of the organization of the meeting's organizer and of the user.
/// - `NOT_FOUND`: "User not found", "Participant not found in meeting"; for a deploy key also "Meeting not found".
#[mutation(admin, rights = administered_place(args.meeting_id, &args.user_id))]
pub fn assign_host(ctx: &mut MutationCtx, place: AdministeredMeeting, _: AssignHost) -> Result<()> {
    let AdministeredMeeting { meeting, named: Administered { user, actor } } = place;
    let participant = participants::find(ctx, meeting.id(), user.id())?;
    let participant = participant.ok_or_else(|| Error::not_found("Participant not found in meeting"))?;
    roles::set_role(ctx, &meeting, participant, Role::Host, &actor)
}

/// A meeting and a user of an organization that the caller administers.
pub struct AdministeredMeeting {
    /// The meeting.
    pub meeting: Doc<Meeting>,
    /// The user.
    pub named: Administered,
}

fn administered_place(ctx: &impl Read, meeting: Id<Meeting>, who: &UserRef) -> Result<AdministeredMeeting> {
    let admin = access::admin(ctx)?;
    let meeting = match (ctx.db().get(meeting)?, &admin) {
        (Some(meeting), _) => meeting,
        (None, Admin::DeployKey) => return Err(Error::not_found("Meeting not found")),
        // The same error as for a meeting of another organization.
        (None, Admin::User(_)) => return Err(access::insufficient()),
    };
    let organizer = ctx.db().get(meeting.organizer_id)?;
    if !organizer.is_some_and(|organizer| admin.may_change(&organizer)) {
        return Err(access::insufficient());
    }
    Ok(AdministeredMeeting { meeting, named: access::administered(ctx, who)? })
}
