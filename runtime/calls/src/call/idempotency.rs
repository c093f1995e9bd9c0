//! Idempotency keys: the same call sent twice has its effect once, and the same answer.
//!
//! The scope of a key is (caller, function, key). The result is stored in the mutation's own transaction, so only
//! committed successes are remembered, and two first uses at once are one execution: the writer runs one after the
//! other.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use convoke_macros::table;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::context::{Context as _, MutationCtx, Read as _};
use convoke_core::clock::Millis;
use convoke_core::error::{Code, Error, Result};

/// How long a result is remembered.
pub const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A result that was committed under a key.
#[table(name = "_idempotency", prefix = "idempotency")]
#[index(by_key(caller, function, key), unique)]
#[index(by_time(stored_at))]
pub struct StoredResult {
    /// `issuer|subject`, or `deploy-key:<name>`.
    pub caller: String,
    /// The function's path.
    pub function: String,
    /// The key, as the client chose it.
    pub key: String,
    /// A digest of the arguments without the key.
    pub arguments: String,
    /// The result's JSON.
    pub value: String,
    /// When it was committed.
    pub stored_at: Millis,
}

impl MutationCtx {
    /// Runs `work` unless this caller used `key` for this function before; then returns what it returned then.
    /// Without a key it always runs. `args` are compared as canonical JSON without their `idempotencyKey`.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_REUSED` if the key was used with other arguments; those of `work`.
    pub fn once<R: Serialize + DeserializeOwned>(
        &mut self,
        key: Option<&str>,
        args: &impl Serialize,
        work: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let Some(key) = key else { return work(self) };
        let caller = match self.caller().identity() {
            Some(identity) => identity.token_identifier(),
            None => self.caller().deploy_key().map(|key| format!("deploy-key:{}", key.name)).unwrap_or_default(),
        };
        let function = self.root_path().to_owned();
        let arguments = digest(args)?;
        let oldest = self.now() - REMEMBERED;
        let stored = self.db().query(StoredResult::by_key).eq(&caller).eq(&function).eq(key).unique()?;
        if let Some(stored) = stored {
            if stored.stored_at < oldest {
                self.db_mut().delete(stored.id())?;
            } else if stored.arguments == arguments {
                let services = self.call().services.clone();
                self.after_commit(move || {
                    services.idempotent_replays().fetch_add(1, Relaxed);
                });
                return serde_json::from_str(&stored.value).map_err(Error::internal);
            } else {
                let message = "The idempotency key was used before with other arguments";
                return Err(Error::new(Code::IdempotencyKeyReused, message).with("field", "idempotencyKey"));
            }
        }
        let result = work(self)?;
        let value = serde_json::to_string(&result).map_err(Error::internal)?;
        let stored_at = self.now();
        let key = key.to_owned();
        self.db_mut().insert(StoredResult { caller, function, key, arguments, value, stored_at })?;
        Ok(result)
    }
}

/// The SHA-256 of the arguments' canonical JSON (members by name), without the key itself.
fn digest(args: &impl Serialize) -> Result<String> {
    let mut value = serde_json::to_value(args).map_err(Error::internal)?;
    if let Value::Object(members) = &mut value {
        members.remove("idempotencyKey");
    }
    // serde_json's map is ordered by key, which makes the text canonical.
    Ok(hex::encode(Sha256::digest(value.to_string())))
}
