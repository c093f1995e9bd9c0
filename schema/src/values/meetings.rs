//! Meetings: titles, sizes, states, and the states of participants.
//!
//! The functions decide which state follows which.

use convoke::value;

/// The title of a meeting, trimmed, 1 … 200 characters.
///
/// ```json
/// "Planning"
/// ```
#[value(text, trim, min = 1, max = 200, too_short = "Meeting title cannot be empty")]
pub struct MeetingTitle(String);

/// The description of a meeting, at most 5000 characters.
///
/// ```json
/// "What comes next, and who does it."
/// ```
#[value(text, max = 5000)]
pub struct MeetingDescription(String);

/// The planned duration of a meeting in milliseconds: 1 … 86,400,000 (one day). It is for display and ends no meeting.
#[value(integer, min = 1, max = 86_400_000)]
pub struct MeetingDuration(i64);

/// Returns 30 minutes.
impl Default for MeetingDuration {
    fn default() -> Self {
        Self(1_800_000)
    }
}

/// The largest number of participants of a meeting: 1 … 1000.
///
/// ```json
/// 8
/// ```
#[value(integer, min = 1, max = 1000, too_small = "Maximum participants must be at least 1")]
pub struct MaxParticipants(i64);

/// The type of a meeting.
#[value(name = "MeetingType")]
pub enum MeetingType {
    /// Two participants.
    OneOnOne,
    /// Up to ten participants.
    SmallGroup,
    /// Many participants. All may speak.
    LargeMeeting,
    /// Many participants. Only hosts speak.
    Webinar,
}

impl MeetingType {
    /// Returns the type for a size, if a request gives only the size.
    pub fn of_size(max: MaxParticipants) -> Self {
        match max.get() {
            ..=2 => MeetingType::OneOnOne,
            3..=10 => MeetingType::SmallGroup,
            _ => MeetingType::LargeMeeting,
        }
    }

    /// Returns the size for a type, if a request gives only the type.
    pub fn room(self) -> MaxParticipants {
        MaxParticipants(match self {
            MeetingType::OneOnOne => 2,
            MeetingType::SmallGroup => 10,
            MeetingType::LargeMeeting => 100,
            MeetingType::Webinar => 500,
        })
    }
}

/// The state of a meeting.
#[value(name = "MeetingState")]
pub enum MeetingState {
    /// Not yet started.
    Scheduled,
    /// In progress.
    Active,
    /// Ended. Final.
    Concluded,
    /// Cancelled before it began. Final.
    Cancelled,
}

impl MeetingState {
    /// Returns true if the state is final.
    pub fn is_final(self) -> bool {
        match self {
            MeetingState::Scheduled | MeetingState::Active => false,
            MeetingState::Concluded | MeetingState::Cancelled => true,
        }
    }
}

/// The role of a participant.
#[value(name = "Role")]
pub enum Role {
    /// A host starts, edits and ends the meeting, and manages its participants and their roles.
    Host,
    /// A participant without rights over the meeting.
    Participant,
}

/// The presence of a participant.
#[value(name = "Presence")]
pub enum Presence {
    /// Not yet joined.
    Invited,
    /// Present.
    Joined,
    /// Left; may return.
    Left,
}

/// A presence that a client may report for its own user.
#[value(name = "PresenceChange")]
pub enum PresenceChange {
    /// Joined.
    Joined,
    /// Left.
    Left,
}

impl From<PresenceChange> for Presence {
    fn from(change: PresenceChange) -> Self {
        match change {
            PresenceChange::Joined => Presence::Joined,
            PresenceChange::Left => Presence::Left,
        }
    }
}

/// The transport of audio and video.
#[value(name = "VideoProvider", rename_all = "lowercase")]
pub enum VideoProvider {
    /// Peer to peer between the clients.
    WebRtc,
    /// A LiveKit server, if one is configured.
    LiveKit,
}

#[cfg(test)]
mod tests {
    use serde_json::from_str;

    use super::*;

    #[test]
    fn a_title_is_trimmed_and_not_empty() {
        assert_eq!(MeetingTitle::new(" Planning ").unwrap().as_str(), "Planning");
        assert_eq!(MeetingTitle::new("\u{3000} ").unwrap_err().sentence(), "Meeting title cannot be empty");
        assert!(MeetingTitle::new("x".repeat(200)).is_ok() && MeetingTitle::new("x".repeat(201)).is_err());
        assert!(
            MeetingDescription::new("x".repeat(5000)).is_ok() && MeetingDescription::new("x".repeat(5001)).is_err()
        );
    }

    #[test]
    fn a_meeting_lasts_a_millisecond_to_a_day() {
        assert!(MeetingDuration::new(0).is_err() && MeetingDuration::new(86_400_001).is_err());
        assert!(MeetingDuration::new(1).is_ok() && MeetingDuration::new(86_400_000).is_ok());
        assert_eq!(MeetingDuration::default().get(), 30 * 60 * 1000);
        assert!(from_str::<MeetingDuration>("1.5").is_err());
    }

    #[test]
    fn a_meeting_has_room_for_one_at_least() {
        for few in ["0", "-1", "-1e300"] {
            let refusal = from_str::<MaxParticipants>(few).unwrap_err().to_string();
            assert!(refusal.starts_with("Maximum participants must be at least 1"), "{refusal}");
        }
        let refusal = MaxParticipants::new(1001).unwrap_err();
        assert_eq!(refusal.sentence(), "must be an integer between 1 and 1000 (got 1001)");
    }

    #[test]
    fn size_and_type_stand_in_for_each_other() {
        use MeetingType::{LargeMeeting, OneOnOne, SmallGroup};
        for (size, meeting_type) in
            [(1, OneOnOne), (2, OneOnOne), (3, SmallGroup), (10, SmallGroup), (11, LargeMeeting), (1000, LargeMeeting)]
        {
            assert_eq!(MeetingType::of_size(MaxParticipants::new(size).unwrap()), meeting_type);
        }
        let rooms: Vec<i64> = MeetingType::ALL.iter().map(|meeting_type| meeting_type.room().get()).collect();
        assert_eq!(rooms, [2, 10, 100, 500]);
    }

    #[test]
    fn states_are_spelled_as_the_contract_does() {
        assert_eq!(MeetingType::ALL.map_names(), ["one-on-one", "small-group", "large-meeting", "webinar"]);
        assert_eq!(MeetingState::ALL.map_names(), ["scheduled", "active", "concluded", "cancelled"]);
        assert_eq!(Role::ALL.map_names(), ["host", "participant"]);
        assert_eq!(Presence::ALL.map_names(), ["invited", "joined", "left"]);
        assert_eq!(PresenceChange::ALL.map_names(), ["joined", "left"]);
        assert_eq!(VideoProvider::ALL.map_names(), ["webrtc", "livekit"]);
    }

    trait Names {
        fn map_names(&self) -> Vec<String>;
    }

    impl<T: ToString> Names for [T] {
        fn map_names(&self) -> Vec<String> {
            self.iter().map(ToString::to_string).collect()
        }
    }
}
