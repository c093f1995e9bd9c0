//! Meetings: their lifecycle, their participants, and (in `webrtc`) their media connections.
//!
//! `state`, `presence`, `participants`, `roles`, `invitations` and `sessions` implement the transitions. Functions call
//! them, so that each transition happens in one transaction.

use convoke::prelude::*;
use convoke::scheduler::When;
use convoke::{action, mutation};

use presence::expiry::{self, EndPresence, Expiry};
use webrtc::room_service::{self, MediaServer};

pub mod state;
pub mod presence;
pub mod sessions;
pub mod participants;
pub mod roles;
pub mod invitations;
pub mod migrations;
pub mod creation;
pub mod provider;
pub mod idle;
pub mod lifecycle;
pub mod admin;
pub mod queries;
pub mod webhooks;
pub mod webrtc;

/// Ends meetings that are empty for 15 minutes or active for 24 hours, and sessions that neither connect nor close for
/// 5 minutes. Runs every minute. If they do not fit into one transaction, the next one starts immediately.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
#[cron("* * * * *")]
pub fn conclude_idle(ctx: &mut MutationCtx) -> Result<()> {
    if idle::sweep(ctx)? == idle::Swept::Part {
        ctx.schedule_once::<conclude_idle>("next", When::now(), NoArgs {})?;
    }
    Ok(())
}

/// Ends a presence whose lease the client has not renewed for 60 s.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
pub fn end_presence(ctx: &mut MutationCtx, args: EndPresence) -> Result<()> {
    match expiry::expire(ctx, &args)? {
        Expiry::Left => ctx.cancel_key::<end_presence>(&args.key()).map(drop),
        Expiry::Lasts(end) => ctx.schedule_debounced::<end_presence>(&end.key(), end.until, end).map(drop),
    }
}

/// Updates a LiveKit server after a removal, a change of role or the end of a meeting. Retries for some minutes until
/// the server accepts it.
///
/// # Errors
/// `PROVIDER_ERROR`, `TIMEOUT`: the server did not accept it.
#[action(internal, tries = 8)]
pub async fn media_server(ctx: &ActionCtx, args: MediaServer) -> Result<()> {
    let (meeting_id, evicted) = (args.meeting_id, args.evicted);
    match ctx.run::<room_service::room>(args).await? {
        Some(room) => room_service::bring_in_line(ctx, meeting_id, &room, evicted).await,
        None => Ok(()),
    }
}
