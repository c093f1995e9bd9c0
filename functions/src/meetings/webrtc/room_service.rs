//! Bringing a LiveKit server in line with what the rows say: who is out, who may do what, which room is over.
//!
//! `media_server` asks for it in the transaction that changes the rows; `meetings/mediaServer` does it afterwards, as often
//! as it takes. It goes by the rows as they are then, so that doing it twice, or in another order, ends the same.

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

/// Bytes of the server's list of who is in a room: some kilobytes for each of its people.
const INSIDE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How long one call of the server may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What `meetings/mediaServer` takes.
#[args]
pub struct MediaServer {
    pub meeting_id: Id<Meeting>,
    /// Whose place in the room is to be brought in line; with none, only the room itself is.
    pub session_ids: Vec<ClientToken>,
    /// Who is put out with every client that the server has in the room, whatever happened to its session.
    pub evicted: Option<Id<User>>,
}

/// A room as the rows have it.
#[value]
pub struct Room {
    pub room_id: String,
    pub is_over: bool,
    pub meeting_type: MeetingType,
    pub recording_enabled: bool,
    pub places: Vec<Place>,
}

/// A session's place in a room.
#[value]
pub struct Place {
    pub session_id: ClientToken,
    /// Whose it is and as what; none if it has no place any more.
    pub holder: Option<Holder>,
}

/// Who holds a place in a room.
#[value]
pub struct Holder {
    pub user_id: Id<User>,
    pub role: Role,
}

/// How the rows have the room of a meeting and the places of these sessions in it; none without a meeting.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn room(ctx: &QueryCtx, args: MediaServer) -> Result<Option<Room>> {
    let Some(meeting) = ctx.db().get(args.meeting_id)? else { return Ok(None) };
    let mut places = Vec::new();
    for session_id in args.session_ids {
        let holder = holder(ctx, meeting.id(), &session_id)?;
        places.push(Place { session_id, holder });
    }
    Ok(Some(Room {
        room_id: meeting.room_id.clone(),
        is_over: meeting.state.is_final(),
        meeting_type: meeting.meeting_type,
        recording_enabled: meeting.recording_enabled,
        places,
    }))
}

fn holder(ctx: &impl Read, meeting: Id<Meeting>, session_id: &ClientToken) -> Result<Option<Holder>> {
    let session = sessions::find(ctx, meeting, session_id)?;
    // One that has failed may come back, and one that is closed may not.
    let Some(session) = session.filter(|session| session.state != SessionState::Closed) else { return Ok(None) };
    let participant = participants::find(ctx, meeting, session.user_id)?;
    let is_active = ctx.db().get(session.user_id)?.is_some_and(|user| user.is_active);
    Ok(participant.filter(|_| is_active).map(|row| Holder { user_id: row.user_id, role: row.role }))
}

/// A client that the server has in a room.
#[value]
pub struct Client {
    pub session_id: ClientToken,
    /// Whose it is by its token; a session's row says it too, as long as it is kept.
    pub user_id: Option<Id<User>>,
}

/// What [`places_of`] takes.
#[args]
pub struct PlacesOf {
    pub meeting_id: Id<Meeting>,
    pub user_id: Id<User>,
    pub inside: Vec<Client>,
}

/// Which of the clients in a room are a user's, and how the rows have their places.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn places_of(ctx: &QueryCtx, args: PlacesOf) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    for Client { session_id, user_id } in args.inside {
        let session = sessions::find(ctx, args.meeting_id, &session_id)?;
        let owner = session.map(|session| session.user_id).or(user_id);
        if owner == Some(args.user_id) {
            let holder = holder(ctx, args.meeting_id, &session_id)?;
            places.push(Place { session_id, holder });
        }
    }
    Ok(places)
}

/// Tells the server. Of somebody who is put out it is asked first which clients it has: it alone knows those that are in
/// although their session was closed long ago.
///
/// # Errors
/// `PROVIDER_ERROR`, `TIMEOUT` if it does not take it; `INTERNAL` without its secret.
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
    let mut places = room.places.clone();
    if let Some(user_id) = evicted {
        let inside = service.inside().await?;
        let found = ctx.run::<places_of>(PlacesOf { meeting_id, user_id, inside }).await?;
        places
            .extend(found.into_iter().filter(|place| room.places.iter().all(|one| one.session_id != place.session_id)));
    }
    for place in &places {
        match &place.holder {
            Some(holder) => service.update(meeting_id, room, place, holder).await?,
            None => service.remove(place).await?,
        }
    }
    Ok(())
}

/// The interface of a server, for one room.
struct RoomService<'a> {
    ctx: &'a ActionCtx,
    server: &'a Server,
    keys: Vec<RoomKey>,
    room: &'a str,
}

impl RoomService<'_> {
    async fn remove(&self, place: &Place) -> Result<()> {
        let body = json!({"room": self.room, "identity": place.session_id});
        self.call("RemoveParticipant", ServerRight::AdministerRoom, &body).await?;
        Ok(())
    }

    /// The clients that the server has in the room, without those that no token of ours let in.
    async fn inside(&self) -> Result<Vec<Client>> {
        let body = json!({"room": self.room});
        let Some(answer) = self.call("ListParticipants", ServerRight::AdministerRoom, &body).await? else {
            return Ok(Vec::new());
        };
        let Inside { participants } = answer.json()?;
        Ok(participants.into_iter().filter_map(Client::of).collect())
    }

    /// What the participant may do now, which the token that they came with does not know.
    async fn update(&self, meeting_id: Id<Meeting>, room: &Room, place: &Place, holder: &Holder) -> Result<()> {
        let admission = Admission {
            participant_id: &place.session_id,
            name: "",
            room_id: self.room,
            meeting_id: &meeting_id.to_string(),
            user_id: &holder.user_id.to_string(),
            session_id: &place.session_id,
            room_role: tokens::RoomRole::of(holder.role, room.meeting_type),
            recording: if room.recording_enabled { Recording::Enabled } else { Recording::Disabled },
        };
        let now = tokens::standing(&admission);
        let body = json!({
            "room": self.room,
            "identity": place.session_id,
            "metadata": now.metadata,
            "attributes": now.attributes,
            "permission": {
                "canSubscribe": now.video.can_subscribe,
                "canPublish": now.video.can_publish,
                "canPublishData": now.video.can_publish_data,
                // Constants of an enumeration here, lower-case names in a token.
                "canPublishSources":
                    now.video.can_publish_sources.iter().map(|source| source.to_uppercase()).collect::<Vec<_>>(),
            },
        });
        self.call("UpdateParticipant", ServerRight::AdministerRoom, &body).await?;
        Ok(())
    }

    /// One call, by the first key that the server takes; its answer. A room or participant that is not there is no
    /// failure, and has none: that is how it was to be.
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

/// The server's list of who is in a room, as far as it is read.
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
    /// A client by what the server says of it; none for one that is no session, such as a recorder.
    fn of(participant: Participant) -> Option<Self> {
        let session_id = ClientToken::new(participant.identity).ok()?;
        let user_id = participant.attributes.get("userId").and_then(|id| id.parse().ok());
        Some(Self { session_id, user_id })
    }
}

/// Whether an answer says that the room or participant is not there, and not that the address is wrong.
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
