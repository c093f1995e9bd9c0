//! The rights that functions declare: `rights = access::host(args.meeting_id)` runs before a body, which receives its
//! result. Each check runs in this order: identity, active account, rate, rights.
//!
//! A missing meeting and a meeting without the caller give the same error, and so do a foreign profile and an unknown
//! user. A caller without rights therefore learns nothing.

use convoke::prelude::*;
use convoke::{Caller, Context};
use schema::{Actor, Meeting, Participant, Role, User, UserRef};

/// A caller as a participant of a meeting.
#[derive(Clone)]
pub struct Membership {
    /// The caller.
    pub user: Doc<User>,
    /// The meeting.
    pub meeting: Doc<Meeting>,
    /// The caller's row in the meeting.
    pub participant: Doc<Participant>,
}

impl Membership {
    /// Returns true if the caller is a host of the meeting.
    pub fn is_host(&self) -> bool {
        self.participant.role == Role::Host
    }
}

/// A caller with rights over data of other users.
pub enum Admin {
    /// A deploy key without a user: rights on every organization.
    DeployKey,
    /// A user with the role `admin`: rights on the same organization.
    User(Box<Doc<User>>),
}

impl Admin {
    /// Returns true if the rights include this user's data.
    pub fn may_change(&self, user: &User) -> bool {
        match self {
            Admin::DeployKey => true,
            Admin::User(admin) => administers(admin, user),
        }
    }
}

/// Returns the calling user. Requires an active account and charges the rate.
///
/// # Errors
/// `UNAUTHENTICATED`, `FORBIDDEN` (deactivated, or a deploy key without a user), `RATE_LIMITED`.
pub fn user(ctx: &impl Read) -> Result<Doc<User>> {
    let Some(identity) = ctx.identity() else {
        return Err(match ctx.caller() {
            Caller::DeployKey(_) => Error::forbidden("Deploy key must act as a user"),
            Caller::Nobody | Caller::User(_) | Caller::System => Error::unauthenticated("Authentication required"),
        });
    };
    let row = ctx.db().query(User::by_identity).eq(&identity.issuer).eq(&identity.subject).unique()?;
    // A deploy key may name a user without an account. Any other caller has one.
    let user = row.ok_or_else(insufficient)?;
    if !user.is_active {
        return Err(Error::forbidden("Account is deactivated"));
    }
    ctx.charge_call()?;
    Ok(user)
}

/// Returns the caller as a participant of the meeting.
///
/// # Errors
/// Errors of [`user`]; `FORBIDDEN`: the caller is not in the meeting, or there is no such meeting.
pub fn participant(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Membership> {
    let user = user(ctx)?;
    membership_of(ctx, user, meeting)
}

/// Returns the caller as a participant, for a call with several items. Each item is charged to the rate.
///
/// # Errors
/// Errors of [`participant`].
pub fn batch_participant(ctx: &impl Read, meeting: Id<Meeting>, things: usize) -> Result<Membership> {
    let user = user(ctx)?;
    ctx.charge(u32::try_from(things.saturating_sub(1)).unwrap_or(u32::MAX))?;
    membership_of(ctx, user, meeting)
}

/// Returns a user as a participant of a meeting.
///
/// # Errors
/// `FORBIDDEN`: the user is not in it.
pub fn membership_of(ctx: &impl Read, user: Doc<User>, meeting: Id<Meeting>) -> Result<Membership> {
    let stranger = || Error::forbidden("Access denied: Not a meeting participant");
    let row = ctx.db().query(Participant::by_meeting_user).eq(meeting).eq(user.id()).unique()?;
    let participant = row.ok_or_else(stranger)?;
    let meeting = ctx.db().get(meeting)?.ok_or_else(stranger)?;
    Ok(Membership { user, meeting, participant })
}

/// Returns the caller as a host of the meeting.
///
/// # Errors
/// Errors of [`participant`]; `FORBIDDEN` "Requires host role".
pub fn host(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Membership> {
    let membership = participant(ctx, meeting)?;
    require_host(&membership)?;
    Ok(membership)
}

/// Requires a host of the meeting.
///
/// # Errors
/// `FORBIDDEN` "Requires host role".
pub fn require_host(membership: &Membership) -> Result<()> {
    if membership.is_host() {
        return Ok(());
    }
    Err(Error::forbidden("Requires host role")
        .with("requiredRole", Role::Host.as_str())
        .with("currentRole", membership.participant.role.as_str()))
}

/// Returns the calling user, or none for a deploy key without a user.
///
/// # Errors
/// Errors of [`user`].
pub fn user_or_key(ctx: &impl Read) -> Result<Option<Doc<User>>> {
    if is_bare_deploy_key(ctx) { Ok(None) } else { user(ctx).map(Some) }
}

/// Returns the caller as an admin: a deploy key without a user, or a user with the role.
///
/// # Errors
/// Errors of [`user`]; `FORBIDDEN` for other callers.
pub fn admin(ctx: &impl Read) -> Result<Admin> {
    if is_bare_deploy_key(ctx) {
        return Ok(Admin::DeployKey);
    }
    let user = user(ctx)?;
    if is_admin(&user) { Ok(Admin::User(Box::new(user))) } else { Err(insufficient()) }
}

/// Returns a deploy key without a user, as the audit records it.
///
/// # Errors
/// Errors of [`user`]; `FORBIDDEN` for other callers.
pub fn deploy_key(ctx: &impl Read) -> Result<Actor> {
    if is_bare_deploy_key(ctx) {
        return Ok(actor(ctx, None));
    }
    user(ctx)?;
    Err(insufficient())
}

/// Returns the user of a profile if the caller is that user or has rights over that user.
///
/// # Errors
/// Errors of [`admin`]; `FORBIDDEN`: the user is unknown or another user; `NOT_FOUND`: an admin or a deploy key named
/// an unknown user.
pub fn profile_owner(ctx: &impl Read, who: &UserRef) -> Result<Owned> {
    if is_bare_deploy_key(ctx) {
        let owner = find_user(ctx, None, who)?.ok_or_else(unknown_user)?;
        return Ok(Owned { owner, actor: actor(ctx, None), is_own: false });
    }
    let caller = user(ctx)?;
    match find_user(ctx, Some(&caller), who)? {
        Some(owner) if owner.id() == caller.id() => Ok(Owned { owner, actor: actor(ctx, Some(&caller)), is_own: true }),
        Some(owner) if administers(&caller, &owner) => {
            Ok(Owned { owner, actor: actor(ctx, Some(&caller)), is_own: false })
        }
        None if is_admin(&caller) => Err(unknown_user()),
        Some(_) | None => Err(insufficient()),
    }
}

/// A user whose profile the caller may change.
pub struct Owned {
    /// Owner of the profile.
    pub owner: Doc<User>,
    /// The caller, as the audit records it.
    pub actor: Actor,
    /// True if the caller is the owner.
    pub is_own: bool,
}

/// A user over whom the caller has rights.
pub struct Administered {
    /// The user.
    pub user: Doc<User>,
    /// The caller, as the audit records it.
    pub actor: Actor,
}

/// Returns the user that an admin or deploy key names.
///
/// # Errors
/// Errors of [`admin`]; `NOT_FOUND`: the user is unknown; `FORBIDDEN`: the user is of another organization.
pub fn administered(ctx: &impl Read, who: &UserRef) -> Result<Administered> {
    let admin = admin(ctx)?;
    let caller = match &admin {
        Admin::DeployKey => None,
        Admin::User(user) => Some(&**user),
    };
    let user = find_user(ctx, caller, who)?.ok_or_else(unknown_user)?;
    if !admin.may_change(&user) {
        return Err(insufficient());
    }
    let actor = actor(ctx, caller);
    Ok(Administered { user, actor })
}

/// Returns the two users that an admin or deploy key names.
///
/// # Errors
/// Errors of [`administered`].
pub fn administered_pair(ctx: &impl Read, one: &UserRef, other: &UserRef) -> Result<[Doc<User>; 2]> {
    Ok([administered(ctx, one)?.user, administered(ctx, other)?.user])
}

/// Returns the caller as the audit records it: a deploy key, also if it acts as a user; otherwise the user.
pub fn actor(ctx: &impl Context, user: Option<&Doc<User>>) -> Actor {
    match (ctx.caller(), user) {
        (Caller::DeployKey(key), _) => Actor::deploy_key(&key.name),
        (Caller::User(_) | Caller::Nobody | Caller::System, Some(user)) => Actor::user(user.id()),
        (Caller::User(_) | Caller::Nobody | Caller::System, None) => Actor::system(),
    }
}

/// Returns the user of a reference: by id, or by the `sub` of the caller's issuer.
///
/// # Errors
/// A failure of the store.
pub fn find_user(ctx: &impl Read, caller: Option<&Doc<User>>, who: &UserRef) -> Result<Option<Doc<User>>> {
    if let Some(id) = who.id()
        && let Some(user) = ctx.db().get(id)?
    {
        return Ok(Some(user));
    }
    let Some(caller) = caller else { return Ok(None) };
    Ok(ctx.db().query(User::by_identity).eq(&caller.issuer).eq(who.subject()).unique()?)
}

/// Returns true if `admin` has the role and both are of the same organization.
pub fn administers(admin: &User, user: &User) -> bool {
    is_admin(admin) && same_organization(admin, user)
}

/// Returns true if the user has the role `admin`.
pub fn is_admin(user: &User) -> bool {
    user.roles.iter().any(|role| role == "admin")
}

/// Returns true if both users have the same issuer and organization. Users without an organization never do.
pub fn same_organization(a: &User, b: &User) -> bool {
    let known = a.org_id.as_deref().is_some_and(|org| !org.is_empty());
    known && a.issuer == b.issuer && a.org_id == b.org_id
}

/// Returns `FORBIDDEN` for data of another user.
pub fn insufficient() -> Error {
    Error::forbidden("Access denied: Insufficient permissions")
}

/// Returns `NOT_FOUND` for a caller that may know which users exist.
pub fn unknown_user() -> Error {
    Error::not_found("User not found")
}

/// Returns true if the caller is a deploy key without a user.
pub fn is_bare_deploy_key(ctx: &impl Context) -> bool {
    ctx.caller().deploy_key().is_some_and(|key| key.acting_as.is_none())
}
