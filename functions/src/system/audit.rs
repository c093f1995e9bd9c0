//! Reading the record of what changed rights or other people's data. It is written by `crate::audit`.

use convoke::prelude::*;
use convoke::store::Cursor;
use convoke::{args, query, value};
use schema::{Actor, AuditEntry, Details, Limit, ResourceType};

use crate::access::{self, Admin};
use crate::paging;

/// What [`list_audit_entries`] takes. What is given together must hold together.
#[args]
pub struct ListAuditEntries {
    /// `meeting`, `user` or `interest`.
    pub resource_type: Option<ResourceType>,
    /// The id of the meeting or user, or the key of the interest.
    pub resource_id: Option<schema::ResourceId>,
    /// A user's id, or `deploy-key:<name>`.
    pub actor: Option<Actor>,
    #[default(Limit::default())]
    pub limit: Limit<50, 500>,
    /// The page after the one that returned this.
    pub cursor: Option<Cursor>,
}

/// An entry of the audit.
///
/// ```json
/// {"_id": "audit_01jgfjs5r2a4n8w7k0q3d6m9vt", "_creationTime": 1767225600000, "createdAt": 1767225600000,
///  "actor": "user_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "action": "participant.role", "resourceType": "meeting", "resourceId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "metadata": {"userId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "from": "participant", "to": "host"}}
/// ```
#[value(output)]
pub struct ListedEntry {
    #[value(rename = "_id")]
    pub id: Id<AuditEntry>,
    #[value(rename = "_creationTime")]
    pub creation_time: Millis,
    pub created_at: Millis,
    /// A user's id, `deploy-key:<name>`, or `system`.
    pub actor: Actor,
    /// What was done, such as `participant.role`.
    pub action: String,
    /// The kind of what it was done to, such as `meeting`.
    pub resource_type: String,
    /// The id of what it was done to.
    pub resource_id: String,
    /// The issuer of the resource's owner.
    pub issuer: Option<String>,
    /// The organization of the resource's owner.
    pub org_id: Option<String>,
    pub metadata: Details,
}

impl From<Doc<AuditEntry>> for ListedEntry {
    fn from(entry: Doc<AuditEntry>) -> Self {
        let (id, creation_time) = (entry.id(), entry.creation_time());
        let entry = entry.into_inner();
        Self {
            id,
            creation_time,
            created_at: creation_time,
            actor: entry.actor,
            action: entry.action,
            resource_type: entry.resource_type,
            resource_id: entry.resource_id,
            issuer: entry.issuer,
            org_id: entry.org_id,
            metadata: entry.metadata,
        }
    }
}

/// The audit, oldest first: all of it for a deploy key, that of their own organization for an admin. A page can have
/// fewer items than asked for and still a cursor: the entries it passed over count as well.
///
/// # Errors
/// `FORBIDDEN`: the caller is no admin.
#[query(admin, rights = access::admin)]
pub fn list_audit_entries(ctx: &QueryCtx, admin: Admin, args: ListAuditEntries) -> Result<Page<ListedEntry>> {
    let read = |cursor: Option<&Cursor>, rows: usize| read(ctx, &admin, &args, cursor, rows);
    let show = |rows: Vec<Doc<AuditEntry>>| {
        Ok(rows.into_iter().filter(|row| is_meant(row, &args, &admin)).map(ListedEntry::from).collect())
    };
    paging::filtered(args.cursor.clone(), args.limit.get(), read, show)
}

/// A page by the narrowest index whose order is that of creation.
fn read(
    ctx: &QueryCtx,
    admin: &Admin,
    args: &ListAuditEntries,
    cursor: Option<&Cursor>,
    rows: usize,
) -> Result<Page<Doc<AuditEntry>>> {
    let db = ctx.db();
    Ok(match (&args.resource_type, &args.resource_id, &args.actor, admin) {
        (Some(kind), Some(id), _, _) => {
            db.query(AuditEntry::by_resource).eq(kind.as_str()).eq(id.as_str()).page(cursor, rows)?
        }
        (_, _, Some(actor), _) => db.query(AuditEntry::by_actor).eq(actor).page(cursor, rows)?,
        (_, _, None, Admin::User(admin)) => {
            db.query(AuditEntry::by_organization).eq(&admin.issuer).eq(&admin.org_id).page(cursor, rows)?
        }
        (_, _, None, Admin::DeployKey) => db.scan::<AuditEntry>().page(cursor, rows)?,
    })
}

fn is_meant(row: &AuditEntry, args: &ListAuditEntries, admin: &Admin) -> bool {
    let is_visible = match admin {
        Admin::DeployKey => true,
        Admin::User(admin) => {
            let known = admin.org_id.as_deref().is_some_and(|org| !org.is_empty());
            known && row.issuer.as_ref() == Some(&admin.issuer) && row.org_id == admin.org_id
        }
    };
    is_visible
        && args.resource_type.as_ref().is_none_or(|kind| kind.as_str() == row.resource_type)
        && args.resource_id.as_ref().is_none_or(|id| id.as_str() == row.resource_id)
        && args.actor.as_ref().is_none_or(|actor| *actor == row.actor)
}
