//! Access tokens for media rooms.

use aws_lc_rs::rand;
use convoke::prelude::*;
use convoke::{action, args, mutation, value};
use schema::{ClientToken, Meeting, MeetingState, MeetingType, Profile, Role, User, VideoProvider};

use super::settings::Rooms;
use super::tokens::{self, Admission, Permissions, Recording, Validity};
use super::{keys, session};
use crate::access::{self, Membership};
use crate::meetings::{presence, state};
use crate::{audit, names};

/// Arguments of [`generate_participant_access_token`].
#[args]
pub struct GenerateParticipantAccessToken {
    pub meeting_id: Id<Meeting>,
    /// Id of the session, chosen by the client: one per tab or device. Absent: a new one.
    pub session_id: Option<ClientToken>,
}

/// Access to a room.
///
/// ```json
/// {"token": "eyJ…", "provider": "webrtc", "roomId": "3f0c…", "participantId": "tab-1",
///  "permissions": {"canRecord": false, "canMute": true, "canKick": true, "canShare": true}, "success": true}
/// ```
#[value(output)]
pub struct AccessGrant {
    /// Token for the room, in LiveKit's format.
    pub token: String,
    /// Media provider.
    pub provider: VideoProvider,
    /// Id of the room at the media provider.
    pub room_id: String,
    /// Identity of the caller in the room, which is the id of the session.
    pub participant_id: ClientToken,
    /// Permissions of the caller in the room.
    pub permissions: Permissions,
    /// Always true; a failure is an error.
    pub success: bool,
}

/// Issues an access token for the meeting's media room.
///
/// Creates or renews the caller's session and issues a new token for it. The first request of a host starts a scheduled
/// meeting.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
/// - `FAILED_PRECONDITION`: "Cannot generate token for inactive meeting", "Meeting is full", "Too many open sessions".
/// - `CONFLICT`: "Session ID is already in use" by another user.
/// - `PROVIDER_ERROR`: the media server of the meeting is not configured any more.
#[action(rate = "tokens", rights = access::participant(args.meeting_id))]
pub async fn generate_participant_access_token(
    ctx: &ActionCtx,
    _: Membership,
    args: GenerateParticipantAccessToken,
) -> Result<AccessGrant> {
    let participant_id = match args.session_id {
        Some(session_id) => session_id,
        None => ClientToken::new(random_id()?).map_err(Error::internal)?,
    };
    let admit = Admit { meeting_id: args.meeting_id, session_id: participant_id.clone() };
    let admitted = ctx.run::<admit>(admit).await?;
    let key = keys::room_key(ctx, admitted.provider)?;
    let room_role = tokens::RoomRole::of(admitted.role, admitted.meeting_type);
    let recording = if admitted.recording_enabled { Recording::Enabled } else { Recording::Disabled };
    let admission = Admission {
        participant_id: &participant_id,
        name: &admitted.name,
        room_id: &admitted.room_id,
        meeting_id: &args.meeting_id.to_string(),
        user_id: &admitted.user_id.to_string(),
        session_id: &participant_id,
        room_role,
        recording,
    };
    let validity = Validity {
        now_s: ctx.now().get() / 1_000,
        valid_s: ctx.settings::<Rooms>().token_valid_s.get(),
        jti: &random_id()?,
    };
    let token = tokens::mint(&key, &admission, &validity).map_err(Error::internal)?;
    Ok(AccessGrant {
        token,
        provider: admitted.provider,
        room_id: admitted.room_id,
        participant_id,
        permissions: tokens::permissions(room_role, recording),
        success: true,
    })
}

/// Arguments of [`admit`].
#[args]
pub struct Admit {
    pub meeting_id: Id<Meeting>,
    pub session_id: ClientToken,
}

/// An admitted participant, with the content of the token.
#[value]
pub struct Admitted {
    pub user_id: Id<User>,
    /// Display name.
    pub name: String,
    pub role: Role,
    pub provider: VideoProvider,
    pub room_id: String,
    pub meeting_type: MeetingType,
    pub recording_enabled: bool,
}

/// The transaction of [`generate_participant_access_token`]: starts the meeting and creates the session. It checks the
/// rights again, since the caller may have lost them after the action started.
///
/// # Errors
/// As there.
#[mutation(internal, rights = access::participant(args.meeting_id))]
pub fn admit(ctx: &mut MutationCtx, mut membership: Membership, args: Admit) -> Result<Admitted> {
    membership.meeting = going_on(ctx, &membership)?;
    presence::require_room(ctx, &membership)?;
    session::open(ctx, &membership, &args.session_id)?;
    audit::by_key(ctx, &membership.user)?;
    let profile = ctx.db().query(Profile::by_user).eq(membership.user.id()).unique()?;
    Ok(Admitted {
        user_id: membership.user.id(),
        name: names::display_name(&membership.user, profile.as_deref()),
        role: membership.participant.role,
        provider: membership.meeting.video_provider,
        room_id: membership.meeting.room_id.clone(),
        meeting_type: membership.meeting.meeting_type,
        recording_enabled: membership.meeting.recording_enabled,
    })
}

/// Returns the meeting; the first token request of a host starts it.
fn going_on(ctx: &mut MutationCtx, membership: &Membership) -> Result<Doc<Meeting>> {
    match membership.meeting.state {
        MeetingState::Active => Ok(membership.meeting.clone()),
        MeetingState::Scheduled if membership.is_host() => {
            let actor = access::actor(ctx, Some(&membership.user));
            state::start(ctx, membership.meeting.clone(), &actor)
        }
        MeetingState::Scheduled | MeetingState::Concluded | MeetingState::Cancelled => {
            Err(Error::failed_precondition("Cannot generate token for inactive meeting"))
        }
    }
}

/// Returns 128 random bits in hex.
fn random_id() -> Result<String> {
    let mut bytes = [0; 16];
    rand::fill(&mut bytes).map_err(|_| Error::internal("the system has no random bytes"))?;
    Ok(hex::encode(bytes))
}
