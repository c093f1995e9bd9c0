//! Having a LiveKit server brought in line, asked for in the transaction that changes the rows.
//!
//! `meetings/mediaServer` does it afterwards, as often as it takes. Rooms of the built-in provider need none of this.

use convoke::When;
use convoke::prelude::*;
use schema::{ClientToken, Meeting, MeetingState, User, VideoProvider};

use super::room_service::MediaServer;
use crate::events::Event;
use crate::meetings::media_server;

/// Lets the server follow what happened to these sessions.
///
/// # Errors
/// A failure of the store.
pub fn follow_up(
    ctx: &mut MutationCtx,
    meeting: &Doc<Meeting>,
    session_ids: impl IntoIterator<Item = ClientToken>,
) -> Result<()> {
    let session_ids: Vec<ClientToken> = session_ids.into_iter().collect();
    if meeting.video_provider == VideoProvider::LiveKit && !session_ids.is_empty() {
        let args = MediaServer { meeting_id: meeting.id(), session_ids, evicted: None };
        ctx.schedule::<media_server>(When::now(), args)?;
    }
    Ok(())
}

/// Puts a user out of the room: with the sessions that were `closed` just now, and with every other client of theirs that
/// the server has in it, whatever its session says of itself: a client may be in without telling.
///
/// # Errors
/// A failure of the store.
pub fn evict(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, user: Id<User>, closed: Vec<ClientToken>) -> Result<()> {
    // Nobody is in the room of a meeting that has not begun, or is over.
    let may_be_in = meeting.state == MeetingState::Active || !closed.is_empty();
    if meeting.video_provider == VideoProvider::LiveKit && may_be_in {
        let args = MediaServer { meeting_id: meeting.id(), session_ids: closed, evicted: Some(user) };
        ctx.schedule::<media_server>(When::now(), args)?;
    }
    Ok(())
}

crate::listener!(hear);

/// Ends the room of a meeting that is over.
fn hear(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, event: Event) -> Result<()> {
    if event == Event::Concluded && meeting.video_provider == VideoProvider::LiveKit {
        let args = MediaServer { meeting_id: meeting.id(), session_ids: Vec::new(), evicted: None };
        ctx.schedule::<media_server>(When::now(), args)?;
    }
    Ok(())
}
