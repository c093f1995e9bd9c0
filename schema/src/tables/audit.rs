//! The audit: changes of rights and of other users' data.

use convoke::table;

use crate::values::{Actor, Details};

/// An entry of the audit, written in the transaction that it describes.
#[table(name = "auditEntries", prefix = "audit")]
#[index(by_resource(resource_type, resource_id))]
#[index(by_actor(actor))]
#[index(by_organization(issuer, org_id))]
pub struct AuditEntry {
    /// The actor.
    pub actor: Actor,
    /// The action, such as `participant.role_changed`.
    pub action: String,
    /// The kind of the target, such as `meeting`.
    pub resource_type: String,
    /// The id of the target.
    pub resource_id: String,
    /// The issuer of the target's owner, within which `orgId` is unique.
    pub issuer: Option<String>,
    /// The organization of the target's owner. Its admins may read the entry.
    pub org_id: Option<String>,
    /// Further details.
    pub metadata: Details,
}
