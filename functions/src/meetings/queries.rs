//! Queries of meetings and their participants.

use std::collections::HashMap;

use convoke::prelude::*;
use convoke::store::Cursor;
use convoke::{args, query, value};
use schema::limits::LISTED_METADATA_BYTES;
use schema::{
    Limit, MaxParticipants, Meeting, MeetingDescription, MeetingDuration, MeetingState, MeetingTitle, MeetingType,
    Metadata, Participant, Presence, Role, SessionState, User, VideoProvider,
};

use super::lifecycle::OneMeeting;
use super::{participants, sessions};
use crate::access::{self, Membership};
use crate::names::{self, Person};
use crate::paging;

/// A participant in a list.
///
/// ```json
/// {"_id": "participant_01jgfjs5r2a4n8w7k0q3d6m9vt", "_creationTime": 1767225600000,
///  "meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "userId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "role": "host", "presence": "joined", "joinedAt": 1767225600000,
///  "createdAt": 1767225600000, "user": {"_id": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "displayName": "Ada",
///  "avatarUrl": ""},
///  "webrtcConnected": false, "webrtcSessionCount": 0}
/// ```
#[value(output)]
pub struct ListedParticipant {
    #[value(rename = "_id")]
    pub id: Id<Participant>,
    #[value(rename = "_creationTime")]
    pub creation_time: Millis,
    pub meeting_id: Id<Meeting>,
    pub user_id: Id<User>,
    pub role: Role,
    pub presence: Presence,
    /// Time of the last joining; before the first one, the time of the addition.
    pub joined_at: Millis,
    /// Time of the last leaving.
    pub left_at: Option<Millis>,
    pub created_at: Millis,
    pub user: Person,
    /// True if one of the participant's sessions is connected.
    pub webrtc_connected: bool,
    /// Number of open sessions.
    pub webrtc_session_count: usize,
}

/// Returns all participants of a meeting, in the order in which they were added.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
#[query(tool, rights = access::participant(args.meeting_id))]
pub fn list_meeting_participants(
    ctx: &QueryCtx,
    membership: Membership,
    _: OneMeeting,
) -> Result<Vec<ListedParticipant>> {
    let Membership { meeting, .. } = membership;
    let participants = participants::all(ctx, meeting.id())?;
    let users: Vec<Id<User>> = participants.iter().map(|row| row.user_id).collect();
    let mut people = names::people(ctx, &users)?;
    let mut connections: HashMap<Id<User>, (usize, bool)> = HashMap::new();
    for session in sessions::open(ctx, meeting.id())? {
        let (open, connected) = connections.entry(session.user_id).or_default();
        *open += 1;
        *connected |= session.state == SessionState::Connected;
    }
    let listed = |row: Doc<Participant>| {
        let user = people.remove(&row.user_id)?;
        let (webrtc_session_count, webrtc_connected) = connections.get(&row.user_id).copied().unwrap_or_default();
        Some(ListedParticipant {
            id: row.id(),
            creation_time: row.creation_time(),
            meeting_id: row.meeting_id,
            user_id: row.user_id,
            role: row.role,
            presence: row.presence,
            joined_at: row.joined_at.unwrap_or(row.creation_time()),
            left_at: row.left_at,
            created_at: row.creation_time(),
            user,
            webrtc_connected,
            webrtc_session_count,
        })
    };
    Ok(participants.into_iter().filter_map(listed).collect())
}

/// Presence of a participant in a list.
///
/// ```json
/// {"userId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "presence": "joined", "metadata": {"handRaised": true},
///  "updatedAt": 1767225600000}
/// ```
#[value(output)]
pub struct ListedPresence {
    pub user_id: Id<User>,
    pub presence: Presence,
    /// Metadata from the client's last update, such as a raised hand.
    pub metadata: Option<Metadata>,
    /// Time of the last update; before the first one, the time of the addition.
    pub updated_at: Millis,
}

/// Returns presence and metadata of each participant of a meeting, in the order in which they were added. After four
/// MiB, metadata is omitted.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
#[query(rights = access::participant(args.meeting_id))]
pub fn list_presence(ctx: &QueryCtx, membership: Membership, _: OneMeeting) -> Result<Vec<ListedPresence>> {
    let Membership { meeting, .. } = membership;
    let mut room = LISTED_METADATA_BYTES;
    let listed = |row: Doc<Participant>| {
        let row = row.into_inner();
        ListedPresence {
            user_id: row.user_id,
            presence: row.presence,
            metadata: row.presence_metadata.filter(|metadata| paging::takes(&mut room, metadata)),
            updated_at: row.presence_at,
        }
    };
    Ok(participants::all(ctx, meeting.id())?.into_iter().map(listed).collect())
}

/// A meeting from the caller's point of view.
///
/// ```json
/// {"_id": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "_creationTime": 1767225600000, "createdAt": 1767225600000,
///  "organizerId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "title": "Planning", "duration": 1800000,
///  "meetingType": "small-group",
///  "maxParticipants": 10, "recordingEnabled": false, "transcriptionEnabled": true, "videoProvider": "webrtc",
///  "roomId": "3f0c…", "state": "active", "startedAt": 1767225600000, "updatedAt": 1767225600000,
///  "userRole": "host", "userPresence": "joined", "openSessions": 1}
/// ```
#[value(output)]
pub struct OwnMeeting {
    #[value(rename = "_id")]
    pub id: Id<Meeting>,
    #[value(rename = "_creationTime")]
    pub creation_time: Millis,
    pub created_at: Millis,
    pub organizer_id: Id<User>,
    pub title: MeetingTitle,
    pub description: Option<MeetingDescription>,
    pub scheduled_at: Option<Millis>,
    /// Planned duration in milliseconds, for display.
    pub duration: MeetingDuration,
    pub meeting_type: MeetingType,
    pub max_participants: MaxParticipants,
    /// True if it may be recorded.
    pub recording_enabled: bool,
    /// True if the speech is transcribed.
    pub transcription_enabled: bool,
    pub video_provider: VideoProvider,
    /// Id of the room at the media provider.
    pub room_id: String,
    pub state: MeetingState,
    pub started_at: Option<Millis>,
    pub ended_at: Option<Millis>,
    pub updated_at: Millis,
    /// Role of the caller.
    pub user_role: Role,
    /// Presence of the caller.
    pub user_presence: Presence,
    /// Number of open media sessions of all participants; absent in lists.
    pub open_sessions: Option<usize>,
}

impl OwnMeeting {
    fn new(meeting: &Doc<Meeting>, participant: &Participant, open_sessions: Option<usize>) -> Self {
        Self {
            id: meeting.id(),
            creation_time: meeting.creation_time(),
            created_at: meeting.creation_time(),
            organizer_id: meeting.organizer_id,
            title: meeting.title.clone(),
            description: meeting.description.clone(),
            scheduled_at: meeting.scheduled_at,
            duration: meeting.duration,
            meeting_type: meeting.meeting_type,
            max_participants: meeting.max_participants,
            recording_enabled: meeting.recording_enabled,
            transcription_enabled: meeting.transcription_enabled,
            video_provider: meeting.video_provider,
            room_id: meeting.room_id.clone(),
            state: meeting.state,
            started_at: meeting.started_at,
            ended_at: meeting.ended_at,
            updated_at: meeting.updated_at,
            user_role: participant.role,
            user_presence: participant.presence,
            open_sessions,
        }
    }
}

/// Returns a meeting with the caller's role and the number of open sessions.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
#[query(tool, rights = access::participant(args.meeting_id))]
pub fn get_meeting(ctx: &QueryCtx, membership: Membership, _: OneMeeting) -> Result<OwnMeeting> {
    let open = sessions::open(ctx, membership.meeting.id())?.len();
    Ok(OwnMeeting::new(&membership.meeting, &membership.participant, Some(open)))
}

/// Arguments of [`list_user_meetings`].
#[args]
pub struct ListUserMeetings {
    /// Lists only meetings in this state.
    pub state: Option<MeetingState>,
    #[default(Limit::default())]
    pub limit: Limit<50, 100>,
    /// Cursor of the previous page.
    pub cursor: Option<Cursor>,
}

/// Returns the meetings of the caller, newest first. With `state`, a page may have fewer items than requested and still
/// a cursor, because skipped rows count.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[query(tool, rights = access::user)]
pub fn list_user_meetings(ctx: &QueryCtx, user: Doc<User>, args: ListUserMeetings) -> Result<Page<OwnMeeting>> {
    // Ids of meetings sort by creation time, so this index has them in order.
    let read = |cursor: Option<&Cursor>, rows: usize| {
        let places = ctx.db().query(Participant::by_user_meeting).eq(user.id()).order(Order::Desc);
        Ok(places.page(cursor, rows)?)
    };
    let show = |places: Vec<Doc<Participant>>| {
        let ids: Vec<Id<Meeting>> = places.iter().map(|place| place.meeting_id).collect();
        let meetings = ctx.db().get_many(&ids)?;
        let shown = places.iter().zip(meetings).filter_map(|(place, meeting)| {
            let meeting = meeting.filter(|meeting| args.state.is_none_or(|state| state == meeting.state))?;
            Some(OwnMeeting::new(&meeting, place, None))
        });
        Ok(shown.collect())
    };
    paging::filtered(args.cursor.clone(), args.limit.get(), read, show)
}
