//! The media provider of a meeting: direct connections between clients, or a LiveKit server.

use convoke::Context;
use convoke::settings::Section;
use convoke::value;
use schema::{MaxParticipants, MeetingType, VideoProvider};
use schemars::JsonSchema;
use serde::Deserialize;

/// The LiveKit server, if one is configured (`[livekit]` in `convoke.toml`).
///
/// ```toml
/// [livekit]
/// url = "wss://media.example.org"    # where clients reach it
/// api_key = "APIa1b2c3"              # its secret is LIVEKIT_API_SECRET
/// previous_api_key = "APIz9y8x7"     # optional, while keys are rotated; LIVEKIT_PREVIOUS_API_SECRET
/// ```
///
/// Tokens are signed with `api_key`. If the server rejects it during a rotation, calls of its API are repeated with the
/// previous key.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(try_from = "Table")]
#[schemars(into = "Table")]
pub struct LiveKit {
    server: Option<Server>,
}

/// A configured server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Address for clients.
    pub url: ServerUrl,
    /// Name of the key that signs tokens.
    pub api_key: KeyId,
    /// Name of the previous key.
    pub previous_api_key: Option<KeyId>,
}

/// Address of a media server: `wss://…`, `ws://…`, `https://…` or `http://…`.
#[value(
    text,
    trim,
    max = 2048,
    pattern = "^(wss|ws|https|http)://[^/]+",
    expected = "an address such as wss://media.example.org"
)]
pub struct ServerUrl(String);

impl ServerUrl {
    /// Returns the same address for API calls.
    pub fn http(&self) -> String {
        let url = self.0.trim_end_matches('/');
        match url.split_once("://") {
            Some(("wss", rest)) => format!("https://{rest}"),
            Some(("ws", rest)) => format!("http://{rest}"),
            Some(_) | None => url.to_owned(),
        }
    }
}

/// Name of a key on the server.
#[value(text, trim, min = 1, max = 255)]
pub struct KeyId(String);

/// Name of the secret of `api_key`.
pub const API_SECRET: &str = "LIVEKIT_API_SECRET";
/// Name of the secret of `previous_api_key`.
pub const PREVIOUS_API_SECRET: &str = "LIVEKIT_PREVIOUS_API_SECRET";

impl Section for LiveKit {
    const NAME: &'static str = "livekit";

    fn secrets(&self) -> Vec<&'static str> {
        let Some(server) = &self.server else { return Vec::new() };
        let previous = server.previous_api_key.as_ref().map(|_| PREVIOUS_API_SECRET);
        [API_SECRET].into_iter().chain(previous).collect()
    }
}
convoke::section!(LiveKit);

/// A LiveKit server for large, recorded or public meetings. Without one, clients connect directly.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Address for clients.
    #[schemars(example = "wss://media.example.org")]
    url: Option<ServerUrl>,
    /// Name of the key that signs tokens; its secret is LIVEKIT_API_SECRET.
    #[schemars(example = &"APIa1b2c3")]
    api_key: Option<KeyId>,
    /// Name of the previous key during a rotation; its secret is LIVEKIT_PREVIOUS_API_SECRET.
    #[schemars(example = &"APIz9y8x7")]
    previous_api_key: Option<KeyId>,
}

impl TryFrom<Table> for LiveKit {
    type Error = &'static str;

    fn try_from(table: Table) -> Result<Self, Self::Error> {
        let Table { url, api_key, previous_api_key } = table;
        match (url, api_key) {
            (Some(url), Some(api_key)) => Ok(Self { server: Some(Server { url, api_key, previous_api_key }) }),
            (None, None) if previous_api_key.is_none() => Ok(Self::default()),
            _ => Err("a server needs both `url` and `api_key`; without a server leave all of them out"),
        }
    }
}

impl LiveKit {
    /// Returns the server.
    pub fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }
}

/// Largest meeting with direct connections: each client sends its video to all others.
const MESH_MAX: i64 = 8;

/// Returns the provider of a new meeting.
pub fn choose(ctx: &impl Context, meeting_type: MeetingType, max: MaxParticipants, recording: bool) -> VideoProvider {
    provider(ctx.settings::<LiveKit>().server().is_some(), meeting_type, max, recording)
}

/// Returns true if a token for a room of this provider can be created. The built-in key always exists.
pub fn is_ready(ctx: &impl Context, provider: VideoProvider) -> bool {
    match provider {
        VideoProvider::WebRtc => true,
        VideoProvider::LiveKit => ctx.settings::<LiveKit>().server().is_some() && ctx.has_secret(API_SECRET),
    }
}

fn provider(has_server: bool, meeting_type: MeetingType, max: MaxParticipants, recording: bool) -> VideoProvider {
    let is_small = matches!(meeting_type, MeetingType::OneOnOne | MeetingType::SmallGroup) && max.get() <= MESH_MAX;
    if !has_server || (is_small && !recording) { VideoProvider::WebRtc } else { VideoProvider::LiveKit }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn large_recorded_and_public_meetings_go_through_the_server_where_there_is_one() {
        let max = |max| MaxParticipants::new(max).unwrap();
        for (meeting_type, size, recording, expected) in [
            (MeetingType::OneOnOne, 2, false, VideoProvider::WebRtc),
            (MeetingType::SmallGroup, 8, false, VideoProvider::WebRtc),
            (MeetingType::SmallGroup, 9, false, VideoProvider::LiveKit),
            (MeetingType::SmallGroup, 8, true, VideoProvider::LiveKit),
            (MeetingType::LargeMeeting, 2, false, VideoProvider::LiveKit),
            (MeetingType::Webinar, 2, false, VideoProvider::LiveKit),
        ] {
            assert_eq!(provider(true, meeting_type, max(size), recording), expected);
            assert_eq!(provider(false, meeting_type, max(size), recording), VideoProvider::WebRtc);
        }
    }

    #[test]
    fn a_server_is_configured_whole_or_not_at_all() {
        let read = |table| from_value::<LiveKit>(table).map_err(|error| error.to_string());
        assert!(read(json!({})).unwrap().server().is_none());
        let whole = read(json!({"url": "wss://media.example.org/", "api_key": "API1"})).unwrap();
        assert_eq!(whole.server().unwrap().url.http(), "https://media.example.org");
        for half in [json!({"url": "wss://a"}), json!({"api_key": "k"}), json!({"previous_api_key": "k"})] {
            assert!(read(half.clone()).unwrap_err().contains("both `url` and `api_key`"), "{half}");
        }
        let typo = read(json!({"url": "media.example.org", "api_key": "k"})).unwrap_err();
        assert!(typo.contains("an address such as wss://media.example.org"), "{typo}");
        assert!(read(json!({"api_secret": "in the open"})).is_err());
    }

    #[test]
    fn the_interface_is_where_the_clients_are() {
        for (url, http) in [
            ("wss://a.example", "https://a.example"),
            ("ws://a.example:7880/", "http://a.example:7880"),
            ("https://a.example/media", "https://a.example/media"),
            ("http://127.0.0.1:7880", "http://127.0.0.1:7880"),
        ] {
            assert_eq!(ServerUrl::new(url).unwrap().http(), http);
        }
    }
}
