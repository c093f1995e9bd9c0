//! Sessions as clients see each other's, and the signals by which they find a way to each other.

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

/// A media session as lists show one.
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
    /// The client's own name of it.
    pub session_id: ClientToken,
    pub user_id: Id<User>,
    pub state: SessionState,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub user: Person,
    /// By the last figures.
    pub connection_quality: Option<ConnectionQuality>,
    /// When figures came last.
    pub last_metrics_at: Option<Millis>,
    /// What the client reported. Absent where it did not, and behind 4 MiB of metadata in one list.
    pub metadata: Option<Metadata>,
}

/// The open sessions of a meeting: connecting, connected or disconnected, oldest first.
///
/// # Errors
/// `FORBIDDEN`: the caller has no place in it.
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

/// A session of a meeting: what [`create_session`] and [`close_session`] take.
#[args]
pub struct OneSession {
    pub meeting_id: Id<Meeting>,
    /// The client's own name of it.
    pub session_id: ClientToken,
}

/// What [`create_session`] returns.
///
/// ```json
/// {"sessionId": "tab-1"}
/// ```
#[value]
pub struct SessionCreated {
    pub session_id: ClientToken,
}

/// Starts a session, or a new attempt under the id of one that was closed or has failed. One that is open stays open.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting.
/// - `CONFLICT`: "Session ID is already in use" by somebody else.
/// - `FAILED_PRECONDITION`: "Meeting is not currently active", "Meeting is full", "Too many open sessions".
#[mutation(rights = access::participant(args.meeting_id))]
pub fn create_session(ctx: &mut MutationCtx, membership: Membership, args: OneSession) -> Result<SessionCreated> {
    state::require_active(&membership.meeting)?;
    presence::require_room(ctx, &membership)?;
    let session = session::open(ctx, &membership, &args.session_id)?;
    audit::by_key(ctx, &membership.user)?;
    Ok(SessionCreated { session_id: session.session_id.clone() })
}

/// Ends a session of the caller's, in any state of the meeting.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting.
/// - `NOT_FOUND`: "Media session not found", also for somebody else's.
#[mutation(rights = session::own_session(args.meeting_id, &args.session_id))]
pub fn close_session(ctx: &mut MutationCtx, own: OwnSession, _: OneSession) -> Result<()> {
    session::close(ctx, own.session)?;
    audit::by_key(ctx, &own.membership.user)
}

/// What [`send_signal`] takes.
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "sessionId": "tab-1", "kind": "ice",
///  "payload": {"candidate": "candidate:1 1 UDP 2122252543 192.0.2.7 50000 typ host", "sdpMid": "0"}}
/// ```
#[args]
pub struct SendSignal {
    pub meeting_id: Id<Meeting>,
    /// The open session of the caller's that it comes from.
    pub session_id: ClientToken,
    /// For whom: an id, or the `sub` of a token of the caller's issuer. Absent: for everybody else who has joined.
    pub to_user_id: Option<UserRef>,
    pub kind: SignalKind,
    /// What is passed on as it is: any object of at most 64 KiB.
    pub payload: SignalPayload,
}

/// What [`send_signal`] returns.
///
/// ```json
/// {"delivered": 1}
/// ```
#[value]
pub struct SignalSent {
    /// How many people it lies ready for.
    pub delivered: usize,
}

/// Sends a session description or candidate to another participant, or to all who have joined. It lies ready until it
/// is acknowledged, a day at most.
///
/// Somebody who takes no signals is left out of those for all, so that one dead client does not silence a meeting.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting.
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
    // The sender and one too many show that there are too many.
    let joined = ctx.db().query(Participant::by_meeting_presence).eq(meeting).eq(Presence::Joined).take(most + 2)?;
    let others: Vec<Id<User>> = joined.iter().map(|row| row.user_id).filter(|id| *id != membership.user.id()).collect();
    if others.len() > most {
        return Err(Error::failed_precondition(format!("Too many recipients (max {most})")));
    }
    Ok(others)
}

/// How many signals somebody has not acknowledged, counted up to `most`.
fn waiting(ctx: &impl Read, user: Id<User>, most: usize) -> Result<usize> {
    let count = ctx.db().query(Signal::by_recipient).eq(user).count()?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX).min(most))
}

/// What [`list_signals`] takes.
#[args]
pub struct ListSignals {
    pub meeting_id: Id<Meeting>,
    #[default(Limit::default())]
    pub limit: Limit<100, 200>,
}

/// A signal as its recipient sees it.
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

/// The signals for the caller that they have not acknowledged, in the order in which they were sent. Fewer than asked for
/// where they would not fit one answer.
///
/// # Errors
/// `FORBIDDEN`: the caller has no place in the meeting.
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

/// What [`acknowledge_signals`] takes.
#[args]
pub struct AcknowledgeSignals {
    /// Those that have arrived, by the `_id` of each.
    pub signal_ids: List<Id<Signal>, 0, 1_000>,
}

/// What [`acknowledge_signals`] returns.
///
/// ```json
/// {"acknowledged": 2}
/// ```
#[value]
pub struct SignalsAcknowledged {
    /// Those that lay ready for the caller and are gone now.
    pub acknowledged: usize,
}

/// Deletes signals that the caller has received. Ids of others, and of signals that are gone, are passed over.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
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
