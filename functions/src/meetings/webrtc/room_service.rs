//! Updates a LiveKit server from the rows: ejected users, permissions, and ended rooms.
//!
//! `media_server` schedules an update in the transaction that changes the rows, and `meetings/mediaServer` runs it with
//! retries. An update uses the current rows, so that repeated or reordered updates have the same result.

use std::collections::HashMap;
use std::time::Duration;

use convoke::outbound::{Reply, Secret};
use convoke::prelude::*;
use convoke::{args, query, value};
use schema::{ClientToken, Meeting, MeetingType, Role, SessionState, User};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::keys;
use super::tokens::{self, Admission, Recording, RoomKey, ServerRight, Validity};
use crate::meetings::provider::{LiveKit, Server};
use crate::meetings::{participants, sessions};

/// Largest list of participants from the server, in bytes: a few kilobytes per participant.
const INSIDE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Timeout of one call to the server.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Arguments of `meetings/mediaServer`.
#[args]
pub struct MediaServer {
    pub meeting_id: Id<Meeting>,
    /// Sessions whose seat in the room is updated; without any, only the room itself is.
    pub session_ids: Vec<ClientToken>,
    /// User to eject, with every client in the room.
    pub evicted: Option<Id<User>>,
}

/// A room according to the rows.
#[value]
pub struct Room {
    pub room_id: String,
    pub is_over: bool,
    pub meeting_type: MeetingType,
    pub recording_enabled: bool,
    pub seats: Vec<Seat>,
}

/// The seat of a session in a room.
#[value]
pub struct Seat {
    pub session_id: ClientToken,
    /// Its owner and role; none if it no longer has a seat.
    pub holder: Option<Holder>,
}

/// The owner of a seat in a room.
#[value]
pub struct Holder {
    pub user_id: Id<User>,
    pub role: Role,
}

/// Returns the room of a meeting and the seats of these sessions according to the rows; none without a meeting.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn room(ctx: &QueryCtx, args: MediaServer) -> Result<Option<Room>> {
    let Some(meeting) = ctx.db().get(args.meeting_id)? else { return Ok(None) };
    let mut seats = Vec::new();
    for session_id in args.session_ids {
        let holder = holder(ctx, meeting.id(), &session_id)?;
        seats.push(Seat { session_id, holder });
    }
    Ok(Some(Room {
        room_id: meeting.room_id.clone(),
        is_over: meeting.state.is_final(),
        meeting_type: meeting.meeting_type,
        recording_enabled: meeting.recording_enabled,
        seats,
    }))
}

fn holder(ctx: &impl Read, meeting: Id<Meeting>, session_id: &ClientToken) -> Result<Option<Holder>> {
    let session = sessions::find(ctx, meeting, session_id)?;
    // A failed session may reconnect; a closed one may not.
    let Some(session) = session.filter(|session| session.state != SessionState::Closed) else { return Ok(None) };
    let participant = participants::find(ctx, meeting, session.user_id)?;
    let is_active = ctx.db().get(session.user_id)?.is_some_and(|user| user.is_active);
    Ok(participant.filter(|_| is_active).map(|row| Holder { user_id: row.user_id, role: row.role }))
}

/// A client that the server has in a room.
#[value]
pub struct Client {
    pub session_id: ClientToken,
    /// User in its token; the row of its session has it too while it exists.
    pub user_id: Option<Id<User>>,
}

/// Arguments of [`seats_of`].
#[args]
pub struct SeatsOf {
    pub meeting_id: Id<Meeting>,
    pub user_id: Id<User>,
    pub inside: Vec<Client>,
}

/// Returns the seats, according to the rows, of a user's clients in a room.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn seats_of(ctx: &QueryCtx, args: SeatsOf) -> Result<Vec<Seat>> {
    let mut seats = Vec::new();
    for Client { session_id, user_id } in args.inside {
        let session = sessions::find(ctx, args.meeting_id, &session_id)?;
        let owner = session.map(|session| session.user_id).or(user_id);
        if owner == Some(args.user_id) {
            let holder = holder(ctx, args.meeting_id, &session_id)?;
            seats.push(Seat { session_id, holder });
        }
    }
    Ok(seats)
}

/// Updates the server. Before it ejects a user, it requests the list of clients, since only the server knows clients
/// whose session was closed long ago.
///
/// # Errors
/// `PROVIDER_ERROR`, `TIMEOUT`: the server does not accept the update; `INTERNAL`: its secret is missing.
pub async fn bring_in_line(
    ctx: &ActionCtx,
    meeting_id: Id<Meeting>,
    room: &Room,
    evicted: Option<Id<User>>,
) -> Result<()> {
    let settings = ctx.settings::<LiveKit>();
    let Some(server) = settings.server() else {
        warn!("The media server of {meeting_id} is not configured any more; its room is left alone");
        return Ok(());
    };
    let service = RoomService { ctx, server, keys: keys::server_keys(ctx, server)?, room: &room.room_id };
    if room.is_over {
        service.call("DeleteRoom", ServerRight::DeleteRooms, &json!({"room": room.room_id})).await?;
        return Ok(());
    }
    let mut seats = room.seats.clone();
    if let Some(user_id) = evicted {
        let inside = service.inside().await?;
        let found = ctx.run::<seats_of>(SeatsOf { meeting_id, user_id, inside }).await?;
        seats.extend(found.into_iter().filter(|seat| room.seats.iter().all(|one| one.session_id != seat.session_id)));
    }
    for seat in &seats {
        match &seat.holder {
            Some(holder) => service.update(meeting_id, room, seat, holder).await?,
            None => service.remove(seat).await?,
        }
    }
    Ok(())
}

/// The API of a server, for one room.
struct RoomService<'a> {
    ctx: &'a ActionCtx,
    server: &'a Server,
    keys: Vec<RoomKey>,
    room: &'a str,
}

impl RoomService<'_> {
    async fn remove(&self, seat: &Seat) -> Result<()> {
        let body = json!({"room": self.room, "identity": seat.session_id});
        self.call("RemoveParticipant", ServerRight::AdministerRoom, &body).await?;
        Ok(())
    }

    /// Returns the clients in the room, except those without a token of this installation.
    async fn inside(&self) -> Result<Vec<Client>> {
        let body = json!({"room": self.room});
        let Some(answer) = self.call("ListParticipants", ServerRight::AdministerRoom, &body).await? else {
            return Ok(Vec::new());
        };
        let Inside { participants } = answer.json()?;
        Ok(participants.into_iter().filter_map(Client::of).collect())
    }

    /// Sends the participant's current permissions, which the token does not have.
    async fn update(&self, meeting_id: Id<Meeting>, room: &Room, seat: &Seat, holder: &Holder) -> Result<()> {
        let admission = Admission {
            participant_id: &seat.session_id,
            name: "",
            room_id: self.room,
            meeting_id: &meeting_id.to_string(),
            user_id: &holder.user_id.to_string(),
            session_id: &seat.session_id,
            room_role: tokens::RoomRole::of(holder.role, room.meeting_type),
            recording: if room.recording_enabled { Recording::Enabled } else { Recording::Disabled },
        };
        let now = tokens::standing(&admission);
        let body = json!({
            "room": self.room,
            "identity": seat.session_id,
            "metadata": now.metadata,
            "attributes": now.attributes,
            "permission": {
                "canSubscribe": now.video.can_subscribe,
                "canPublish": now.video.can_publish,
                "canPublishData": now.video.can_publish_data,
                // The API has enum constants; a token has lower-case names.
                "canPublishSources":
                    now.video.can_publish_sources.iter().map(|source| source.to_uppercase()).collect::<Vec<_>>(),
            },
        });
        self.call("UpdateParticipant", ServerRight::AdministerRoom, &body).await?;
        Ok(())
    }

    /// Makes a call with the first key that the server accepts. Returns none, without an error, if the room or
    /// participant does not exist, because that is the wanted state.
    async fn call(&self, method: &str, right: ServerRight, body: &Value) -> Result<Option<Reply>> {
        let url = format!("{}/twirp/livekit.RoomService/{method}", self.server.url.http());
        let mut answer = None;
        for key in &self.keys {
            let reply = self.post(&url, &self.token(key, right)?, body).await?;
            let refused_key = reply.status() == 401;
            answer = Some(reply);
            if !refused_key {
                break;
            }
            warn!("The media server does not take the key {}", key.id);
        }
        let Some(answer) = answer else { return Err(Error::internal("a server without a key")) };
        if answer.status() == 404 && is_not_found(&answer.text()) {
            debug!("{method}: not there");
            return Ok(None);
        }
        let answer = answer.success()?;
        info!("{method}: done");
        Ok(Some(answer))
    }

    async fn post(&self, url: &str, token: &Secret, body: &impl Serialize) -> Result<Reply> {
        let request = self.ctx.http()?.post(url).bearer(token).json(body).timeout(TIMEOUT).repeatable();
        let request = request.body_bytes_max(INSIDE_BYTES_MAX);
        Ok(request.send().await?)
    }

    fn token(&self, key: &RoomKey, right: ServerRight) -> Result<Secret> {
        let validity = Validity { now_s: self.ctx.now().get() / 1_000, valid_s: tokens::VALID_S_MIN, jti: "" };
        let token = tokens::mint_for_server(key, right, self.room, &validity).map_err(Error::internal)?;
        Ok(token.into())
    }
}

/// The server's list of participants; only the used part.
#[derive(Deserialize)]
struct Inside {
    #[serde(default)]
    participants: Vec<Participant>,
}

#[derive(Deserialize)]
struct Participant {
    identity: String,
    #[serde(default)]
    attributes: HashMap<String, String>,
}

impl Client {
    /// Reads a client; none for other participants, such as a recorder.
    fn of(participant: Participant) -> Option<Self> {
        let session_id = ClientToken::new(participant.identity).ok()?;
        let user_id = participant.attributes.get("userId").and_then(|id| id.parse().ok());
        Some(Self { session_id, user_id })
    }
}

/// Returns true if the response means that the room or participant does not exist, rather than a wrong address.
fn is_not_found(body: &str) -> bool {
    let code = serde_json::from_str::<Value>(body).ok().and_then(|body| body.get("code").cloned());
    code.is_some_and(|code| code == "not_found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_own_not_found_is_one() {
        assert!(is_not_found(r#"{"code":"not_found","msg":"participant does not exist"}"#));
        assert!(!is_not_found(r#"{"code":"bad_route","msg":"no handler for path"}"#));
        assert!(!is_not_found("<html>404</html>"));
    }
}
