//! Who changed rights or other people's data.

use convoke::table;

use crate::values::{Actor, Details};

/// An entry of the audit, written in the transaction that it tells of.
#[table(name = "auditEntries", prefix = "audit")]
#[index(by_resource(resource_type, resource_id))]
#[index(by_actor(actor))]
#[index(by_organization(issuer, org_id))]
pub struct AuditEntry {
    /// Who did it.
    pub actor: Actor,
    /// What was done, such as `participant.role_changed`.
    pub action: String,
    /// To what kind of thing, such as `meeting`.
    pub resource_type: String,
    /// To which one.
    pub resource_id: String,
    /// The issuer of the thing's owner, within which `orgId` is unique.
    pub issuer: Option<String>,
    /// The organization of the thing's owner; its admins may read the entry.
    pub org_id: Option<String>,
    /// What else there is to tell.
    pub metadata: Details,
}
