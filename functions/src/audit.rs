//! The audit log of changes of rights and of other users' data, written in the transaction of the change.
//!
//! [`meeting`], [`user`] and [`catalog`] record an action on one resource. [`by_key`] records actions that count only
//! if a deploy key does them. `system/audit` defines who may read the log.

use convoke::prelude::*;
use schema::{Actor, AuditEntry, Details, Meeting, User};

/// Records an action on a meeting. Reads its organizer, since the entry belongs to the organizer's organization.
///
/// # Errors
/// A failure of the store.
pub fn meeting(
    ctx: &mut MutationCtx,
    actor: &Actor,
    action: &str,
    meeting: &Doc<Meeting>,
    details: Details,
) -> Result<()> {
    let organizer = ctx.db().get(meeting.organizer_id)?;
    let deed = Deed { actor, action, resource_type: "meeting", resource_id: meeting.id().to_string(), details };
    deed.record(ctx, organizer.as_deref())
}

/// Records an action on a user's data or account.
///
/// # Errors
/// A failure of the store.
pub fn user(ctx: &mut MutationCtx, actor: &Actor, action: &str, user: &Doc<User>, details: Details) -> Result<()> {
    let deed = Deed { actor, action, resource_type: "user", resource_id: user.id().to_string(), details };
    deed.record(ctx, Some(user))
}

/// Records an action on an interest of the catalog, which belongs to no organization.
///
/// # Errors
/// A failure of the store.
pub fn catalog(ctx: &mut MutationCtx, actor: &Actor, action: &str, key: &str, details: Details) -> Result<()> {
    Deed { actor, action, resource_type: "interest", resource_id: key.to_owned(), details }.record(ctx, None)
}

/// Records a mutation of a user's own data if a deploy key makes it for the user. The action is the path of the
/// function.
///
/// # Errors
/// A failure of the store.
pub fn by_key(ctx: &mut MutationCtx, owner: &Doc<User>) -> Result<()> {
    if ctx.caller().deploy_key().is_none() {
        return Ok(());
    }
    let actor = crate::access::actor(ctx, Some(owner));
    let action = ctx.root_path().to_owned();
    user(ctx, &actor, &action, owner, Details::new())
}

struct Deed<'a> {
    actor: &'a Actor,
    action: &'a str,
    resource_type: &'static str,
    resource_id: String,
    details: Details,
}

impl Deed<'_> {
    fn record(self, ctx: &mut MutationCtx, owner: Option<&User>) -> Result<()> {
        ctx.db_mut().insert(AuditEntry {
            actor: self.actor.clone(),
            action: self.action.to_owned(),
            resource_type: self.resource_type.to_owned(),
            resource_id: self.resource_id,
            issuer: owner.map(|owner| owner.issuer.clone()),
            org_id: owner.and_then(|owner| owner.org_id.clone()),
            metadata: self.details,
        })?;
        Ok(())
    }
}
