//! Schedules updates of a LiveKit server in the transaction that changes the rows.
//!
//! `meetings/mediaServer` executes them with retries. Rooms of the built-in provider need no updates.

use convoke::When;
use convoke::prelude::*;
use schema::{ClientToken, Meeting, MeetingState, User, VideoProvider};

use super::room_service::MediaServer;
use crate::events::Event;
use crate::meetings::media_server;

/// Schedules an update of the server for these sessions.
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

/// Ejects a user from the room, with the sessions that were just `closed` and every other client of the user on the
/// server. A client may be connected without reporting it.
///
/// # Errors
/// A failure of the store.
pub fn evict(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, user: Id<User>, closed: Vec<ClientToken>) -> Result<()> {
    // The room of a meeting that has not started or has ended is empty.
    let may_be_in = meeting.state == MeetingState::Active || !closed.is_empty();
    if meeting.video_provider == VideoProvider::LiveKit && may_be_in {
        let args = MediaServer { meeting_id: meeting.id(), session_ids: closed, evicted: Some(user) };
        ctx.schedule::<media_server>(When::now(), args)?;
    }
    Ok(())
}

crate::listener!(hear);

/// Ends the room of a meeting that has ended.
fn hear(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, event: Event) -> Result<()> {
    if event == Event::Concluded && meeting.video_provider == VideoProvider::LiveKit {
        let args = MediaServer { meeting_id: meeting.id(), session_ids: Vec::new(), evicted: None };
        ctx.schedule::<media_server>(When::now(), args)?;
    }
    Ok(())
}
