//! Reports of clients about their media sessions.

use convoke::prelude::*;
use convoke::{args, mutation};
use schema::{ClientToken, MediaSession, Meeting, Metadata, SessionState};

use super::session::{self, Report, ReportedSession};
use crate::audit;

/// Arguments of [`update_session_state`].
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "sessionId": "tab-1", "state": "connected",
///  "metadata": {"packetLoss": 0.5, "latency": 40, "jitter": 8, "bitrate": 1200000}}
/// ```
#[args]
pub struct UpdateSessionState {
    pub meeting_id: Id<Meeting>,
    /// Id of the session, chosen by the client. A connecting session is created if it does not exist.
    pub session_id: ClientToken,
    pub state: SessionState,
    /// Merged into the existing metadata, key by key. `packetLoss` (%), `latency` (ms), `jitter` (ms) and `bitrate`
    /// (bit/s) determine the quality; a valid `connectionQuality` takes precedence.
    pub metadata: Option<Metadata>,
}

/// Records the state and quality of a media session. A connected session makes its owner join. Returns the id of the
/// record. A host may close any session.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting; "Requires host role" to close another user's session.
/// - `NOT_FOUND`: "Media session not found", where it is to end before it began.
/// - `CONFLICT`: "Session ID is already in use" by another user.
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
