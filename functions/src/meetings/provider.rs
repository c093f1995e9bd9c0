//! What carries a meeting's sound and picture: the clients among themselves, or a LiveKit server.

use convoke::Context;
use convoke::settings::Section;
use schema::{MaxParticipants, MeetingType, VideoProvider};
use serde::Deserialize;

/// A LiveKit server (`[livekit]` in `convoke.toml`). Without an address there is none.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LiveKit {
    /// Where clients reach it, such as `wss://media.example.org`.
    pub url: String,
    /// The key's name, as the server knows it.
    pub api_key: String,
    /// The key's secret.
    pub api_secret: String,
    /// A second key, by name and secret, that is accepted while the first one is being rotated.
    pub previous_api_key: String,
    /// Its secret.
    pub previous_api_secret: String,
}

impl std::fmt::Debug for LiveKit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveKit").field("url", &self.url).field("api_key", &self.api_key).finish_non_exhaustive()
    }
}

impl Section for LiveKit {
    const NAME: &'static str = "livekit";
}
convoke::section!(LiveKit);

impl LiveKit {
    /// Whether there is a server, with a key to mint its tokens.
    pub fn is_configured(&self) -> bool {
        !self.url.is_empty() && !self.api_key.is_empty() && !self.api_secret.is_empty()
    }
}

/// The largest meeting whose clients connect among themselves: each sends its picture to all others.
const MESH_MAX: i64 = 8;

/// The provider of a new meeting.
pub fn choose(ctx: &impl Context, meeting_type: MeetingType, max: MaxParticipants, recording: bool) -> VideoProvider {
    provider(ctx.settings::<LiveKit>().is_configured(), meeting_type, max, recording)
}

/// Whether a token for a room of this provider can be minted: the key of the built-in one is always there.
pub fn is_ready(ctx: &impl Context, provider: VideoProvider) -> bool {
    match provider {
        VideoProvider::WebRtc => true,
        VideoProvider::LiveKit => ctx.settings::<LiveKit>().is_configured(),
    }
}

fn provider(has_server: bool, meeting_type: MeetingType, max: MaxParticipants, recording: bool) -> VideoProvider {
    let is_small = matches!(meeting_type, MeetingType::OneOnOne | MeetingType::SmallGroup) && max.get() <= MESH_MAX;
    if !has_server || (is_small && !recording) { VideoProvider::WebRtc } else { VideoProvider::LiveKit }
}

#[cfg(test)]
mod tests {
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
}
