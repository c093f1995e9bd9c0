//! What a client needs to find its way to the others: the media server's address, or servers that help it through
//! routers and firewalls.

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::{Meeting, User, VideoProvider};

use super::keys;
use super::settings::{Stun, TURN_SECRET, Turn};
use super::turn::{self, turn_credentials};
use crate::access;
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
/// `FORBIDDEN`: they have no place in it; `PROVIDER_ERROR`: its media server is not configured any more.
pub async fn info(ctx: &ActionCtx, meeting_id: Id<Meeting>) -> Result<ConnectionInfo> {
    let way = ctx.run::<way>(WayTo { meeting_id }).await?;
    let server_url = match way.video_provider {
        VideoProvider::WebRtc => None,
        VideoProvider::LiveKit => {
            let settings = ctx.settings::<LiveKit>();
            Some(settings.server().ok_or_else(keys::no_server)?.url.as_str().to_owned())
        }
    };
    let now_s = ctx.now().get() / 1_000;
    Ok(ConnectionInfo {
        video_provider: way.video_provider,
        room_id: way.room_id,
        server_url,
        ice_servers: ice_servers(ctx, way.user_id, now_s, way.is_over)?,
        expires_at: Millis((now_s + turn::VALID_S) * 1_000),
        features: way.features,
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

/// What [`way`] takes.
#[args]
pub struct WayTo {
    pub meeting_id: Id<Meeting>,
}

/// What of a meeting tells how to connect to it.
#[value]
pub struct Way {
    pub user_id: Id<User>,
    pub video_provider: VideoProvider,
    pub room_id: String,
    pub is_over: bool,
    pub features: Features,
}

/// The part of connection info that is read from the database.
///
/// # Errors
/// `FORBIDDEN`: the caller has no place in the meeting.
#[query(internal)]
pub fn way(ctx: &QueryCtx, args: WayTo) -> Result<Way> {
    let membership = access::participant(ctx, args.meeting_id)?;
    Ok(Way {
        user_id: membership.user.id(),
        video_provider: membership.meeting.video_provider,
        room_id: membership.meeting.room_id.clone(),
        is_over: membership.meeting.state.is_final(),
        features: Features::of(&membership.meeting),
    })
}
