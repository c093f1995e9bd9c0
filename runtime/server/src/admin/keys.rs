//! The handlers of deploy keys: list, create, rotate and revoke.
//!
//! A change takes effect in this process with its response. A key can create or rotate only keys whose scopes it has
//! itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Admin, AdminRequest, operator, success, success_once};
use crate::auth::Environment;
use crate::auth::deploy_key::{self, MintError, NewKey, Scope};
use crate::auth::deploy_key_cache::{self, DeployKey};
use convoke_core::clock::{self, Millis};
use convoke_core::error::{Code, Error, Result};
use convoke_core::id::Id;
use convoke_core::identity::DeployKeyCaller;
use convoke_http::Reply;
use convoke_store::{DbMut, Doc};

/// Largest number of keys per installation. All keys are in memory.
pub const KEYS_MAX: usize = 1_000;

/// The longest lifetime of a key.
pub const LIFE_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// The longest time for which two secrets of a key are accepted.
pub const OVERLAP_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// `GET keys`: lists all keys by name, without their secrets.
///
/// # Errors
/// A failure of the store.
pub async fn list(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let rows = admin.runtime.database().read_admin(deploy_key_cache::all).await?;
    let keys: Vec<_> = rows.iter().map(|row| shown(admin, row)).collect();
    success(&keys)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Create {
    name: String,
    #[serde(default)]
    scopes: Vec<Scope>,
    environment: Option<Environment>,
    /// Milliseconds from now.
    expires_in: Option<u64>,
}

/// `POST keys` with `{name, scopes, environment?, expiresIn?}` (milliseconds): creates a key. Only this response
/// contains its text, as `key`. Scopes have no default.
///
/// # Errors
/// `INVALID_ARGUMENT`; `CONFLICT`: a key has or had the name; `INSUFFICIENT_SCOPE`; a failure of the store.
pub async fn create(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let Create { name, mut scopes, environment, expires_in } = request.args()?;
    scopes.sort_unstable();
    scopes.dedup();
    if scopes.is_empty() {
        let choice = Scope::ALL.map(|scope| format!("{scope} ({})", scope.allows())).join(", ");
        return Err(Error::invalid_argument("scopes", format!("scopes: must name at least one of {choice}")));
    }
    may_grant(&request.caller, &scopes)?;
    if name == operator::NAME {
        return Err(Error::invalid_argument("name", "`operator` is the name of the operator; choose another name"));
    }
    let environment = environment.unwrap_or(admin.environment);
    if environment != admin.environment {
        let here = admin.environment;
        let message = format!("this deployment is {here} and rejects keys for {environment}; create the key there");
        return Err(Error::invalid_argument("environment", message));
    }
    let now = admin.runtime.clock().now();
    if expires_in == Some(0) {
        return Err(Error::invalid_argument("expiresIn", "expiresIn: the key would be expired already"));
    }
    let expires_in = expires_in.map(|millis| at_most("expiresIn", millis, LIFE_MAX)).transpose()?;
    let expires_at = expires_in.map(|life| now + life);
    let (text, stored) = deploy_key::mint(environment, &name, scopes, expires_at).map_err(|error| match error {
        MintError::Name => Error::invalid_argument("name", error.to_string()),
        MintError::NoRandomness(_) => Error::internal(error),
    })?;
    let created_by = request.caller.name.clone();
    let row = DeployKey {
        name,
        environment: environment.to_string(),
        scopes: stored.scopes.iter().map(ToString::to_string).collect(),
        secrets: deploy_key_cache::secrets(&stored),
        created_by,
        expires_at,
        rotated_at: None,
        revoked_at: None,
        last_used_at: None,
    };
    let row = change(admin, "create a deploy key", move |db| {
        let creator = db.query(DeployKey::by_name).eq(&row.created_by).unique()?;
        if let Some(end) = creator.and_then(|creator| creator.expires_at)
            && row.expires_at.is_none_or(|at| at > end)
        {
            let end = clock::utc(end);
            let message =
                format!("expiresIn: the key that creates this one expires at {end}; this one must not outlive it");
            return Err(Error::invalid_argument("expiresIn", message));
        }
        if db.query(DeployKey::by_name).eq(&row.name).unique()?.is_some() {
            let message = "A deploy key has or had this name; choose another name";
            return Err(Error::conflict(message).with("name", row.name.as_str()));
        }
        if db.query(DeployKey::by_name).take(KEYS_MAX)?.len() >= KEYS_MAX {
            return Err(Error::failed_precondition(format!("There are {KEYS_MAX} deploy keys; revoke some")));
        }
        Ok(db.insert(row.clone())?)
    })
    .await?;
    with_text(admin, &row, &text)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rotate {
    /// Milliseconds.
    overlap: Option<u64>,
}

/// `POST keys/{name}/rotate` with `{overlap?}` (milliseconds): replaces the secret. The previous secret is accepted for
/// the overlap, by default 0.
///
/// # Errors
/// `NOT_FOUND`; `FAILED_PRECONDITION`: the key was revoked or has expired; `CONFLICT`: another request rotated the key;
/// `INSUFFICIENT_SCOPE`; a failure of the store.
pub async fn rotate(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let Rotate { overlap } = request.args()?;
    let overlap = at_most("overlap", overlap.unwrap_or(0), OVERLAP_MAX)?;
    let name = request.part().to_owned();
    let now = admin.runtime.clock().now();
    let row = admin.runtime.database().read_admin({
        let name = name.clone();
        move |db| deploy_key_cache::named(db, &name)
    });
    let row = row.await?;
    require_valid(&row, now)?;
    let mut stored = row.stored().ok_or_else(|| Error::internal("the key's row is invalid"))?;
    may_grant(&request.caller, &stored.scopes)?;
    // The secret is generated outside of the transaction, which may run more than once.
    let text = stored.rotate(&name, now, overlap).map_err(Error::internal)?;
    let (before, secrets) = (row.secrets.clone(), deploy_key_cache::secrets(&stored));
    let rotated = change(admin, "rotate a deploy key", move |db| {
        let row = deploy_key_cache::named(db, &name)?;
        require_valid(&row, now)?;
        if row.secrets != before {
            return Err(Error::conflict("Another request has rotated the key; reload it"));
        }
        let id = row.id();
        let secrets = secrets.clone();
        db.patch(id, |row| {
            row.secrets = secrets;
            row.rotated_at = Some(now);
        })?;
        Ok(id)
    })
    .await?;
    with_text(admin, &rotated, &text)
}

/// `POST keys/{name}/revoke`: revokes a key. Calls are rejected from the response on, and open streams end within a
/// second.
///
/// # Errors
/// `NOT_FOUND`; a failure of the store.
pub async fn revoke(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let name = request.part().to_owned();
    let now = admin.runtime.clock().now();
    let row = change(admin, "revoke a deploy key", move |db| {
        let row = deploy_key_cache::named(db, &name)?;
        if row.revoked_at.is_none() {
            db.patch(row.id(), |row| row.revoked_at = Some(now))?;
        }
        Ok(row.id())
    })
    .await?;
    success(&shown(admin, &row))
}

/// Changes keys, then refreshes the copy in memory also if the write failed: the commit may still have happened.
async fn change(
    admin: &Admin,
    name: &'static str,
    work: impl Fn(&mut DbMut) -> Result<Id<DeployKey>> + Send + 'static,
) -> Result<Doc<DeployKey>> {
    let keys = &admin.keys;
    let _changing = keys.change().await;
    let written = admin.runtime.database().write_admin(name, move |db| {
        let id = work(db)?;
        db.get(id)?.ok_or_else(|| Error::internal("a deploy key is missing in its own transaction"))
    });
    let written = written.await;
    match (&written, keys.refresh(admin.runtime.database()).await) {
        (_, Ok(())) => {}
        // A written key takes effect even if the table cannot be read.
        (Ok(row), Err(_)) => keys.put(row),
        (Err(_), Err(error)) => return Err(error),
    }
    written
}

/// Rejects scopes that the caller lacks, so that a key cannot create another with more rights.
fn may_grant(caller: &DeployKeyCaller, scopes: &[Scope]) -> Result<()> {
    match scopes.iter().find(|scope| !scope.is_held_by(caller)) {
        None => Ok(()),
        Some(scope) => {
            let message = format!("A key cannot grant the scope `{scope}`, because it lacks the scope itself");
            Err(Error::new(Code::InsufficientScope, message).with("scope", scope.as_str()))
        }
    }
}

fn at_most(field: &str, millis: u64, max: Duration) -> Result<Duration> {
    let given = Duration::from_millis(millis);
    if given <= max {
        return Ok(given);
    }
    let max = humantime::format_duration(max);
    Err(Error::invalid_argument(field, format!("{field} must be at most {max} (got {millis} milliseconds)")))
}

fn require_valid(key: &DeployKey, now: Millis) -> Result<()> {
    match state(key, now) {
        "active" => Ok(()),
        other => Err(Error::failed_precondition(format!("The key is {other}; create a new one")).with("state", other)),
    }
}

fn state(key: &DeployKey, now: Millis) -> &'static str {
    match key {
        _ if key.revoked_at.is_some() => "revoked",
        _ if key.expires_at.is_some_and(|end| now >= end) => "expired",
        _ => "active",
    }
}

fn shown(admin: &Admin, key: &Doc<DeployKey>) -> Value {
    let now = admin.runtime.clock().now();
    let state = state(key, now);
    let overlap = key.secrets.iter().filter_map(|secret| secret.until).filter(|until| now < *until).max();
    let overlap = overlap.filter(|_| state == "active").map(|until| until.min(key.expires_at.unwrap_or(until)));
    json!({
        "name": key.name,
        "environment": key.environment,
        "scopes": key.scopes,
        "state": state,
        "createdAt": key.creation_time(),
        "createdBy": key.created_by,
        "expiresAt": key.expires_at,
        "rotatedAt": key.rotated_at,
        "formerSecretUntil": overlap,
        "revokedAt": key.revoked_at,
        "lastUsedAt": admin.keys.last_used(&key.name).max(key.last_used_at),
    })
}

fn with_text(admin: &Admin, key: &Doc<DeployKey>, text: &NewKey) -> Result<Reply> {
    #[derive(Serialize)]
    struct Revealed<'a> {
        key: &'a str,
        #[serde(flatten)]
        shown: Value,
    }
    success_once(&Revealed { key: text.reveal(), shown: shown(admin, key) })
}
