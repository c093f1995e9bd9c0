//! What a client needs to find its way to the others: the media server's address, or servers that help it through
//! routers and firewalls.

use convoke::prelude::*;
use convoke::value;
use schema::{User, VideoProvider};

use super::keys;
use super::settings::{Stun, TURN_SECRET, Turn};
use super::turn::{self, turn_credentials};
use crate::access::Membership;
use crate::meetings::creation::Features;
use crate::meetings::provider::LiveKit;

/// What [`crate::meetings::lifecycle::get_meeting_connection_info`] returns.
///
/// ```json
/// {"videoProvider": "webrtc", "roomId": "3f0c…", "iceServers": [{"urls": ["stun:stun.example.org:3478"]},
///  {"urls": ["turn:turn.example.org:3478"], "username": "1767229200:user_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "credential": "BiDr…="}],
///  "expiresAt": 1767229200000, "features": {"recording": false, "transcription": true, "maxParticipants": 8}}
/// ```
#[value(output)]
pub struct ConnectionInfo {
    /// What carries sound and picture.
    pub video_provider: VideoProvider,
    /// The room at the provider.
    pub room_id: String,
    /// Where the media server is, if the meeting has one.
    pub server_url: Option<String>,
    /// Servers that help clients find each other, as `RTCPeerConnection` takes them.
    pub ice_servers: Vec<IceServer>,
    /// Until when the credentials are good.
    pub expires_at: Millis,
    /// What the meeting can do.
    pub features: Features,
}

/// A server that helps connections come about, as `RTCPeerConnection` takes it.
#[value(output)]
pub struct IceServer {
    /// Its addresses, such as `turn:turn.example.org:3478`.
    pub urls: Vec<String>,
    /// The user of a TURN server.
    pub username: Option<String>,
    /// The password of a TURN server, good until `expiresAt`.
    pub credential: Option<String>,
}

/// How the caller connects to a meeting.
///
/// # Errors
/// `PROVIDER_ERROR`: its media server is not configured any more.
pub fn info(ctx: &ActionCtx, membership: &Membership) -> Result<ConnectionInfo> {
    let Membership { user, meeting, .. } = membership;
    let server_url = match meeting.video_provider {
        VideoProvider::WebRtc => None,
        VideoProvider::LiveKit => {
            let settings = ctx.settings::<LiveKit>();
            Some(settings.server().ok_or_else(keys::no_server)?.url.as_str().to_owned())
        }
    };
    let now_s = ctx.now().get() / 1_000;
    Ok(ConnectionInfo {
        video_provider: meeting.video_provider,
        room_id: meeting.room_id.clone(),
        server_url,
        ice_servers: ice_servers(ctx, user.id(), now_s, meeting.state.is_final())?,
        expires_at: Millis((now_s + turn::VALID_S) * 1_000),
        features: Features::of(meeting),
    })
}

fn ice_servers(ctx: &ActionCtx, user: Id<User>, now_s: i64, is_over: bool) -> Result<Vec<IceServer>> {
    let mut servers = Vec::new();
    let stun: Vec<String> = ctx.settings::<Stun>().urls.iter().map(|url| url.as_str().to_owned()).collect();
    if !stun.is_empty() {
        servers.push(IceServer { urls: stun, username: None, credential: None });
    }
    let relays: Vec<String> = ctx.settings::<Turn>().urls.iter().map(|url| url.as_str().to_owned()).collect();
    // Relaying costs: what is over gives nobody an account with the relay.
    if !relays.is_empty() && !is_over {
        let made = turn_credentials(ctx.secret(TURN_SECRET)?.expose(), &user.to_string(), now_s);
        servers.push(IceServer { urls: relays, username: Some(made.username), credential: Some(made.credential) });
    }
    Ok(servers)
}
