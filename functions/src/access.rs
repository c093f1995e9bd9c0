//! Who may what: the checks that every function makes first, in their order: identity, active account, rate, rights.
//!
//! A meeting that does not exist and one the caller has no part in give the same answer, and so do somebody else's
//! profile and an unknown user: a stranger learns nothing.

use convoke::prelude::*;
use convoke::Caller;
use schema::{Meeting, Participant, Role, User, UserRef};

/// A caller's place in a meeting.
pub struct Seat {
    /// The caller.
    pub user: Doc<User>,
    /// The meeting.
    pub meeting: Doc<Meeting>,
    /// The caller's row in it.
    pub participant: Doc<Participant>,
}

/// Somebody with rights over other people's data.
pub enum Admin {
    /// A deploy key that acts as nobody: on every organization.
    DeployKey(String),
    /// A user with the role `admin`: on the own organization.
    User(Box<Doc<User>>),
}

/// The calling user, whose account is active and whose rate allows the call.
///
/// # Errors
/// `UNAUTHENTICATED`, `FORBIDDEN` (deactivated, or a deploy key that acts as nobody), `RATE_LIMITED`.
pub fn user(ctx: &impl Read) -> Result<Doc<User>> {
    let Some(identity) = ctx.identity() else {
        return Err(match ctx.caller() {
            Caller::DeployKey(_) => Error::forbidden("Deploy key must act as a user"),
            Caller::Nobody | Caller::User(_) | Caller::System => Error::unauthenticated("Authentication required"),
        });
    };
    let row = ctx.db().query(User::by_issuer_subject).eq(&identity.issuer).eq(&identity.subject).unique()?;
    // A deploy key may name a user who never came; everybody else was seen before the call.
    let user = row.ok_or_else(|| Error::forbidden("Access denied: Insufficient permissions"))?;
    if !user.is_active {
        return Err(Error::forbidden("Account is deactivated"));
    }
    ctx.charge_call()?;
    Ok(user)
}

/// The calling user's place in a meeting.
///
/// # Errors
/// Those of [`user`]; `FORBIDDEN` to whom the meeting is none of his, also if there is none.
pub fn participant(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Seat> {
    let user = user(ctx)?;
    seat_of(ctx, user, meeting)
}

/// The place of a user in a meeting.
///
/// # Errors
/// `FORBIDDEN` if there is none.
pub fn seat_of(ctx: &impl Read, user: Doc<User>, meeting: Id<Meeting>) -> Result<Seat> {
    let stranger = || Error::forbidden("Access denied: Not a meeting participant");
    let row = ctx.db().query(Participant::by_meeting_user).eq(meeting).eq(user.id()).unique()?;
    let participant = row.ok_or_else(stranger)?;
    let meeting = ctx.db().get(meeting)?.ok_or_else(stranger)?;
    Ok(Seat { user, meeting, participant })
}

/// The calling user's place in a meeting that he hosts.
///
/// # Errors
/// Those of [`participant`]; `FORBIDDEN` "Requires host role".
pub fn host(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Seat> {
    let seat = participant(ctx, meeting)?;
    if seat.participant.role != Role::Host {
        return Err(Error::forbidden("Requires host role")
            .with("requiredRole", Role::Host.as_str())
            .with("currentRole", seat.participant.role.as_str()));
    }
    Ok(seat)
}

/// The caller as an admin: a deploy key that acts as nobody, or a user with the role.
///
/// # Errors
/// Those of [`user`]; `FORBIDDEN` for everybody else.
pub fn admin(ctx: &impl Read) -> Result<Admin> {
    match ctx.caller() {
        Caller::DeployKey(key) if key.acting_as.is_none() => Ok(Admin::DeployKey(key.name.clone())),
        Caller::DeployKey(_) | Caller::Nobody | Caller::User(_) | Caller::System => {
            let user = user(ctx)?;
            if is_admin(&user) { Ok(Admin::User(Box::new(user))) } else { Err(insufficient()) }
        }
    }
}

/// The user whose profile is meant, if the caller owns it or has rights over its owner.
///
/// # Errors
/// Those of [`admin`]; `FORBIDDEN` for an unknown user and for somebody else's; `NOT_FOUND` if an admin or a deploy key
/// names an unknown user.
pub fn profile_owner(ctx: &impl Read, who: &UserRef) -> Result<(Doc<User>, Actor)> {
    if let Caller::DeployKey(key) = ctx.caller()
        && key.acting_as.is_none()
    {
        let target = find_user(ctx, None, who)?.ok_or_else(|| Error::not_found("User not found"))?;
        return Ok((target, Actor::DeployKey(key.name.clone())));
    }
    let caller = user(ctx)?;
    let target = find_user(ctx, Some(&caller), who)?;
    match target {
        Some(target) if target.id() == caller.id() || administers(&caller, &target) => {
            let actor = Actor::of(ctx, &caller);
            Ok((target, actor))
        }
        None if is_admin(&caller) => Err(Error::not_found("User not found")),
        Some(_) | None => Err(insufficient()),
    }
}

/// Who did something, as the audit names him.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A user.
    User(Id<User>),
    /// A deploy key; also one that acts as a user.
    DeployKey(String),
    /// The runtime: a job.
    System,
}

impl Actor {
    /// The one who makes this call, which runs as `user`.
    pub fn of(ctx: &impl Read, user: &Doc<User>) -> Self {
        match ctx.caller() {
            Caller::DeployKey(key) => Actor::DeployKey(key.name.clone()),
            Caller::System => Actor::System,
            Caller::User(_) | Caller::Nobody => Actor::User(user.id()),
        }
    }
}

impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Actor::User(id) => id.fmt(f),
            Actor::DeployKey(name) => write!(f, "deploy-key:{name}"),
            Actor::System => f.write_str("system"),
        }
    }
}

/// The user that a reference names: by id, or by the `sub` of the caller's own issuer.
///
/// # Errors
/// A failure of the store.
pub fn find_user(ctx: &impl Read, caller: Option<&Doc<User>>, who: &UserRef) -> Result<Option<Doc<User>>> {
    if let Ok(id) = who.as_str().parse::<Id<User>>()
        && let Some(user) = ctx.db().get(id)?
    {
        return Ok(Some(user));
    }
    let Some(caller) = caller else { return Ok(None) };
    Ok(ctx.db().query(User::by_issuer_subject).eq(&caller.issuer).eq(who.as_str()).unique()?)
}

/// Whether `admin` has the role, and `user` is of the same organization.
pub fn administers(admin: &User, user: &User) -> bool {
    is_admin(admin) && same_organization(admin, user)
}

/// Whether the user carries the role `admin`.
pub fn is_admin(user: &User) -> bool {
    user.roles.iter().any(|role| role == "admin")
}

/// Two users of one issuer and one organization; two without an organization are never in the same one.
pub fn same_organization(a: &User, b: &User) -> bool {
    let known = a.org_id.as_deref().is_some_and(|org| !org.is_empty());
    known && a.issuer == b.issuer && a.org_id == b.org_id
}

/// `FORBIDDEN` for somebody else's data.
pub fn insufficient() -> Error {
    Error::forbidden("Access denied: Insufficient permissions")
}
