//! The record of what changed rights or other people's data, written in the transaction that changed it.
//!
//! [`meeting`], [`user`] and [`catalog`] record a deed on one resource; [`by_key`] records what is worth an entry only
//! because a deploy key did it. Who may read the record is `system/audit`'s.

use convoke::prelude::*;
use schema::{Actor, AuditEntry, Details, Meeting, User};

/// Records a deed on a meeting. Reads its organizer, whose organization the entry is in.
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

/// Records a deed on a user's data or account.
///
/// # Errors
/// A failure of the store.
pub fn user(ctx: &mut MutationCtx, actor: &Actor, action: &str, user: &Doc<User>, details: Details) -> Result<()> {
    let deed = Deed { actor, action, resource_type: "user", resource_id: user.id().to_string(), details };
    deed.record(ctx, Some(user))
}

/// Records a deed on an entry of the interest catalog, which belongs to no organization.
///
/// # Errors
/// A failure of the store.
pub fn catalog(ctx: &mut MutationCtx, actor: &Actor, action: &str, key: &str, details: Details) -> Result<()> {
    Deed { actor, action, resource_type: "interest", resource_id: key.to_owned(), details }.record(ctx, None)
}

/// Records a mutation on a user's own data if a deploy key makes it in their name; the action is the function's path.
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
