//! The flow of a call: the share of the readers and of the writer that it uses.

use std::net::IpAddr;

use crate::function::Kind;
use crate::services::Services;
use convoke_core::error::Result;
use convoke_core::identity::Caller;
use convoke_store::Flow;

/// Returns the flow of a call: that of its identity, else of its deploy key, else of `address`, which is the client's
/// address as limits count it, else of the system.
pub fn flow_of(caller: &Caller, address: Option<IpAddr>) -> Flow {
    match (caller.identity(), caller, address) {
        (Some(identity), _, _) => Flow::of(("identity", &identity.issuer, &identity.subject)),
        (None, Caller::DeployKey(key), _) => Flow::of(("deploy key", &key.name)),
        (None, Caller::Nobody | Caller::User(_), Some(address)) => Flow::of(("address", address)),
        (None, Caller::Nobody | Caller::User(_) | Caller::System, _) => Flow::SYSTEM,
    }
}

impl Services {
    /// Checks if there is room for one more call of this kind and `flow` now. It reserves nothing: there may be no room
    /// when the call comes.
    ///
    /// # Errors
    /// `OVERLOADED`, as for the call.
    pub fn room(&self, kind: Kind, flow: Flow) -> Result<()> {
        match kind {
            Kind::Query => Ok(self.store().room_to_read(flow)?),
            Kind::Mutation => Ok(self.store().room_to_write(flow)?),
            Kind::Action => self.action_permit().map(drop),
        }
    }
}
