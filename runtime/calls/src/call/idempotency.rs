//! Idempotency keys: a call that is sent twice has its effect once, and both responses are equal.
//!
//! A key is part of the arguments, where the function handles it ([`MutationCtx::once`]), or beside them, where the
//! transport does ([`Repeatable`]). The scope of a key is (caller, function, key). The mutation's own transaction
//! stores the result, so only committed successes are recorded. Two concurrent first uses are one execution, because
//! the writer runs them one after the other.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use convoke_macros::table;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::codec::decode::Body;
use crate::context::{Context as _, MutationCtx, Read as _};
use crate::route::definition::Once;
use crate::route::request::RouteRequest;
use convoke_core::answer::pieces::Pieces;
use convoke_core::clock::Millis;
use convoke_core::error::{Code, Error, Result};
use convoke_core::identity::Caller;

/// Retention of a result.
pub const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Maximum bytes of a stored result for a key beside the arguments. For a longer result, only its existence is stored.
pub const KEPT_BYTES_MAX: usize = 64 * 1024;

/// Maximum characters of a key in an `Idempotency-Key` field.
pub const KEY_CHARS_MAX: usize = 255;

/// Minimum characters of a key without an identity: all callers without an identity share their keys.
pub const KEY_OF_NOBODY_CHARS_MIN: usize = 16;

/// A result that was committed under a key.
#[table(name = "_idempotency", prefix = "idempotency")]
#[index(by_key(caller, function, key), unique)]
#[index(by_time(stored_at))]
pub struct StoredResult {
    /// `issuer|subject`, `deploy-key:<name>`, or empty.
    pub caller: String,
    /// The function's path. With the prefix `header:` if the key was beside the arguments, or `route:` if it is the id
    /// of a sender's event; for a session, `session:` and the session's id instead.
    pub function: String,
    /// The key, as the client chose it.
    pub key: String,
    /// A digest of the arguments without the key. For a session's request, a digest of its caller comes first.
    pub arguments: String,
    /// The result's JSON; empty if it was too long.
    pub value: String,
    /// Time of the commit.
    pub stored_at: Millis,
}

impl MutationCtx {
    /// Runs `work`, unless this caller used `key` for this function before; then returns the stored result. Without a
    /// key, `work` always runs. `args` are compared as canonical JSON without their `idempotencyKey`.
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
        let caller = named(self.caller());
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
                return Err(reused().with("field", "idempotencyKey"));
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

/// The identification of a mutation that a client sends again, beside its arguments.
#[derive(Clone, Debug)]
pub enum Repeatable {
    /// An `Idempotency-Key`.
    Key(Arc<str>),
    /// The sender's id of an event, which a route receives.
    Delivery(Arc<str>),
    /// A request of a session: unique by itself, for any caller.
    Request {
        /// The client's id of the session.
        session: Arc<str>,
        /// The client's number of the request.
        number: u32,
        /// Set before the writes of the mutation are visible.
        has_written: Arc<AtomicBool>,
    },
}

/// A mutation that may be sent again: its identification and its arguments.
pub(crate) struct RepeatableCall {
    repeatable: Repeatable,
    /// The digest of the arguments.
    arguments: String,
}

/// A result, and true if it is that of an earlier call.
pub(crate) type Replayed = (Pieces, bool);

impl Repeatable {
    /// Reads the key of an `Idempotency-Key` field.
    ///
    /// # Errors
    /// `BAD_REQUEST`.
    pub fn key(field: &[u8]) -> Result<Self> {
        let fits = (1..=KEY_CHARS_MAX).contains(&field.len()) && field.iter().all(u8::is_ascii_graphic);
        let key = std::str::from_utf8(field).ok().filter(|_| fits);
        key.map(|key| Self::Key(key.into())).ok_or_else(|| {
            let message = format!("Idempotency-Key must have 1 to {KEY_CHARS_MAX} visible ASCII characters");
            Error::new(Code::BadRequest, message)
        })
    }

    /// Reads the sender's id of an event.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: the request has no id, or one that is too long.
    pub(crate) fn delivery(once: Once, request: &RouteRequest) -> Result<Self> {
        let (place, id) = match once {
            Once::Header(name) => {
                let mut values = request.headers().get_all(name).iter();
                let id = values.next().and_then(|value| value.to_str().ok()).map(str::to_owned);
                (name, id.filter(|_| values.next().is_none()))
            }
            Once::Json(pointer) => {
                let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
                let id = body.pointer(pointer).and_then(|id| match id {
                    Value::String(id) => Some(id.clone()),
                    Value::Number(id) => Some(id.to_string()),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
                });
                (pointer, id)
            }
        };
        let id = id.filter(|id| (1..=KEY_CHARS_MAX).contains(&id.chars().count()));
        id.map(|id| Self::Delivery(id.into())).ok_or_else(|| {
            let message = format!("{place} must have the id of the event: 1 to {KEY_CHARS_MAX} characters, sent once");
            Error::invalid_argument(place, message)
        })
    }

    /// Checks that this caller may use it.
    ///
    /// # Errors
    /// `BAD_REQUEST`.
    pub(crate) fn check(&self, caller: &Caller) -> Result<()> {
        match (self, caller) {
            (Self::Key(key), Caller::Nobody) if key.len() < KEY_OF_NOBODY_CHARS_MIN => {
                let message = format!(
                    "Without an identity an Idempotency-Key must have at least {KEY_OF_NOBODY_CHARS_MIN} characters; \
                     make it random, so that no other caller has the same key"
                );
                Err(Error::new(Code::BadRequest, message))
            }
            _ => Ok(()),
        }
    }
}

impl RepeatableCall {
    /// Hashes the arguments. Those of a delivery are not compared: its id stands for its content.
    ///
    /// # Errors
    /// `INVALID_ENVELOPE` if they are not JSON.
    pub(crate) fn new(repeatable: Repeatable, args: Body<'_>) -> Result<Self> {
        let args = match (&repeatable, args) {
            (Repeatable::Delivery(_), _) => return Ok(Self { repeatable, arguments: String::new() }),
            (_, Body::Route(request)) => return Ok(Self { arguments: request.digest(), repeatable }),
            (Repeatable::Key(_) | Repeatable::Request { .. }, args) => args.json()?,
        };
        let mut args: Value = serde_json::from_str(args)
            .map_err(|error| Error::new(Code::InvalidEnvelope, format!("args is not JSON: {error}")))?;
        if let Value::Object(members) = &mut args {
            // An optional argument that is null is absent.
            members.retain(|_, value| !value.is_null());
        }
        unify_numbers(&mut args);
        Ok(Self { repeatable, arguments: hex::encode(Sha256::digest(args.to_string())) })
    }

    /// Returns the row for its result, still without the result.
    fn row(&self, ctx: &MutationCtx) -> StoredResult {
        let (caller, path) = (named(ctx.caller()), ctx.root_path());
        let arguments = self.arguments.clone();
        let (caller, function, key, arguments) = match &self.repeatable {
            Repeatable::Key(key) => (caller, format!("header:{path}"), key.to_string(), arguments),
            Repeatable::Delivery(id) => (caller, format!("route:{path}"), id.to_string(), arguments),
            // The key of the row is the same for all callers and functions: both are part of the compared arguments.
            Repeatable::Request { session, number, .. } => {
                let caller = hex::encode(Sha256::digest(caller));
                let asked = format!("{caller} {}", hex::encode(Sha256::digest(format!("{path} {arguments}"))));
                (String::new(), format!("session:{session}"), number.to_string(), asked)
            }
        };
        StoredResult { caller, function, key, arguments, value: String::new(), stored_at: ctx.now() }
    }

    /// Returns the reason why the stored result does not answer this request, if any.
    fn differs(&self, stored: &StoredResult, asked: &StoredResult) -> Option<Error> {
        if stored.arguments == asked.arguments {
            return None;
        }
        let caller = |row: &StoredResult| row.arguments.split_once(' ').map(|(caller, _)| caller.to_owned());
        Some(match &self.repeatable {
            Repeatable::Request { .. } if caller(stored) != caller(asked) => {
                Error::conflict("This request of the session was made by another caller")
            }
            Repeatable::Request { .. } | Repeatable::Key(_) | Repeatable::Delivery(_) => reused(),
        })
    }
}

impl MutationCtx {
    /// Runs `work`, unless it was sent before; then returns the stored response.
    ///
    /// The function itself checks rights, account and rate, so it runs in either case. On a repeat, its writes are
    /// rolled back, and only those errors count that do not depend on the state it changed.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_REUSED` or `CONFLICT` if the key was used for another request, or if the response was too long
    /// to store; those of `work`.
    pub(crate) fn once_sent(
        &mut self,
        sent: &RepeatableCall,
        work: impl FnOnce(&mut Self) -> Result<Pieces>,
    ) -> Result<Replayed> {
        let mut row = sent.row(self);
        let found = {
            let by_key = self.db().query(StoredResult::by_key);
            by_key.eq(&row.caller).eq(&row.function).eq(&row.key).unique()?
        };
        match found {
            Some(stored) if stored.stored_at >= self.now() - REMEMBERED => {
                if !matches!(sent.repeatable, Repeatable::Delivery(_))
                    && let Err(error) = self.rehearse(work)?
                    && !is_of_state(error.code())
                {
                    return Err(error);
                }
                if let Some(error) = sent.differs(&stored, &row) {
                    return Err(error);
                }
                let services = self.call().services.clone();
                self.after_commit(move || {
                    services.idempotent_replays().fetch_add(1, Relaxed);
                });
                if stored.value.is_empty() {
                    let message = "This request succeeded before, but its response was too long to be stored";
                    return Err(Error::conflict(message).with("reason", "ANSWER_NOT_KEPT"));
                }
                return Ok((restored(&stored.value)?, true));
            }
            Some(expired) => drop(self.db_mut().delete(expired.id())?),
            None => {}
        }
        let result = work(self)?;
        if result.len() <= KEPT_BYTES_MAX {
            row.value = storable(&result.joined());
        }
        self.db_mut().insert(row)?;
        if let Repeatable::Request { has_written, .. } = &sent.repeatable {
            has_written.store(true, Release);
        }
        Ok((result, false))
    }
}

/// The beginning of a stored response that is not UTF-8. No JSON and no head of a response begins like this.
const BASE64: &str = "base64 ";

/// Returns a response as text.
fn storable(result: &[u8]) -> String {
    match std::str::from_utf8(result) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("{BASE64}{}", STANDARD.encode(result)),
    }
}

/// Returns the response that [`storable`] made a text of.
fn restored(stored: &str) -> Result<Pieces> {
    match stored.strip_prefix(BASE64) {
        None => Ok(Pieces::from(stored.to_owned())),
        Some(encoded) => Ok(Pieces::from(Bytes::from(STANDARD.decode(encoded).map_err(Error::internal)?))),
    }
}

/// Returns true if an error may result from the changes of the first call. Such an error says nothing of the caller's
/// rights.
fn is_of_state(code: Code) -> bool {
    matches!(
        code,
        Code::NotFound
            | Code::Conflict
            | Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::ProviderError
            | Code::IdempotencyKeyReused
    )
}

/// Returns the name of a caller in the stored rows.
fn named(caller: &Caller) -> String {
    match caller.identity() {
        Some(identity) => identity.token_identifier(),
        None => caller.deploy_key().map(|key| format!("deploy-key:{}", key.name)).unwrap_or_default(),
    }
}

fn reused() -> Error {
    Error::new(Code::IdempotencyKeyReused, "The idempotency key was used before with other arguments")
}

/// Replaces numbers such as `5.0` and `5e0` by `5`: a function receives the same value for them.
fn unify_numbers(value: &mut Value) {
    /// Every whole double up to here is exact.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= EXACT_MAX);
            if let Some(whole) = whole {
                *number = (whole as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unify_numbers),
        Value::Object(members) => members.values_mut().for_each(unify_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the SHA-256 of the arguments' canonical JSON (members by name), without the key itself.
fn digest(args: &impl Serialize) -> Result<String> {
    let mut value = serde_json::to_value(args).map_err(Error::internal)?;
    if let Value::Object(members) = &mut value {
        members.remove("idempotencyKey");
    }
    // The map of serde_json is ordered by key, which makes the text canonical.
    Ok(hex::encode(Sha256::digest(value.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_equal_value_are_equal_arguments() {
        let arguments = |json: &str| {
            let mut value = serde_json::from_str(json).unwrap();
            unify_numbers(&mut value);
            value.to_string()
        };
        for equal in [r#"{"n":[5.0]}"#, r#"{"n":[50e-1]}"#, r#"{ "n": [5] }"#] {
            assert_eq!(arguments(equal), r#"{"n":[5]}"#);
        }
        assert_eq!(arguments("[5.5,-0.0,9007199254740993]"), "[5.5,0,9007199254740993]");
    }
}
