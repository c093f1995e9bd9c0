//! The lifecycle of a meeting: creation, start, end, joining and leaving, and its participants.

use convoke::prelude::*;
use convoke::{Context, action, args, mutation, value};
use schema::{
    Details, EmailAddress, IdempotencyKey, List, MaxParticipants, Meeting, MeetingDescription, MeetingDuration,
    MeetingState, MeetingTitle, MeetingType, Participant, ParticipantEmail, Role, User, UserRef,
};

use super::creation::{self, MeetingCreated, NewMeeting};
use super::webrtc::connection::{self, ConnectionInfo};
use super::{invitations, participants, presence, provider, roles, state};
use crate::access::{self, Membership};
use crate::audit;
use crate::events::{self, Event};

/// Arguments of [`create_meeting`].
///
/// ```json
/// {"title": "Planning", "description": "What comes next, and who does it.", "scheduledAt": 1767225600000,
///  "duration": 1800000, "participantEmails": ["grace@example.com"], "recordingEnabled": false,
///  "transcriptionEnabled": true, "meetingType": "small-group", "maxParticipants": 8,
///  "idempotencyKey": "5f0c8a52-1f0e-4c0a-9a51-6f1e2b7d3c44"}
/// ```
#[args]
pub struct CreateMeeting {
    pub title: MeetingTitle,
    pub description: Option<MeetingDescription>,
    /// Start time. Absent, past, or within five minutes: the meeting starts immediately.
    pub scheduled_at: Option<Millis>,
    /// Planned duration, for display only.
    #[default(MeetingDuration::default())]
    pub duration: MeetingDuration,
    /// Addresses to invite. Users with that verified address become participants immediately, others at their first
    /// login with it.
    #[default(List::default())]
    pub participant_emails: List<ParticipantEmail, 0, 500>,
    /// True if the meeting may be recorded.
    #[default(false)]
    pub recording_enabled: bool,
    /// True if the speech is transcribed.
    #[default(true)]
    pub transcription_enabled: bool,
    /// Absent: derived from `maxParticipants`.
    pub meeting_type: Option<MeetingType>,
    /// Most participants at the same time. Absent: derived from `meetingType`.
    pub max_participants: Option<MaxParticipants>,
    /// A retry with the same key and arguments creates no second meeting and returns the first one.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// Creates a meeting with the caller as its host, and invites participants.
///
/// # Errors
/// - `INVALID_ARGUMENT`: "Meeting title cannot be empty", "Maximum participants must be at least 1", "Invalid
///   participant email: x" (`field` is `participantEmails[i]`).
/// - `FAILED_PRECONDITION`: more invitations than one user may send a day, or one address may have.
/// - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
#[mutation(tool, rights = access::user)]
pub fn create_meeting(ctx: &mut MutationCtx, user: Doc<User>, args: CreateMeeting) -> Result<MeetingCreated> {
    let key = args.idempotency_key.clone();
    ctx.once(key.as_ref().map(IdempotencyKey::as_str), &args.clone(), |ctx| {
        let emails = args.participant_emails.into_iter().map(ParticipantEmail::into_address);
        let new = NewMeeting {
            title: args.title,
            description: args.description.filter(|text| !text.as_str().is_empty()),
            scheduled_at: args.scheduled_at,
            duration: args.duration,
            meeting_type: args.meeting_type,
            max_participants: args.max_participants,
            recording_enabled: args.recording_enabled,
            transcription_enabled: args.transcription_enabled,
        };
        creation::create(ctx, &user, new, emails)
    })
}

/// The id of a meeting: arguments of many functions.
#[args]
pub struct OneMeeting {
    pub meeting_id: Id<Meeting>,
}

/// A confirmation.
///
/// ```json
/// {"success": true}
/// ```
#[value]
pub struct Success {
    /// Always true; a failure is an error.
    pub success: bool,
}

const SUCCESS: Success = Success { success: true };

/// Starts a scheduled meeting.
///
/// # Errors
/// - `FORBIDDEN`: the caller does not host it.
/// - `FAILED_PRECONDITION`: "Meeting is already active", "Cannot start a concluded or cancelled meeting".
#[mutation(rights = access::host(args.meeting_id))]
pub fn start_meeting(ctx: &mut MutationCtx, membership: Membership, _: OneMeeting) -> Result<Success> {
    let Membership { user, meeting, .. } = membership;
    if meeting.state == MeetingState::Active {
        return Err(Error::failed_precondition("Meeting is already active"));
    }
    let actor = access::actor(ctx, Some(&user));
    state::start(ctx, meeting, &actor)?;
    Ok(SUCCESS)
}

/// The result of [`end_meeting`].
///
/// ```json
/// {"success": true, "durationMs": 1800000}
/// ```
#[value]
pub struct MeetingEnded {
    /// Always true; a failure is an error.
    pub success: bool,
    /// Time from its start to its end, in milliseconds.
    pub duration_ms: i64,
}

/// Ends an active meeting: all participants leave, sessions are closed, and open invitations are deleted.
///
/// # Errors
/// - `FORBIDDEN`: the caller does not host it.
/// - `FAILED_PRECONDITION`: "Can only end active meetings".
#[mutation(rights = access::host(args.meeting_id))]
pub fn end_meeting(ctx: &mut MutationCtx, membership: Membership, _: OneMeeting) -> Result<MeetingEnded> {
    let Membership { user, meeting, .. } = membership;
    let actor = access::actor(ctx, Some(&user));
    let meeting = state::conclude(ctx, meeting, &actor)?;
    let ended_at = meeting.ended_at.unwrap_or_else(|| ctx.now());
    let duration_ms = meeting.started_at.map_or(0, |started| (ended_at.get() - started.get()).max(0));
    Ok(MeetingEnded { success: true, duration_ms })
}

/// Cancels a scheduled meeting.
///
/// # Errors
/// - `FORBIDDEN`: the caller does not host it.
/// - `FAILED_PRECONDITION`: "Cannot cancel active meeting - end it instead", "Meeting is already concluded or
///   cancelled".
#[mutation(rights = access::host(args.meeting_id))]
pub fn cancel_meeting(ctx: &mut MutationCtx, membership: Membership, _: OneMeeting) -> Result<Success> {
    let Membership { user, meeting, .. } = membership;
    let actor = access::actor(ctx, Some(&user));
    state::cancel(ctx, meeting, &actor)?;
    Ok(SUCCESS)
}

/// The result of [`join_meeting`].
///
/// ```json
/// {"success": true, "webrtcReady": true}
/// ```
#[value]
pub struct MeetingJoined {
    /// Always true; a failure is an error.
    pub success: bool,
    /// True if an access token is available now.
    pub webrtc_ready: bool,
}

/// Joins an active meeting; a host who joins a scheduled meeting starts it.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in it.
/// - `FAILED_PRECONDITION`: "Meeting is not currently active", "Meeting is full".
#[mutation(rights = access::participant(args.meeting_id))]
pub fn join_meeting(ctx: &mut MutationCtx, membership: Membership, _: OneMeeting) -> Result<MeetingJoined> {
    if !membership.is_host() {
        state::require_active(&membership.meeting)?;
    }
    let membership = presence::join(ctx, membership, None)?;
    Ok(MeetingJoined { success: true, webrtc_ready: provider::is_ready(ctx, membership.meeting.video_provider) })
}

/// Leaves a meeting: records the time and closes the caller's sessions. The caller stays a participant and can join
/// again while the meeting is active.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
#[mutation(rights = access::participant(args.meeting_id))]
pub fn leave_meeting(ctx: &mut MutationCtx, membership: Membership, _: OneMeeting) -> Result<Success> {
    presence::leave(ctx, membership, None)?;
    Ok(SUCCESS)
}

/// Returns the servers for a connection to a meeting.
///
/// The result has the address of the media server, if the meeting uses one, and STUN and TURN servers with credentials
/// that are valid for an hour.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in it.
/// - `PROVIDER_ERROR`: its media server is not configured any more.
#[action(rate = "tokens", rights = access::participant(args.meeting_id))]
pub async fn get_meeting_connection_info(
    ctx: &ActionCtx,
    membership: Membership,
    _: OneMeeting,
) -> Result<ConnectionInfo> {
    connection::info(ctx, &membership)
}

/// Arguments of [`update_participant_role`].
#[args]
pub struct UpdateParticipantRole {
    /// Meeting of the participant.
    pub meeting_id: Id<Meeting>,
    /// The participant: an id, or the `sub` of a token of the caller's issuer.
    pub user_id: UserRef,
    pub new_role: Role,
}

/// Makes a participant a host, or a host a participant.
///
/// # Errors
/// - `FORBIDDEN`: the caller does not host the meeting.
/// - `NOT_FOUND`: "Participant not found in meeting".
/// - `FAILED_PRECONDITION`: "Cannot demote the only host".
#[mutation(rights = access::host(args.meeting_id))]
pub fn update_participant_role(
    ctx: &mut MutationCtx,
    membership: Membership,
    args: UpdateParticipantRole,
) -> Result<()> {
    let Membership { user, meeting, .. } = membership;
    let target = find_participant(ctx, &user, meeting.id(), &args.user_id)?;
    let actor = access::actor(ctx, Some(&user));
    roles::set_role(ctx, &meeting, target, args.new_role, &actor)
}

/// Arguments of [`update_meeting`]. Absent fields do not change.
#[args]
pub struct UpdateMeeting {
    pub meeting_id: Id<Meeting>,
    pub title: Option<MeetingTitle>,
    /// `""` deletes it.
    pub description: Option<MeetingDescription>,
    pub duration: Option<MeetingDuration>,
    /// True if the meeting may be recorded.
    pub recording_enabled: Option<bool>,
    /// True if the speech is transcribed.
    pub transcription_enabled: Option<bool>,
    /// At least the number of present participants.
    pub max_participants: Option<MaxParticipants>,
    /// Only for a scheduled meeting.
    pub scheduled_at: Option<Millis>,
}

/// Changes the title, description, schedule or settings of a meeting.
///
/// # Errors
/// - `FORBIDDEN`: the caller does not host it.
/// - `FAILED_PRECONDITION`: "Meeting is already concluded or cancelled"; fewer places than people who are in it; a time
///   for a meeting that has begun.
#[mutation(rights = access::host(args.meeting_id))]
pub fn update_meeting(ctx: &mut MutationCtx, membership: Membership, args: UpdateMeeting) -> Result<()> {
    let Membership { user, meeting, .. } = membership;
    state::require_not_final(&meeting)?;
    if args.scheduled_at.is_some() && meeting.state != MeetingState::Scheduled {
        return Err(Error::failed_precondition("Only a scheduled meeting can be moved to another time"));
    }
    if let Some(max) = args.max_participants {
        let joined = presence::joined(ctx, meeting.id())?;
        if max.get().unsigned_abs() < joined {
            let message = format!("Maximum participants cannot be below the {joined} who have joined");
            return Err(Error::failed_precondition(message));
        }
    }
    let now = ctx.now();
    let meeting = ctx.db_mut().patch_doc(meeting, |row| {
        if let Some(title) = args.title {
            row.title = title;
        }
        if let Some(description) = args.description {
            row.description = Some(description).filter(|text| !text.as_str().is_empty());
        }
        row.duration = args.duration.unwrap_or(row.duration);
        row.recording_enabled = args.recording_enabled.unwrap_or(row.recording_enabled);
        row.transcription_enabled = args.transcription_enabled.unwrap_or(row.transcription_enabled);
        row.max_participants = args.max_participants.unwrap_or(row.max_participants);
        row.scheduled_at = args.scheduled_at.or(row.scheduled_at);
        row.updated_at = now;
    })?;
    match ctx.caller().deploy_key() {
        Some(_) => {
            let actor = access::actor(ctx, Some(&user));
            audit::meeting(ctx, &actor, "meeting.updated", &meeting, Details::new())
        }
        None => Ok(()),
    }
}

/// Arguments of [`add_participant`]: either a user or an address.
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "email": "grace@example.com", "role": "participant"}
/// ```
#[args]
pub struct AddParticipant {
    pub meeting_id: Id<Meeting>,
    /// An id, or the `sub` of a token of the caller's issuer.
    pub user_id: Option<UserRef>,
    pub email: Option<EmailAddress>,
    /// Role of the new participant; an invited address can only become a participant.
    #[default(Role::Participant)]
    pub role: Role,
}

/// The result of [`add_participant`].
///
/// ```json
/// {"participantId": "participant_01jgfjs5r2a4n8w7k0q3d6m9vt", "invited": false}
/// ```
#[value]
pub struct ParticipantAdded {
    /// The new participant; the first one of several users with the address. Absent for an invitation.
    pub participant_id: Option<Id<Participant>>,
    /// True if no user has the address and it now has an invitation.
    pub invited: bool,
}

/// Adds a user to a meeting, or invites an address.
///
/// # Errors
/// - `FORBIDDEN`: the caller does not host it.
/// - `INVALID_ARGUMENT`: neither or both of `userId` and `email`; an invitation as host.
/// - `NOT_FOUND`: "User not found".
/// - `CONFLICT`: "User is already a participant in this meeting".
/// - `FAILED_PRECONDITION`: "Meeting is already concluded or cancelled"; the meeting has as many people as it may.
#[mutation(form = one_named(&args.user_id, &args.email), rights = access::host(args.meeting_id))]
pub fn add_participant(
    ctx: &mut MutationCtx,
    membership: Membership,
    args: AddParticipant,
) -> Result<ParticipantAdded> {
    let Membership { user, meeting, .. } = membership;
    state::require_not_final(&meeting)?;
    let added = match Named::of(args.user_id, args.email)? {
        Named::User(who) => add_user(ctx, &user, &meeting, &who, args.role)?,
        Named::Address(email) => add_address(ctx, &user, &meeting, email, args.role)?,
    };
    let actor = access::actor(ctx, Some(&user));
    events::emit(ctx, &meeting, Event::PeopleCame)?;
    let details = Details::new().with("participantId", added.participant_id).with("role", args.role);
    audit::meeting(ctx, &actor, "participant.added", &meeting, details)?;
    Ok(added)
}

fn add_user(
    ctx: &mut MutationCtx,
    host: &Doc<User>,
    meeting: &Doc<Meeting>,
    who: &UserRef,
    role: Role,
) -> Result<ParticipantAdded> {
    let found = access::find_user(ctx, Some(host), who)?.filter(|user| user.is_active);
    let user = found.ok_or_else(access::unknown_user)?;
    if participants::find(ctx, meeting.id(), user.id())?.is_some() {
        return Err(already_there());
    }
    participants::require_capacity(ctx, meeting.id(), 1)?;
    let participant = participants::add(ctx, meeting.id(), user.id(), role)?;
    Ok(ParticipantAdded { participant_id: Some(participant.id()), invited: false })
}

fn add_address(
    ctx: &mut MutationCtx,
    host: &Doc<User>,
    meeting: &Doc<Meeting>,
    email: EmailAddress,
    role: Role,
) -> Result<ParticipantAdded> {
    let invited = invitations::invite(ctx, meeting.id(), [email], host)?;
    if !invited.addresses.is_empty() {
        // An invitation makes a participant: host rights are granted to users, not to addresses.
        if role == Role::Host {
            return Err(Error::invalid_argument("role", "role: must be participant for an address that no user has"));
        }
        return Ok(ParticipantAdded { participant_id: None, invited: true });
    }
    if invited.added.is_empty() {
        return Err(already_there());
    }
    for &participant in &invited.added {
        ctx.db_mut().patch(participant, |row| row.role = role)?;
    }
    let actor = access::actor(ctx, Some(host));
    // The first entry is the caller's, as for a named user.
    for &participant in invited.added.iter().skip(1) {
        participants::record_added(ctx, &actor, meeting, participant, role)?;
    }
    Ok(ParticipantAdded { participant_id: invited.added.first().copied(), invited: false })
}

/// Arguments of [`remove_participant`]: either a user or an address.
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "userId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt"}
/// ```
#[args]
pub struct RemoveParticipant {
    pub meeting_id: Id<Meeting>,
    /// An id, or the `sub` of a token of the caller's issuer.
    pub user_id: Option<UserRef>,
    /// Withdraws the invitation of the address, or removes the users with it.
    pub email: Option<EmailAddress>,
}

/// Removes a participant from a meeting, or withdraws an invitation. A removed participant loses access to the meeting
/// immediately.
///
/// # Errors
/// - `FORBIDDEN`: the caller does not host it.
/// - `INVALID_ARGUMENT`: neither or both of `userId` and `email`.
/// - `NOT_FOUND`: "Participant not found in meeting".
/// - `FAILED_PRECONDITION`: "Cannot remove the only host".
#[mutation(form = one_named(&args.user_id, &args.email), rights = access::host(args.meeting_id))]
pub fn remove_participant(ctx: &mut MutationCtx, membership: Membership, args: RemoveParticipant) -> Result<()> {
    let Membership { user, meeting, .. } = membership;
    let actor = access::actor(ctx, Some(&user));
    match Named::of(args.user_id, args.email)? {
        Named::User(who) => {
            let target = find_participant(ctx, &user, meeting.id(), &who)?;
            roles::remove(ctx, &meeting, target, &actor)
        }
        Named::Address(email) => {
            if invitations::withdraw(ctx, meeting.id(), &email)? {
                return audit::meeting(ctx, &actor, "invitation.withdrawn", &meeting, Details::new());
            }
            let mut targets = Vec::new();
            for owner in invitations::owners(ctx, &[email])? {
                targets.extend(participants::find(ctx, meeting.id(), owner.id())?);
            }
            if targets.is_empty() {
                return Err(not_a_participant());
            }
            targets.into_iter().try_for_each(|target| roles::remove(ctx, &meeting, target, &actor))
        }
    }
}

fn one_named(_: &impl Context, user_id: &Option<UserRef>, email: &Option<EmailAddress>) -> Result<()> {
    Named::of(user_id.as_ref(), email.as_ref()).map(drop)
}

/// The user or address in the arguments.
enum Named<U, E> {
    User(U),
    Address(E),
}

impl<U, E> Named<U, E> {
    fn of(user_id: Option<U>, email: Option<E>) -> Result<Self> {
        match (user_id, email) {
            (Some(who), None) => Ok(Named::User(who)),
            (None, Some(email)) => Ok(Named::Address(email)),
            (None, None) => Err(Error::invalid_argument("userId", "Missing required argument: userId or email")),
            (Some(_), Some(_)) => Err(Error::invalid_argument("email", "email: must be absent where userId is given")),
        }
    }
}

fn find_participant(
    ctx: &impl Read,
    caller: &Doc<User>,
    meeting: Id<Meeting>,
    who: &UserRef,
) -> Result<Doc<Participant>> {
    let user = access::find_user(ctx, Some(caller), who)?.ok_or_else(not_a_participant)?;
    participants::find(ctx, meeting, user.id())?.ok_or_else(not_a_participant)
}

fn not_a_participant() -> Error {
    Error::not_found("Participant not found in meeting")
}

fn already_there() -> Error {
    Error::conflict("User is already a participant in this meeting")
}
