//! What clients report of their media sessions.

use convoke::prelude::*;
use convoke::{args, mutation};
use schema::{ClientToken, MediaSession, Meeting, Metadata, SessionState};

use super::session::{self, Report, ReportedSession};
use crate::audit;

/// What [`update_session_state`] takes.
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "sessionId": "tab-1", "state": "connected",
///  "metadata": {"packetLoss": 0.5, "latency": 40, "jitter": 8, "bitrate": 1200000}}
/// ```
#[args]
pub struct UpdateSessionState {
    pub meeting_id: Id<Meeting>,
    /// The client's own name of the session. One that is not known is made, if it connects.
    pub session_id: ClientToken,
    pub state: SessionState,
    /// Laid over what is there, key by key. `packetLoss` (%), `latency` (ms), `jitter` (ms) and `bitrate` (bit/s) are
    /// rated; a `connectionQuality` in it is believed.
    pub metadata: Option<Metadata>,
}

/// Records the state and the quality of a media session. One that is connected means that its owner has joined. Returns
/// the record's id. A host may close anybody's.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting; "Requires host role" to close somebody else's session.
/// - `NOT_FOUND`: "Media session not found", where it is to end before it began.
/// - `CONFLICT`: "Session ID is already in use" by somebody else.
/// - `FAILED_PRECONDITION`: "Session is closed", "Meeting is not currently active", "Meeting is full", "Too many open
///   sessions".
#[mutation(rights = session::reported_session(args.meeting_id, &args.session_id, args.state))]
pub fn update_session_state(
    ctx: &mut MutationCtx,
    reported: ReportedSession,
    args: UpdateSessionState,
) -> Result<Id<MediaSession>> {
    let ReportedSession { membership, session } = reported;
    let user = membership.user.clone();
    let session = match session {
        Some(foreign) if foreign.user_id != user.id() => session::close_foreign(ctx, &membership, foreign, args.state)?,
        own => {
            let report = Report { state: args.state, metadata: args.metadata };
            session::report(ctx, membership, &args.session_id, own, report)?
        }
    };
    audit::by_key(ctx, &user)?;
    Ok(session.id())
}
