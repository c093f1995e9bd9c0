//! Whose share of the readers and of the writer a call takes.

use std::net::IpAddr;

use crate::function::Kind;
use crate::services::Services;
use convoke_core::error::Result;
use convoke_core::identity::Caller;
use convoke_store::Flow;

/// The flow of a call: its identity's; without one the deploy key's, or that of `address`, which is the client's as
/// limits count it; else the system's.
pub fn flow_of(caller: &Caller, address: Option<IpAddr>) -> Flow {
    match (caller.identity(), caller, address) {
        (Some(identity), _, _) => Flow::of(("identity", &identity.issuer, &identity.subject)),
        (None, Caller::DeployKey(key), _) => Flow::of(("deploy key", &key.name)),
        (None, Caller::Nobody | Caller::User(_), Some(address)) => Flow::of(("address", address)),
        (None, Caller::Nobody | Caller::User(_) | Caller::System, _) => Flow::SYSTEM,
    }
}

impl Services {
    /// Whether one more call of this kind and `flow` would find room now. It reserves nothing: by the time the call
    /// comes, there may be none.
    ///
    /// # Errors
    /// `OVERLOADED`, as the call would be answered.
    pub fn room(&self, kind: Kind, flow: Flow) -> Result<()> {
        match kind {
            Kind::Query => Ok(self.store().room_to_read(flow)?),
            Kind::Mutation => Ok(self.store().room_to_write(flow)?),
            Kind::Action => self.action_permit().map(drop),
        }
    }
}
