//! Meetings, their participants, and invitations to addresses without a user.

use convoke::{Id, Millis, table};

use super::users::User;
use crate::values::{
    EmailAddress, MaxParticipants, MeetingDescription, MeetingDuration, MeetingState, MeetingTitle, MeetingType,
    Metadata, Presence, Role, VideoProvider,
};

/// A meeting.
#[table(name = "meetings", prefix = "meeting")]
#[index(by_state_scheduled(state, scheduled_at))]
#[index(by_state_empty(state, empty_since))]
#[index(by_state_started(state, started_at))]
#[index(by_room(room_id), unique)]
pub struct Meeting {
    /// The creator and first host. It grants no rights.
    pub organizer_id: Id<User>,
    /// The title.
    pub title: MeetingTitle,
    /// The description.
    pub description: Option<MeetingDescription>,
    /// The planned start; absent if the meeting began when it was created.
    pub scheduled_at: Option<Millis>,
    /// The planned duration in milliseconds, for display.
    pub duration: MeetingDuration,
    /// The type of the meeting.
    pub meeting_type: MeetingType,
    /// The largest number of participants at the same time.
    pub max_participants: MaxParticipants,
    /// True if hosts may record the meeting.
    pub recording_enabled: bool,
    /// True if speech may be transcribed.
    pub transcription_enabled: bool,
    /// The transport of audio and video.
    pub video_provider: VideoProvider,
    /// The room at the media provider: 128 random bits.
    pub room_id: String,
    /// The state.
    pub state: MeetingState,
    /// Time at which it became active.
    pub started_at: Option<Millis>,
    /// Time at which it was concluded.
    pub ended_at: Option<Millis>,
    /// Time since which an active meeting is empty (no joined participant, no open session) after a participant has joined.
    pub empty_since: Option<Millis>,
    /// Time of the last change.
    pub updated_at: Millis,
}

/// A participant of a meeting. The row stays after the participant leaves and after the end.
#[table(name = "meetingParticipants", prefix = "participant")]
#[index(by_meeting_user(meeting_id, user_id), unique)]
#[index(by_user_meeting(user_id, meeting_id))]
#[index(by_meeting_role(meeting_id, role))]
#[index(by_meeting_presence(meeting_id, presence))]
#[index(by_meeting_presence_at(meeting_id, presence_at))]
pub struct Participant {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The user.
    pub user_id: Id<User>,
    /// The role.
    pub role: Role,
    /// The presence: the last write wins, in the order of commits on the server.
    pub presence: Presence,
    /// Time of the last join; absent before the first.
    pub joined_at: Option<Millis>,
    /// Time of the last leave. It stays after a rejoin.
    pub left_at: Option<Millis>,
    /// The client's metadata of the presence.
    pub presence_metadata: Option<Metadata>,
    /// Time of the last write of the presence.
    pub presence_at: Millis,
}

/// An invitation to an address that no user owns yet. It becomes a participant when a user owns the address.
#[table(name = "meetingInvitations", prefix = "invitation")]
#[index(by_meeting_email(meeting_id, email), unique)]
#[index(by_email(email))]
#[index(by_email_inviter(email, inviter_id))]
pub struct Invitation {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The invited address.
    pub email: EmailAddress,
    /// The inviter. Absent in rows of older releases.
    pub inviter_id: Option<Id<User>>,
}

/// Number of addresses that a user invited on one day. It is a row of its own, because an invitation is deleted when it
/// is accepted.
#[table(name = "invitationCounts", prefix = "invitationcount")]
#[index(by_user(user_id), unique)]
pub struct InvitationCount {
    /// The inviter.
    pub user_id: Id<User>,
    /// The day, counted from the Unix epoch in UTC.
    pub day: i64,
    /// Number of addresses on that day.
    pub addresses: i64,
}
