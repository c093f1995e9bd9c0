//! Sessions of other participants, and signals to connect to them.

use convoke::prelude::*;
use convoke::{args, mutation, query, value};
use schema::limits::{LISTED_METADATA_BYTES, Quotas};
use schema::{
    ClientToken, ConnectionQuality, Limit, List, MediaSession, Meeting, Metadata, Participant, Presence, SessionState,
    Signal, SignalKind, SignalPayload, User, UserRef,
};

use super::session::{self, OwnSession};
use crate::access::{self, Membership};
use crate::audit;
use crate::meetings::lifecycle::OneMeeting;
use crate::meetings::{participants, presence, sessions, state};
use crate::names::{self, Person};
use crate::paging;

/// A media session in a list.
///
/// ```json
/// {"_id": "session_01jgfjs5r2a4n8w7k0q3d6m9vt", "_creationTime": 1767225600000,
///  "meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "sessionId": "tab-1",
///  "userId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "state": "connected", "createdAt": 1767225600000,
///  "updatedAt": 1767225601000,
///  "user": {"_id": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "displayName": "Ada", "avatarUrl": ""},
///  "connectionQuality": "excellent",
///  "lastMetricsAt": 1767225601000, "metadata": {"latency": 20}}
/// ```
#[value(output)]
pub struct ListedSession {
    #[value(rename = "_id")]
    pub id: Id<MediaSession>,
    #[value(rename = "_creationTime")]
    pub creation_time: Millis,
    pub meeting_id: Id<Meeting>,
    /// Id from the client.
    pub session_id: ClientToken,
    pub user_id: Id<User>,
    pub state: SessionState,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub user: Person,
    /// Quality from the last metrics.
    pub connection_quality: Option<ConnectionQuality>,
    /// Time of the last metrics.
    pub last_metrics_at: Option<Millis>,
    /// Metadata of the client. Absent if there is none, and after 4 MiB of metadata in one list.
    pub metadata: Option<Metadata>,
}

/// Returns the open sessions of a meeting (connecting, connected or disconnected), oldest first.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
#[query(rights = access::participant(args.meeting_id))]
pub fn get_active_sessions(ctx: &QueryCtx, membership: Membership, _: OneMeeting) -> Result<Vec<ListedSession>> {
    let open = sessions::open(ctx, membership.meeting.id())?;
    let mut users: Vec<Id<User>> = open.iter().map(|session| session.user_id).collect();
    users.sort_unstable();
    users.dedup();
    let people = names::people(ctx, &users)?;
    let mut room = LISTED_METADATA_BYTES;
    let listed = |session: Doc<MediaSession>| {
        let user = people.get(&session.user_id)?.clone();
        let (id, creation_time) = (session.id(), session.creation_time());
        let session = session.into_inner();
        Some(ListedSession {
            id,
            creation_time,
            meeting_id: session.meeting_id,
            session_id: session.session_id,
            user_id: session.user_id,
            state: session.state,
            created_at: creation_time,
            updated_at: session.updated_at,
            user,
            connection_quality: session.connection_quality,
            last_metrics_at: session.last_metrics_at,
            metadata: session.metadata.filter(|metadata| paging::takes(&mut room, metadata)),
        })
    };
    Ok(open.into_iter().filter_map(listed).collect())
}

/// A session of a meeting: arguments of [`create_session`] and [`close_session`].
#[args]
pub struct OneSession {
    pub meeting_id: Id<Meeting>,
    /// Id from the client.
    pub session_id: ClientToken,
}

/// The result of [`create_session`].
///
/// ```json
/// {"sessionId": "tab-1"}
/// ```
#[value]
pub struct SessionCreated {
    pub session_id: ClientToken,
}

/// Starts a session, or a new attempt with the id of a closed or failed one. An open session does not change.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
/// - `CONFLICT`: "Session ID is already in use" by another user.
/// - `FAILED_PRECONDITION`: "Meeting is not currently active", "Meeting is full", "Too many open sessions".
#[mutation(rights = access::participant(args.meeting_id))]
pub fn create_session(ctx: &mut MutationCtx, membership: Membership, args: OneSession) -> Result<SessionCreated> {
    state::require_active(&membership.meeting)?;
    presence::require_room(ctx, &membership)?;
    let session = session::open(ctx, &membership, &args.session_id)?;
    audit::by_key(ctx, &membership.user)?;
    Ok(SessionCreated { session_id: session.session_id.clone() })
}

/// Ends a session of the caller, in any state of the meeting.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
/// - `NOT_FOUND`: "Media session not found", also for another user's.
#[mutation(rights = session::own_session(args.meeting_id, &args.session_id))]
pub fn close_session(ctx: &mut MutationCtx, own: OwnSession, _: OneSession) -> Result<()> {
    session::close(ctx, own.session)?;
    audit::by_key(ctx, &own.membership.user)
}

/// Arguments of [`send_signal`].
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "sessionId": "tab-1", "kind": "ice",
///  "payload": {"candidate": "candidate:1 1 UDP 2122252543 192.0.2.7 50000 typ host", "sdpMid": "0"}}
/// ```
#[args]
pub struct SendSignal {
    pub meeting_id: Id<Meeting>,
    /// The sending session: an open session of the caller.
    pub session_id: ClientToken,
    /// Recipient: an id, or the `sub` of a token of the caller's issuer. Absent: all other joined participants.
    pub to_user_id: Option<UserRef>,
    pub kind: SignalKind,
    /// Passed on unchanged: any object of at most 64 KiB.
    pub payload: SignalPayload,
}

/// The result of [`send_signal`].
///
/// ```json
/// {"delivered": 1}
/// ```
#[value]
pub struct SignalSent {
    /// Number of recipients.
    pub delivered: usize,
}

/// Sends a session description or candidate to another participant, or to all joined participants. The signal is stored
/// until it is acknowledged, for at most a day.
///
/// A signal to all skips recipients with too many unacknowledged signals, so that one dead client does not block a
/// meeting.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
/// - `NOT_FOUND`: "Media session not found"; "Participant not found in meeting".
/// - `FAILED_PRECONDITION`: "Session is closed"; too many recipients; too many signals that the recipient has not
///   acknowledged.
#[mutation(rights = session::own_session(args.meeting_id, &args.session_id))]
pub fn send_signal(ctx: &mut MutationCtx, own: OwnSession, args: SendSignal) -> Result<SignalSent> {
    let OwnSession { membership, session } = own;
    if !session.state.is_open() {
        return Err(session::closed());
    }
    let recipients = recipients(ctx, &membership, args.to_user_id.as_ref())?;
    let most = ctx.settings::<Quotas>().unacknowledged_signals_per_recipient;
    let mut delivered = 0;
    for &to_user_id in &recipients {
        if waiting(ctx, to_user_id, most)? >= most {
            continue;
        }
        ctx.db_mut().insert(Signal {
            meeting_id: membership.meeting.id(),
            from_user_id: membership.user.id(),
            from_session_id: args.session_id.clone(),
            to_user_id,
            to_session_id: None,
            kind: args.kind,
            payload: args.payload.clone(),
        })?;
        delivered += 1;
    }
    if delivered == 0 && !recipients.is_empty() {
        return Err(Error::failed_precondition(format!("Too many unacknowledged signals (max {most})")));
    }
    audit::by_key(ctx, &membership.user)?;
    Ok(SignalSent { delivered })
}

fn recipients(ctx: &impl Read, membership: &Membership, named: Option<&UserRef>) -> Result<Vec<Id<User>>> {
    let meeting = membership.meeting.id();
    if let Some(who) = named {
        let unknown = || Error::not_found("Participant not found in meeting");
        let user = access::find_user(ctx, Some(&membership.user), who)?.ok_or_else(unknown)?;
        let participant = participants::find(ctx, meeting, user.id())?.ok_or_else(unknown)?;
        return Ok(vec![participant.user_id]);
    }
    let most = ctx.settings::<Quotas>().broadcast_recipients;
    // One more than the limit and the sender shows that there are too many.
    let joined = ctx.db().query(Participant::by_meeting_presence).eq(meeting).eq(Presence::Joined).take(most + 2)?;
    let others: Vec<Id<User>> = joined.iter().map(|row| row.user_id).filter(|id| *id != membership.user.id()).collect();
    if others.len() > most {
        return Err(Error::failed_precondition(format!("Too many recipients (max {most})")));
    }
    Ok(others)
}

/// Counts a user's unacknowledged signals, up to `most`.
fn waiting(ctx: &impl Read, user: Id<User>, most: usize) -> Result<usize> {
    let count = ctx.db().query(Signal::by_recipient).eq(user).count()?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX).min(most))
}

/// Arguments of [`list_signals`].
#[args]
pub struct ListSignals {
    pub meeting_id: Id<Meeting>,
    #[default(Limit::default())]
    pub limit: Limit<100, 200>,
}

/// A signal from the recipient's point of view.
///
/// ```json
/// {"_id": "signal_01jgfjs5r2a4n8w7k0q3d6m9vt", "_creationTime": 1767225600000, "createdAt": 1767225600000,
///  "meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "fromUserId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "fromSessionId": "tab-1", "kind": "ice",
///  "payload": {"candidate": "candidate:1 1 udp 2122260223 192.0.2.7 51234 typ host"}}
/// ```
#[value(output)]
pub struct ListedSignal {
    #[value(rename = "_id")]
    pub id: Id<Signal>,
    #[value(rename = "_creationTime")]
    pub creation_time: Millis,
    pub created_at: Millis,
    pub meeting_id: Id<Meeting>,
    pub from_user_id: Id<User>,
    pub from_session_id: ClientToken,
    pub kind: SignalKind,
    pub payload: SignalPayload,
}

/// Returns the caller's unacknowledged signals, oldest first. Returns fewer than requested if they would not fit into one
/// response.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
#[query(rights = access::participant(args.meeting_id))]
pub fn list_signals(ctx: &QueryCtx, membership: Membership, args: ListSignals) -> Result<Vec<ListedSignal>> {
    let own = ctx.db().query(Signal::by_recipient).eq(membership.user.id()).eq(membership.meeting.id());
    let page = own.page(None, args.limit.get())?;
    let listed = |signal: Doc<Signal>| {
        let (id, creation_time) = (signal.id(), signal.creation_time());
        let signal = signal.into_inner();
        ListedSignal {
            id,
            creation_time,
            created_at: creation_time,
            meeting_id: signal.meeting_id,
            from_user_id: signal.from_user_id,
            from_session_id: signal.from_session_id,
            kind: signal.kind,
            payload: signal.payload,
        }
    };
    Ok(page.items.into_iter().map(listed).collect())
}

/// Arguments of [`acknowledge_signals`].
#[args]
pub struct AcknowledgeSignals {
    /// Ids of received signals.
    pub signal_ids: List<Id<Signal>, 0, 1_000>,
}

/// The result of [`acknowledge_signals`].
///
/// ```json
/// {"acknowledged": 2}
/// ```
#[value]
pub struct SignalsAcknowledged {
    /// Number of deleted signals.
    pub acknowledged: usize,
}

/// Deletes signals that the caller has received. Ids of other users' or deleted signals are ignored.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[mutation(rights = access::user)]
pub fn acknowledge_signals(
    ctx: &mut MutationCtx,
    user: Doc<User>,
    args: AcknowledgeSignals,
) -> Result<SignalsAcknowledged> {
    let mut acknowledged = 0;
    for signal in ctx.db().get_many(&args.signal_ids)?.into_iter().flatten() {
        if signal.to_user_id == user.id() && ctx.db_mut().delete(signal.id())? {
            acknowledged += 1;
        }
    }
    audit::by_key(ctx, &user)?;
    Ok(SignalsAcknowledged { acknowledged })
}
