//! Meetings, the people in them, and the invitations to people who are not known yet.

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
    /// Who made it, and was its first host. No right follows from it.
    pub organizer_id: Id<User>,
    /// What it is called.
    pub title: MeetingTitle,
    /// What it is about.
    pub description: Option<MeetingDescription>,
    /// When it is to begin; absent if it began when it was made.
    pub scheduled_at: Option<Millis>,
    /// How long it is planned, in milliseconds. For display.
    pub duration: MeetingDuration,
    /// What kind of meeting it is.
    pub meeting_type: MeetingType,
    /// How many can be in it at once.
    pub max_participants: MaxParticipants,
    /// Whether hosts may record it.
    pub recording_enabled: bool,
    /// Whether what is said may be transcribed.
    pub transcription_enabled: bool,
    /// What carries sound and picture.
    pub video_provider: VideoProvider,
    /// The room at the provider: 128 random bits.
    pub room_id: String,
    /// Where it is in its life.
    pub state: MeetingState,
    /// When it became active.
    pub started_at: Option<Millis>,
    /// When it was concluded.
    pub ended_at: Option<Millis>,
    /// Since when an active meeting that somebody had joined is empty: nobody joined, no open session.
    pub empty_since: Option<Millis>,
    /// When the row changed last.
    pub updated_at: Millis,
}

/// A person's place in one meeting. Stays after leaving and after the end.
#[table(name = "meetingParticipants", prefix = "participant")]
#[index(by_meeting_user(meeting_id, user_id), unique)]
#[index(by_user_meeting(user_id, meeting_id))]
#[index(by_meeting_role(meeting_id, role))]
#[index(by_meeting_presence(meeting_id, presence))]
#[index(by_meeting_presence_at(meeting_id, presence_at))]
pub struct Participant {
    /// In which meeting.
    pub meeting_id: Id<Meeting>,
    /// Who.
    pub user_id: Id<User>,
    /// As what.
    pub role: Role,
    /// Where the person is now: a register whose last write wins, in the server's order of commits.
    pub presence: Presence,
    /// When the person joined last; absent before the first time.
    pub joined_at: Option<Millis>,
    /// When the person left last; stays after a rejoin.
    pub left_at: Option<Millis>,
    /// What the client said about the presence.
    pub presence_metadata: Option<Metadata>,
    /// When the presence was written last.
    pub presence_at: Millis,
}

/// An invitation to an address that belongs to nobody yet. Becomes a participation once it does.
#[table(name = "meetingInvitations", prefix = "invitation")]
#[index(by_meeting_email(meeting_id, email), unique)]
#[index(by_email(email))]
#[index(by_email_inviter(email, inviter_id))]
pub struct Invitation {
    /// To which meeting.
    pub meeting_id: Id<Meeting>,
    /// Whom.
    pub email: EmailAddress,
    /// Who invited; absent in rows of releases that did not store it.
    pub inviter_id: Option<Id<User>>,
}

/// How many addresses a user invited on one day: what bounds it outlives the invitations, which go when they are taken
/// up.
#[table(name = "invitationCounts", prefix = "invitationcount")]
#[index(by_user(user_id), unique)]
pub struct InvitationCount {
    /// Who invited.
    pub user_id: Id<User>,
    /// The day, counted from the epoch (UTC).
    pub day: i64,
    /// Addresses so far on that day.
    pub addresses: i64,
}
