//! Events of a LiveKit server: they bring sessions and presence up to date when a client cannot report itself.

use convoke::prelude::*;
use schema::{ClientToken, MediaSession, Meeting, Participant, Presence, SessionState, User};
use schemars::JsonSchema;
use serde::Deserialize;

use super::livekit_signature::signed_by_livekit;
use super::session::{self, Report};
use crate::access::{self, Membership};
use crate::meetings::{presence, sessions, state};

/// More present participants than a meeting can have.
const PRESENT_MAX: usize = 20_000;

/// An event. The server sends more members, and later versions add others.
///
/// ```json
/// {"event": "participant_left", "id": "EV_4bqTzQ", "room": {"name": "3f0c"}, "participant": {"identity": "tab-1"}}
/// ```
#[derive(Clone, Deserialize, JsonSchema)]
pub struct LivekitEvent {
    /// Its kind: `participant_joined`, `participant_left`, `room_finished`, or another one.
    pub event: String,
    /// The room.
    pub room: Option<Room>,
    /// The participant.
    pub participant: Option<RoomParticipant>,
}

/// The room of an event.
#[derive(Clone, Deserialize, JsonSchema)]
pub struct Room {
    /// The `roomId` of a meeting.
    pub name: String,
}

/// The participant of an event.
#[derive(Clone, Deserialize, JsonSchema)]
pub struct RoomParticipant {
    /// The id of a session.
    pub identity: String,
}

/// Receives the events of the configured LiveKit server.
///
/// A participant who joined has a connected session and is present. The session of a participant who left is closed, and
/// a user without another session has left the meeting. When a room is finished, all its sessions are closed, and all
/// participants have left. Other events, and events of unknown rooms and sessions, change nothing.
///
/// # Errors
/// `INVALID_ARGUMENT`: the event has no `id`.
#[route(POST, "/hooks/livekit", verify = signed_by_livekit, once = json("/id"))]
pub fn receive(ctx: &mut MutationCtx, event: Json<LivekitEvent>) -> Result<Response> {
    let Json(LivekitEvent { event, room, participant }) = event;
    let meeting = match &room {
        Some(room) => ctx.db().query(Meeting::by_room).eq(&room.name).unique()?,
        None => None,
    };
    let Some(meeting) = meeting else { return Ok(Response::empty()) };
    let found = match &participant {
        Some(participant) => session_of(ctx, &meeting, &participant.identity)?,
        None => None,
    };
    match (event.as_str(), found) {
        ("participant_joined", Some((membership, session))) => joined(ctx, membership, session)?,
        ("participant_left", Some((membership, session))) => left(ctx, membership, session)?,
        ("room_finished", _) => finished(ctx, &meeting)?,
        _ => {}
    }
    Ok(Response::empty())
}

/// Returns the session with this identity, and the membership of its user.
fn session_of(
    ctx: &impl Read,
    meeting: &Doc<Meeting>,
    identity: &str,
) -> Result<Option<(Membership, Doc<MediaSession>)>> {
    let Ok(session_id) = ClientToken::new(identity) else { return Ok(None) };
    let Some(session) = sessions::find(ctx, meeting.id(), &session_id)? else { return Ok(None) };
    let Some(user) = ctx.db().get::<User>(session.user_id)? else { return Ok(None) };
    // A removed participant has sessions, and no membership.
    let membership = access::membership_of(ctx, user, meeting.id()).ok();
    Ok(membership.map(|membership| (membership, session)))
}

fn joined(ctx: &mut MutationCtx, membership: Membership, session: Doc<MediaSession>) -> Result<()> {
    let is_late = session.state == SessionState::Closed
        || state::require_open(&membership.meeting).is_err()
        || presence::require_room(ctx, &membership).is_err();
    if is_late {
        return Ok(());
    }
    let session_id = session.session_id.clone();
    let connected = Report { state: SessionState::Connected, metadata: None };
    match session::report(ctx, membership, &session_id, Some(session), connected) {
        // The user has too many sessions; nothing is written before this error.
        Err(error) if error.code() == Code::FailedPrecondition => Ok(()),
        reported => reported.map(drop),
    }
}

fn left(ctx: &mut MutationCtx, membership: Membership, session: Doc<MediaSession>) -> Result<()> {
    session::close(ctx, session)?;
    let others = sessions::open_of(ctx, membership.meeting.id(), membership.user.id())?;
    if others.is_empty() && membership.participant.presence == Presence::Joined {
        presence::leave(ctx, membership, None)?;
    }
    Ok(())
}

fn finished(ctx: &mut MutationCtx, meeting: &Doc<Meeting>) -> Result<()> {
    sessions::close_all(ctx, meeting.id())?;
    let present =
        ctx.db().query(Participant::by_meeting_presence).eq(meeting.id()).eq(Presence::Joined).take(PRESENT_MAX)?;
    for participant in present {
        presence::end_lease(ctx, participant.id())?;
        presence::write(ctx, participant, Presence::Left, None)?;
    }
    presence::update_empty_since(ctx, meeting.id())?;
    Ok(())
}
