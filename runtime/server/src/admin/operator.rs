//! The operator: a caller with access to the data folder, who has every scope.

use std::sync::Arc;

use super::Admin;
use crate::auth::Environment;
use crate::auth::deploy_key::Scope;
use convoke_calls::call::provision;
use convoke_core::error::{Error, Result};
use convoke_core::identity::{Caller, DeployKeyCaller, Identity};

/// The operator's name in records and logs. Deploy keys cannot have it.
pub const NAME: &str = "operator";

/// Returns the operator as a caller with every scope.
pub fn key(acting_as: Option<Arc<Identity>>) -> Arc<DeployKeyCaller> {
    let scopes = Scope::ALL.iter().map(|scope| scope.as_str().to_owned()).collect();
    Arc::new(DeployKeyCaller { name: NAME.to_owned(), scopes, acting_as })
}

/// Returns the operator, or the user that the operator acts as. A known user keeps the claims of the last token. The
/// call creates an unknown user if the request allows it. If the request does not decide, it does so in development,
/// unless the subject resembles a known one.
///
/// # Errors
/// `NOT_FOUND` with `unknownUser`: the user is unknown and is not created; a failure of the store.
pub(crate) async fn caller(admin: &Admin, acting_as: Option<(Identity, Option<bool>)>) -> Result<Caller> {
    let Some((identity, create)) = acting_as else { return Ok(Caller::DeployKey(key(None))) };
    let (runtime, identity) = (&admin.runtime, Arc::new(identity));
    let (issuer, subject) = (&identity.issuer, &identity.subject);
    if provision::is_known(runtime.database(), issuer, subject).await? {
        return Ok(Caller::DeployKey(key(Some(identity))));
    }
    // A program without an identity hook does not record users.
    if create == Some(true) || !runtime.registry().records_users() {
        return Ok(Caller::User(identity));
    }
    let similar = provision::similar_subject(runtime.database(), issuer, subject).await?;
    if create.is_none() && similar.is_none() && admin.environment == Environment::Development {
        return Ok(Caller::User(identity));
    }
    let meant = similar.map_or_else(String::new, |similar| format!("; did you mean {similar:?}?"));
    let message = format!(
        "No user {subject:?} of {issuer} is known{meant}{} To create the user, repeat the call with --create",
        if meant.is_empty() { "." } else { "" }
    );
    Err(Error::not_found(message).with("unknownUser", subject.as_str()))
}
