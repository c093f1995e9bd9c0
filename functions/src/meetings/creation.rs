//! Creation of a meeting with its host, participants, invitations, empty notes and audit entry.

use aws_lc_rs::rand;
use convoke::prelude::*;
use convoke::{Context, value};
use schema::{
    Details, EmailAddress, MaxParticipants, Meeting, MeetingDescription, MeetingDuration, MeetingState, MeetingTitle,
    MeetingType, Role, User, VideoProvider,
};

use super::{invitations, participants, provider, state};
use crate::events::{self, Event};
use crate::notes::document;
use crate::{access, audit};

/// A meeting to create.
#[derive(Clone, Debug)]
pub struct NewMeeting {
    /// Title.
    pub title: MeetingTitle,
    /// Description.
    pub description: Option<MeetingDescription>,
    /// Start time; none: immediately.
    pub scheduled_at: Option<Millis>,
    /// Planned duration.
    pub duration: MeetingDuration,
    /// None: by its size.
    pub meeting_type: Option<MeetingType>,
    /// None: by its type.
    pub max_participants: Option<MaxParticipants>,
    /// True if hosts may record it.
    pub recording_enabled: bool,
    /// True if it may be transcribed.
    pub transcription_enabled: bool,
}

/// The result of [`super::lifecycle::create_meeting`].
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "webrtcReady": true, "videoProvider": "webrtc",
///  "features": {"recording": false, "transcription": true, "maxParticipants": 8}}
/// ```
#[value]
pub struct MeetingCreated {
    pub meeting_id: Id<Meeting>,
    /// True if an access token is available now.
    pub webrtc_ready: bool,
    pub video_provider: VideoProvider,
    pub features: Features,
}

/// Features of a meeting.
#[value]
pub struct Features {
    /// True if it may be recorded.
    pub recording: bool,
    /// True if its speech is transcribed.
    pub transcription: bool,
    pub max_participants: MaxParticipants,
}

impl Features {
    /// Returns the features of a meeting.
    pub fn of(meeting: &Meeting) -> Self {
        Self {
            recording: meeting.recording_enabled,
            transcription: meeting.transcription_enabled,
            max_participants: meeting.max_participants,
        }
    }
}

/// Creates a meeting with the host `organizer` and invites these addresses.
///
/// # Errors
/// Errors of [`invitations::invite`].
pub fn create(
    ctx: &mut MutationCtx,
    organizer: &Doc<User>,
    new: NewMeeting,
    emails: impl IntoIterator<Item = EmailAddress>,
) -> Result<MeetingCreated> {
    let now = ctx.now();
    let meeting = row(ctx, organizer, new)?;
    let id = ctx.db_mut().insert(meeting.clone())?;
    participants::add(ctx, id, organizer.id(), Role::Host)?;
    let invited = invitations::invite(ctx, id, emails, organizer)?;
    ctx.db_mut().insert(document::empty(id, now))?;
    let actor = access::actor(ctx, Some(organizer));
    let details = Details::new()
        .with("state", meeting.state)
        .with("participants", invited.added.len())
        .with("invitations", invited.addresses.len());
    let created = ctx.db().get(id)?.ok_or_else(|| Error::internal("a meeting that was just made is not there"))?;
    audit::meeting(ctx, &actor, "meeting.created", &created, details)?;
    for &participant in &invited.added {
        participants::record_added(ctx, &actor, &created, participant, Role::Participant)?;
    }
    events::emit(ctx, &created, Event::PeopleCame)?;
    info!("Meeting {id} is {}, {} invited", meeting.state, invited.added.len() + invited.addresses.len());
    Ok(MeetingCreated {
        meeting_id: id,
        // The organizer is a host, whose token also starts a scheduled meeting.
        webrtc_ready: provider::is_ready(ctx, meeting.video_provider),
        video_provider: meeting.video_provider,
        features: Features::of(&meeting),
    })
}

fn row(ctx: &impl Context, organizer: &Doc<User>, new: NewMeeting) -> Result<Meeting> {
    let now = ctx.now();
    let (meeting_type, max_participants) = shape(new.meeting_type, new.max_participants);
    let state = state::initial(new.scheduled_at, now);
    Ok(Meeting {
        organizer_id: organizer.id(),
        title: new.title,
        description: new.description,
        scheduled_at: new.scheduled_at,
        duration: new.duration,
        meeting_type,
        max_participants,
        recording_enabled: new.recording_enabled,
        transcription_enabled: new.transcription_enabled,
        video_provider: provider::choose(ctx, meeting_type, max_participants, new.recording_enabled),
        room_id: room_id()?,
        state,
        started_at: (state == MeetingState::Active).then_some(now),
        ended_at: None,
        empty_since: None,
        updated_at: now,
    })
}

/// Derives the missing one of type and size from the other.
fn shape(meeting_type: Option<MeetingType>, max: Option<MaxParticipants>) -> (MeetingType, MaxParticipants) {
    let meeting_type = meeting_type.or_else(|| max.map(MeetingType::of_size)).unwrap_or(MeetingType::SmallGroup);
    (meeting_type, max.unwrap_or_else(|| meeting_type.room()))
}

/// Returns 128 random bits in hex, which cannot be guessed. A retry of the mutation creates another id; the first one
/// was never visible.
fn room_id() -> Result<String> {
    let mut bytes = [0; 16];
    rand::fill(&mut bytes).map_err(|_| Error::internal("the system has no random bytes"))?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_size_follow_from_each_other() {
        let max = |max| MaxParticipants::new(max).unwrap();
        assert_eq!(shape(None, None), (MeetingType::SmallGroup, max(10)));
        assert_eq!(shape(None, Some(max(2))), (MeetingType::OneOnOne, max(2)));
        assert_eq!(shape(None, Some(max(3))), (MeetingType::SmallGroup, max(3)));
        assert_eq!(shape(None, Some(max(11))), (MeetingType::LargeMeeting, max(11)));
        assert_eq!(shape(Some(MeetingType::Webinar), None), (MeetingType::Webinar, max(500)));
        assert_eq!(shape(Some(MeetingType::OneOnOne), Some(max(50))), (MeetingType::OneOnOne, max(50)));
    }

    #[test]
    fn a_room_is_128_bits_that_differ() {
        let (one, other) = (room_id().unwrap(), room_id().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }
}
