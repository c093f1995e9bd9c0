//! Room tokens, and the permissions of participants in a room.
//!
//! This module defines the permissions per role, and the claims. The format is LiveKit's: its server accepts the
//! tokens, and clients of the built-in provider read the same format. The caller decides if a token may be issued
//! (state and size of the meeting).

use std::collections::BTreeMap;

use convoke::value;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use schema::{MeetingType, Role};
use serde::{Deserialize, Serialize};

/// Default lifetime of a token, s.
pub const VALID_S: i64 = 15 * 60;
/// Shortest lifetime in the settings, s.
pub const VALID_S_MIN: i64 = 60;
/// Longest lifetime in the settings, s.
pub const VALID_S_MAX: i64 = 6 * 3600;

/// The role of a participant in a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomRole {
    Host,
    Participant,
    /// A participant of a webinar who is not a host: subscribes and sends data, publishes no media.
    Viewer,
}

impl RoomRole {
    /// Returns the room role of a meeting role in a meeting of this type.
    #[must_use]
    pub fn of(role: Role, meeting_type: MeetingType) -> Self {
        match (role, meeting_type) {
            (Role::Host, _) => RoomRole::Host,
            (Role::Participant, MeetingType::Webinar) => RoomRole::Viewer,
            (Role::Participant, MeetingType::OneOnOne | MeetingType::SmallGroup | MeetingType::LargeMeeting) => {
                RoomRole::Participant
            }
        }
    }

    /// Returns the meeting role on the wire.
    #[must_use]
    pub fn role(self) -> &'static str {
        match self {
            RoomRole::Host => "host",
            RoomRole::Participant | RoomRole::Viewer => "participant",
        }
    }
}

/// True if the meeting has recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    Enabled,
    Disabled,
}

/// Permissions in a meeting.
#[value(output)]
#[derive(Copy, PartialEq, Eq)]
pub struct Permissions {
    /// Record.
    pub can_record: bool,
    /// Mute others.
    pub can_mute: bool,
    /// Remove others from the room.
    pub can_kick: bool,
    /// Share a screen.
    pub can_share: bool,
}

/// Returns the permissions of a room role.
#[must_use]
pub fn permissions(room_role: RoomRole, recording: Recording) -> Permissions {
    let host = room_role == RoomRole::Host;
    Permissions {
        can_record: host && recording == Recording::Enabled,
        can_mute: host,
        can_kick: host,
        can_share: room_role != RoomRole::Viewer,
    }
}

/// A key for signing room tokens.
#[derive(Clone)]
pub struct RoomKey {
    /// The `iss` claim: a server with several keys (rotation) selects the key by it.
    pub id: String,
    pub secret: Vec<u8>,
}

impl std::fmt::Debug for RoomKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoomKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The participant and room of a token.
#[derive(Debug, Clone, Copy)]
pub struct Admission<'a> {
    /// Identity in the room. The media server drops an older connection with the same identity, so each session has its
    /// own.
    pub participant_id: &'a str,
    /// Display name.
    pub name: &'a str,
    pub room_id: &'a str,
    pub meeting_id: &'a str,
    pub user_id: &'a str,
    pub session_id: &'a str,
    pub room_role: RoomRole,
    pub recording: Recording,
}

/// Start and lifetime of a token.
#[derive(Debug, Clone, Copy)]
pub struct Validity<'a> {
    /// s since the epoch.
    pub now_s: i64,
    /// Clamped to [`VALID_S_MIN`] … [`VALID_S_MAX`].
    pub valid_s: i64,
    /// Unique for every token.
    pub jti: &'a str,
}

/// The claims of a room token:
///
/// ```json
/// {"iss": "key1", "sub": "tab-1", "name": "Ada", "iat": 1700000000, "nbf": 1700000000, "exp": 1700000900, "jti": "t1",
///  "metadata": "{\"meetingId\":\"meeting_1\",\"userId\":\"user_1\",\"sessionId\":\"tab-1\",\"role\":\"host\"}",
///  "attributes": {"role": "host", "userId": "user_1"},
///  "video": {"room": "r1", "roomJoin": true, "canSubscribe": true, "canPublishData": true, "canPublish": true,
///            "canPublishSources": ["camera", "microphone", "screen_share", "screen_share_audio"], "roomAdmin": true}}
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    pub iss: String,
    pub sub: String,
    pub name: String,
    pub iat: i64,
    pub nbf: i64,
    pub exp: i64,
    pub jti: String,
    /// JSON text, because the media server passes it on as an opaque string.
    pub metadata: String,
    pub attributes: BTreeMap<String, String>,
    pub video: VideoGrant,
}

/// Permissions on the media server. roomRecord, roomCreate, roomList and ingressAdmin are missing on purpose: they are
/// not limited to one room, so no participant gets them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VideoGrant {
    pub room: String,
    pub room_join: bool,
    pub can_subscribe: bool,
    pub can_publish_data: bool,
    pub can_publish: bool,
    /// Absent for participants who may not publish: a list would override `canPublish`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub can_publish_sources: Vec<String>,
    /// Present and true only for hosts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub room_admin: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    meeting_id: &'a str,
    user_id: &'a str,
    session_id: &'a str,
    role: &'a str,
}

/// Returns the claims of a token for one participant, issued with the key of the given id.
///
/// # Panics
/// Never: the metadata consists of texts.
#[must_use]
pub fn claims(key_id: &str, admission: &Admission<'_>, validity: &Validity<'_>) -> Claims {
    let Standing { metadata, attributes, video } = standing(admission);
    Claims {
        iss: key_id.to_owned(),
        sub: admission.participant_id.to_owned(),
        name: admission.name.to_owned(),
        iat: validity.now_s,
        nbf: validity.now_s,
        exp: validity.now_s + validity.valid_s.clamp(VALID_S_MIN, VALID_S_MAX),
        jti: validity.jti.to_owned(),
        metadata,
        attributes,
        video,
    }
}

/// The part of a participant's claims that can change while the participant is in the room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub metadata: String,
    pub attributes: BTreeMap<String, String>,
    pub video: VideoGrant,
}

/// Returns the current claims of this participant.
///
/// # Panics
/// Never: the metadata consists of texts.
#[must_use]
pub fn standing(admission: &Admission<'_>) -> Standing {
    let role = admission.room_role.role();
    let metadata = Metadata {
        meeting_id: admission.meeting_id,
        user_id: admission.user_id,
        session_id: admission.session_id,
        role,
    };
    Standing {
        metadata: serde_json::to_string(&metadata).expect("a struct of texts is always valid JSON"),
        attributes: [("role", role), ("userId", admission.user_id)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        video: grant(admission),
    }
}

fn grant(admission: &Admission<'_>) -> VideoGrant {
    let publishes = admission.room_role != RoomRole::Viewer;
    let shares = permissions(admission.room_role, admission.recording).can_share;
    let media: &[&str] = if publishes { &["camera", "microphone"] } else { &[] };
    let screen: &[&str] = if shares { &["screen_share", "screen_share_audio"] } else { &[] };
    VideoGrant {
        room: admission.room_id.to_owned(),
        room_join: true,
        can_subscribe: true,
        can_publish_data: true,
        can_publish: publishes,
        can_publish_sources: media.iter().chain(screen).map(|source| (*source).to_owned()).collect(),
        room_admin: admission.room_role == RoomRole::Host,
    }
}

/// Mints a token: the claims as a JWT, HS256 (RFC 7519, RFC 7518 §3.2).
///
/// # Errors
/// An error of the signing library. With an HMAC key it is a defect that no caller can cause.
pub fn mint(
    key: &RoomKey,
    admission: &Admission<'_>,
    validity: &Validity<'_>,
) -> Result<String, jsonwebtoken::errors::Error> {
    install_crypto();
    let claims = claims(&key.id, admission, validity);
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &EncodingKey::from_secret(&key.secret))
}

/// The right that an API call of the media server needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerRight {
    /// Removing and updating the participants of one room.
    AdministerRoom,
    /// Deleting a room, which the server counts as a right over all rooms: never in a participant's token.
    DeleteRooms,
}

#[derive(Serialize)]
struct ServerClaims<'a> {
    iss: &'a str,
    iat: i64,
    nbf: i64,
    exp: i64,
    video: ServerGrant<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerGrant<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    room: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    room_admin: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    room_create: bool,
}

/// Mints a token for one call of the media server's own interface; no one but the server sees it.
///
/// # Errors
/// As [`mint`].
pub fn mint_for_server(
    key: &RoomKey,
    right: ServerRight,
    room_id: &str,
    validity: &Validity<'_>,
) -> Result<String, jsonwebtoken::errors::Error> {
    install_crypto();
    let video = match right {
        ServerRight::AdministerRoom => ServerGrant { room: Some(room_id), room_admin: true, room_create: false },
        ServerRight::DeleteRooms => ServerGrant { room: None, room_admin: false, room_create: true },
    };
    let (iat, exp) = (validity.now_s, validity.now_s + validity.valid_s.clamp(VALID_S_MIN, VALID_S_MAX));
    let claims = ServerClaims { iss: &key.id, iat, nbf: iat, exp, video };
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &EncodingKey::from_secret(&key.secret))
}

/// Names the crypto library, which jsonwebtoken would otherwise guess from the features that the whole build
/// happens to switch on, and panic where they name two.
fn install_crypto() {
    // An error only says that one is installed already.
    let _ = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{DecodingKey, Validation};
    use serde_json::{Value, json};

    use super::*;

    const NOW: Validity<'static> = Validity { now_s: 1_700_000_000, valid_s: VALID_S, jti: "t1" };

    fn admission(room_role: RoomRole) -> Admission<'static> {
        Admission {
            participant_id: "tab-1",
            name: "Ada",
            room_id: "r1",
            meeting_id: "meeting_1",
            user_id: "user_1",
            session_id: "tab-1",
            room_role,
            recording: Recording::Enabled,
        }
    }

    fn key() -> RoomKey {
        RoomKey { id: "key1".to_owned(), secret: b"a secret of thirty-two bytes ....".to_vec() }
    }

    #[test]
    fn a_hosts_claims_are_those_of_the_documentation() {
        let shown = json!({
            "iss": "key1", "sub": "tab-1", "name": "Ada",
            "iat": 1_700_000_000, "nbf": 1_700_000_000, "exp": 1_700_000_900, "jti": "t1",
            "metadata": "{\"meetingId\":\"meeting_1\",\"userId\":\"user_1\",\"sessionId\":\"tab-1\",\"role\":\"host\"}",
            "attributes": {"role": "host", "userId": "user_1"},
            "video": {
                "room": "r1", "roomJoin": true, "canSubscribe": true, "canPublishData": true, "canPublish": true,
                "canPublishSources": ["camera", "microphone", "screen_share", "screen_share_audio"], "roomAdmin": true,
            },
        });
        let made = serde_json::to_value(claims("key1", &admission(RoomRole::Host), &NOW)).unwrap();
        assert_eq!(made, shown);
    }

    #[test]
    fn a_participant_publishes_but_does_not_administer_the_room() {
        let video = claims("key1", &admission(RoomRole::Participant), &NOW).video;
        assert!(video.can_publish && !video.room_admin);
        assert_eq!(video.can_publish_sources.len(), 4);
        assert_eq!(serde_json::to_value(&video).unwrap().get("roomAdmin"), None);
    }

    #[test]
    fn a_viewer_subscribes_and_sends_data_only() {
        let made = serde_json::to_value(claims("key1", &admission(RoomRole::Viewer), &NOW)).unwrap();
        let video = json!({
            "room": "r1", "roomJoin": true, "canSubscribe": true, "canPublishData": true, "canPublish": false,
        });
        assert_eq!(made["video"], video);
        assert_eq!(made["attributes"]["role"], "participant");
    }

    #[test]
    fn rights_follow_the_table() {
        let all = |room_role| {
            let rights = permissions(room_role, Recording::Enabled);
            [rights.can_record, rights.can_mute, rights.can_kick, rights.can_share]
        };
        assert_eq!(all(RoomRole::Host), [true; 4]);
        assert_eq!(all(RoomRole::Participant), [false, false, false, true]);
        assert_eq!(all(RoomRole::Viewer), [false; 4]);
        assert!(!permissions(RoomRole::Host, Recording::Disabled).can_record);
    }

    #[test]
    fn a_minted_token_verifies_with_its_key_and_with_no_other() {
        let token = mint(&key(), &admission(RoomRole::Host), &NOW).unwrap();
        let mut validation = Validation::new(Algorithm::HS256);
        validation.validate_exp = false;
        let decoded = jsonwebtoken::decode::<Claims>(&token, &DecodingKey::from_secret(&key().secret), &validation);
        assert_eq!(decoded.unwrap().claims, claims("key1", &admission(RoomRole::Host), &NOW));
        let foreign = jsonwebtoken::decode::<Value>(&token, &DecodingKey::from_secret(b"other"), &validation);
        assert!(foreign.is_err());
    }

    #[test]
    fn a_servers_token_has_one_right_and_lasts_a_minute() {
        let claims = |right| {
            let validity = Validity { valid_s: VALID_S_MIN, ..NOW };
            let token = mint_for_server(&key(), right, "r1", &validity).unwrap();
            let mut validation = Validation::new(Algorithm::HS256);
            validation.validate_exp = false;
            jsonwebtoken::decode::<Value>(&token, &DecodingKey::from_secret(&key().secret), &validation).unwrap().claims
        };
        let times = json!({"iss": "key1", "iat": 1_700_000_000, "nbf": 1_700_000_000, "exp": 1_700_000_060});
        let with = |video: Value| {
            let mut claims = times.clone();
            claims["video"] = video;
            claims
        };
        assert_eq!(claims(ServerRight::AdministerRoom), with(json!({"room": "r1", "roomAdmin": true})));
        assert_eq!(claims(ServerRight::DeleteRooms), with(json!({"roomCreate": true})));
    }

    #[test]
    fn only_webinar_participants_without_host_role_are_viewers() {
        for &meeting_type in MeetingType::ALL {
            let other = if meeting_type == MeetingType::Webinar { RoomRole::Viewer } else { RoomRole::Participant };
            assert_eq!(RoomRole::of(Role::Host, meeting_type), RoomRole::Host);
            assert_eq!(RoomRole::of(Role::Participant, meeting_type), other);
        }
    }

    #[test]
    fn a_lifetime_is_held_to_its_bounds() {
        let exp = |valid_s| claims("k", &admission(RoomRole::Host), &Validity { valid_s, ..NOW }).exp - NOW.now_s;
        assert_eq!([exp(1), exp(60), exp(900), exp(21_600), exp(99_999)], [60, 60, 900, 21_600, 21_600]);
    }

    #[test]
    fn a_name_with_quotes_and_emoji_stays_intact() {
        let odd = Admission { name: "A\"d\\a 🦀", session_id: "s\"1", ..admission(RoomRole::Participant) };
        let made = claims("k", &odd, &NOW);
        assert_eq!(made.name, "A\"d\\a 🦀");
        let metadata: Value = serde_json::from_str(&made.metadata).unwrap();
        assert_eq!(metadata["sessionId"], "s\"1");
    }

    #[test]
    fn a_key_does_not_show_its_secret() {
        assert_eq!(format!("{:?}", key()), "RoomKey { id: \"key1\", .. }");
    }
}
