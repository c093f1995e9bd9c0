//! Who holds the data folder: the operator, who may do what any deploy key may.

use std::sync::Arc;

use crate::auth::deploy_key::Scope;
use convoke_calls::call::provision;
use convoke_calls::runtime::Runtime;
use convoke_core::error::Result;
use convoke_core::identity::{Caller, DeployKeyCaller, Identity};

/// The operator's name, in records and logs. No deploy key may have it.
pub const NAME: &str = "operator";

/// The operator as a caller, with every scope.
pub fn key(acting_as: Option<Arc<Identity>>) -> Arc<DeployKeyCaller> {
    let scopes = Scope::ALL.iter().map(|scope| scope.as_str().to_owned()).collect();
    Arc::new(DeployKeyCaller { name: NAME.to_owned(), scopes, acting_as })
}

/// The operator, or the user that they call as: a known one keeps the claims of their last token, an unknown one is
/// seen for the first time.
///
/// # Errors
/// A failure of the store.
pub(crate) async fn caller(runtime: &Runtime, acting_as: Option<Identity>) -> Result<Caller> {
    let Some(identity) = acting_as.map(Arc::new) else { return Ok(Caller::DeployKey(key(None))) };
    match provision::is_known(runtime.database(), &identity.issuer, &identity.subject).await? {
        true => Ok(Caller::DeployKey(key(Some(identity)))),
        false => Ok(Caller::User(identity)),
    }
}
