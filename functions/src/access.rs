//! The rights that functions declare: `rights = access::host(args.meeting_id)` runs before a body, and the body receives
//! what it returned. Each checks in this order: identity, active account, rate, rights.
//!
//! A meeting that does not exist and one the caller has no part in give the same answer, and so do somebody else's
//! profile and an unknown user: a stranger learns nothing.

use convoke::prelude::*;
use convoke::{Caller, Context};
use schema::{Actor, Meeting, Participant, Role, User, UserRef};

/// A caller's place in a meeting.
#[derive(Clone)]
pub struct Membership {
    /// The caller.
    pub user: Doc<User>,
    /// The meeting.
    pub meeting: Doc<Meeting>,
    /// The caller's row in it.
    pub participant: Doc<Participant>,
}

impl Membership {
    /// Whether the caller is a host of the meeting.
    pub fn is_host(&self) -> bool {
        self.participant.role == Role::Host
    }
}

/// Somebody with rights over other people's data.
pub enum Admin {
    /// A deploy key that acts as nobody: on every organization.
    DeployKey,
    /// A user with the role `admin`: on their own organization.
    User(Box<Doc<User>>),
}

impl Admin {
    /// Whether their rights reach this user's data.
    pub fn may_change(&self, user: &User) -> bool {
        match self {
            Admin::DeployKey => true,
            Admin::User(admin) => administers(admin, user),
        }
    }
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
    let row = ctx.db().query(User::by_identity).eq(&identity.issuer).eq(&identity.subject).unique()?;
    // A deploy key may name a user who never came; everybody else was seen before the call.
    let user = row.ok_or_else(insufficient)?;
    if !user.is_active {
        return Err(Error::forbidden("Account is deactivated"));
    }
    ctx.charge_call()?;
    Ok(user)
}

/// The calling user's place in a meeting.
///
/// # Errors
/// Those of [`user`]; `FORBIDDEN` to whom the meeting is none of theirs, also if there is none.
pub fn participant(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Membership> {
    let user = user(ctx)?;
    membership_of(ctx, user, meeting)
}

/// The calling user's place in a meeting, for a call with several things: each is charged to their rate.
///
/// # Errors
/// Those of [`participant`].
pub fn batch_participant(ctx: &impl Read, meeting: Id<Meeting>, things: usize) -> Result<Membership> {
    let user = user(ctx)?;
    ctx.charge(u32::try_from(things.saturating_sub(1)).unwrap_or(u32::MAX))?;
    membership_of(ctx, user, meeting)
}

/// The place of a user in a meeting.
///
/// # Errors
/// `FORBIDDEN` if there is none.
pub fn membership_of(ctx: &impl Read, user: Doc<User>, meeting: Id<Meeting>) -> Result<Membership> {
    let stranger = || Error::forbidden("Access denied: Not a meeting participant");
    let row = ctx.db().query(Participant::by_meeting_user).eq(meeting).eq(user.id()).unique()?;
    let participant = row.ok_or_else(stranger)?;
    let meeting = ctx.db().get(meeting)?.ok_or_else(stranger)?;
    Ok(Membership { user, meeting, participant })
}

/// The calling user's place in a meeting that they host.
///
/// # Errors
/// Those of [`participant`]; `FORBIDDEN` "Requires host role".
pub fn host(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Membership> {
    let membership = participant(ctx, meeting)?;
    require_host(&membership)?;
    Ok(membership)
}

/// Lets only a host of the meeting pass.
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

/// The calling user, or none for a deploy key that acts as nobody: for what both may ask.
///
/// # Errors
/// Those of [`user`].
pub fn user_or_key(ctx: &impl Read) -> Result<Option<Doc<User>>> {
    if is_bare_deploy_key(ctx) { Ok(None) } else { user(ctx).map(Some) }
}

/// The caller as an admin: a deploy key that acts as nobody, or a user with the role.
///
/// # Errors
/// Those of [`user`]; `FORBIDDEN` for everybody else.
pub fn admin(ctx: &impl Read) -> Result<Admin> {
    if is_bare_deploy_key(ctx) {
        return Ok(Admin::DeployKey);
    }
    let user = user(ctx)?;
    if is_admin(&user) { Ok(Admin::User(Box::new(user))) } else { Err(insufficient()) }
}

/// A deploy key that acts as no user, as the audit names it.
///
/// # Errors
/// Those of [`user`]; `FORBIDDEN` for every other caller.
pub fn deploy_key(ctx: &impl Read) -> Result<Actor> {
    if is_bare_deploy_key(ctx) {
        return Ok(actor(ctx, None));
    }
    user(ctx)?;
    Err(insufficient())
}

/// The user whose profile is meant, if the caller owns it or has rights over its owner.
///
/// # Errors
/// Those of [`admin`]; `FORBIDDEN` for an unknown user and for somebody else's; `NOT_FOUND` if an admin or a deploy key
/// names an unknown user.
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
    /// Whose profile it is.
    pub owner: Doc<User>,
    /// Who changes it.
    pub actor: Actor,
    /// Whether that is the owner themselves.
    pub is_own: bool,
}

/// A user over whom the caller has rights.
pub struct Administered {
    /// The user.
    pub user: Doc<User>,
    /// The caller, as the audit names them.
    pub actor: Actor,
}

/// The user that an admin or deploy key names.
///
/// # Errors
/// Those of [`admin`]; `NOT_FOUND` for an unknown user; `FORBIDDEN` for one of another organization.
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

/// The two users that an admin or deploy key names.
///
/// # Errors
/// Those of [`administered`].
pub fn administered_pair(ctx: &impl Read, one: &UserRef, other: &UserRef) -> Result<[Doc<User>; 2]> {
    Ok([administered(ctx, one)?.user, administered(ctx, other)?.user])
}

/// Who makes this call, as the audit names them: the deploy key, also where it acts as a user; else the user.
pub fn actor(ctx: &impl Context, user: Option<&Doc<User>>) -> Actor {
    match (ctx.caller(), user) {
        (Caller::DeployKey(key), _) => Actor::deploy_key(&key.name),
        (Caller::User(_) | Caller::Nobody | Caller::System, Some(user)) => Actor::user(user.id()),
        (Caller::User(_) | Caller::Nobody | Caller::System, None) => Actor::system(),
    }
}

/// The user that a reference names: by id, or by the `sub` of the caller's own issuer.
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

/// `NOT_FOUND` for a user that is named by somebody who may know.
pub fn unknown_user() -> Error {
    Error::not_found("User not found")
}

/// Whether a deploy key calls that acts as nobody.
pub fn is_bare_deploy_key(ctx: &impl Context) -> bool {
    ctx.caller().deploy_key().is_some_and(|key| key.acting_as.is_none())
}
