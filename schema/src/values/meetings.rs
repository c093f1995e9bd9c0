//! Meetings: what they are called, how large they are, and the states of them and of the people in them.
//!
//! Which move leads from which state to which is the functions'.

use convoke::value;

/// The title of a meeting, trimmed, 1 … 200 characters.
///
/// ```json
/// "Planning"
/// ```
#[value(text, trim, min = 1, max = 200, too_short = "Meeting title cannot be empty")]
pub struct MeetingTitle(String);

/// What a meeting is about, at most 5000 characters.
///
/// ```json
/// "What comes next, and who does it."
/// ```
#[value(text, max = 5000)]
pub struct MeetingDescription(String);

/// How long a meeting is planned, in milliseconds: 1 … 86,400,000 (a day). For display; nothing ends a meeting by it.
#[value(integer, min = 1, max = 86_400_000)]
pub struct MeetingDuration(i64);

/// Half an hour.
impl Default for MeetingDuration {
    fn default() -> Self {
        Self(1_800_000)
    }
}

/// How many people a meeting has room for: 1 … 1000.
///
/// ```json
/// 8
/// ```
#[value(integer, min = 1, max = 1000, too_small = "Maximum participants must be at least 1")]
pub struct MaxParticipants(i64);

/// What kind of meeting it is.
#[value(name = "MeetingType")]
pub enum MeetingType {
    /// Two people.
    OneOnOne,
    /// Up to ten people.
    SmallGroup,
    /// Many people, all of whom may speak.
    LargeMeeting,
    /// Many people, of whom only hosts speak.
    Webinar,
}

impl MeetingType {
    /// The type of a meeting of which only the size is given.
    pub fn of_size(max: MaxParticipants) -> Self {
        match max.get() {
            ..=2 => MeetingType::OneOnOne,
            3..=10 => MeetingType::SmallGroup,
            _ => MeetingType::LargeMeeting,
        }
    }

    /// The size of a meeting of which only the type is given.
    pub fn room(self) -> MaxParticipants {
        MaxParticipants(match self {
            MeetingType::OneOnOne => 2,
            MeetingType::SmallGroup => 10,
            MeetingType::LargeMeeting => 100,
            MeetingType::Webinar => 500,
        })
    }
}

/// Where a meeting is in its life.
#[value(name = "MeetingState")]
pub enum MeetingState {
    /// It has not begun.
    Scheduled,
    /// It is going on.
    Active,
    /// It is over. Final.
    Concluded,
    /// It was called off before it began. Final.
    Cancelled,
}

impl MeetingState {
    /// Whether nothing can happen in it any more.
    pub fn is_final(self) -> bool {
        match self {
            MeetingState::Scheduled | MeetingState::Active => false,
            MeetingState::Concluded | MeetingState::Cancelled => true,
        }
    }
}

/// What somebody is in a meeting.
#[value(name = "Role")]
pub enum Role {
    /// Runs it: starts, ends, edits it, and decides who is in it and as what.
    Host,
    /// Takes part.
    Participant,
}

/// Where somebody is, seen from a meeting.
#[value(name = "Presence")]
pub enum Presence {
    /// Has not come yet.
    Invited,
    /// Is there.
    Joined,
    /// Has gone; may come back.
    Left,
}

/// A presence that a client may report of itself.
#[value(name = "PresenceChange")]
pub enum PresenceChange {
    /// Has come.
    Joined,
    /// Has gone.
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

/// What carries sound and picture.
#[value(name = "VideoProvider", rename_all = "lowercase")]
pub enum VideoProvider {
    /// The clients among themselves.
    WebRtc,
    /// A LiveKit server, where one is configured.
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
