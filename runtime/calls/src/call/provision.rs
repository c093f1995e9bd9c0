//! Provisioning: the application's hook runs for a new identity and for changed claims, in a separate transaction
//! before the call that brings them.
//!
//! The lookup goes to memory first, then to the table of known identities, and only then to the application's hook.
//! Memory is written after the commit. While the store rejects writes, calls of a known identity continue; a new
//! identity must try again later.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{Arc, OnceLock};

use convoke_macros::table;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use crate::codec::Format;
use crate::codec::decode::Body;
use crate::context::Read as _;
use crate::context::handler::{Handlers, Prepared};
use crate::context::shared::Call;
use crate::execute;
use crate::logs::Capture;
use crate::registry::Registered;
use convoke_core::answer::writer::Writer;
use convoke_core::error::{Code, Error, Result};
use convoke_core::identity::{Caller, Identity};
use convoke_store::Database;

/// A known identity, and its claims.
#[table(name = "_identities", prefix = "identity")]
#[index(by_subject(issuer, subject), unique)]
pub struct SeenIdentity {
    /// The `iss` of its tokens.
    pub issuer: String,
    /// The `sub` of its tokens.
    pub subject: String,
    /// A digest of the claims that the hook reads.
    pub claims: String,
    /// The `iat` of the token with these claims. An older token changes nothing.
    pub issued_at: i64,
}

/// The claims of recent identities, by token identifier.
pub(crate) type IdentityCache = Cache<String, SeenClaims>;

/// The claims of an identity, as in the database.
#[derive(Clone, Copy)]
pub(crate) struct SeenClaims {
    /// Their [`fingerprint`]. None: a token newer than those that this process has seen brought them.
    claims: Option<u64>,
    /// The `iat` of the token with these claims.
    issued_at: i64,
    /// The database's history ([`convoke_store::Commits::history`]): another history may lack the identity.
    history: u64,
}

/// Maximum number of cached identities. An evicted one costs a read.
pub(crate) const CACHED_MAX: usize = 100_000;

/// Errors after which changed claims of a known identity may be recorded later: the store rejects writes, or the user
/// has written too much.
const CAN_WAIT: [Code; 4] = [Code::NotReady, Code::Unavailable, Code::Overloaded, Code::RateLimited];

/// Runs the hook if the caller's identity or its claims are new. The log lines of the hook are visible to the operator
/// only: they are not part of the call that triggered it.
///
/// # Errors
/// `NOT_READY` if the identity is new and the store rejects writes; else those of the hook.
pub(crate) async fn provision_identity(
    identities: &IdentityCache,
    handlers: &Handlers,
    call: &Arc<Call>,
) -> Result<()> {
    // An identity that a deploy key acts as has no claims of its own, so it never changes the stored ones.
    let Caller::User(identity) = &call.caller else { return Ok(()) };
    let Some(hook) = call.services.registry().identity_hook() else { return Ok(()) };
    let key = identity.token_identifier();
    let remembered = Some(fingerprint(identity));
    let issued_at = identity.issued_at.unwrap_or(0);
    let history = call.services.store().commits().history();
    let known_at = match identities.get(&key).filter(|seen| seen.history == history) {
        Some(seen) if seen.claims == remembered => {
            // If a newer token has the same claims, all tokens between the two are old too.
            if issued_at > seen.issued_at {
                identities.insert(key, SeenClaims { issued_at, ..seen });
            }
            return Ok(());
        }
        Some(seen) if issued_at < seen.issued_at => return Ok(()),
        Some(seen) => seen.issued_at,
        None => 0,
    };
    // Boxed, because few calls need it and every call's future would otherwise be as large.
    Box::pin(record_identity(identities, handlers, call, identity, hook, known_at)).await
}

/// Runs the hook, unless the table has the identity with these claims. `known_at` is the `iat` of a token seen before.
async fn record_identity(
    identities: &IdentityCache,
    handlers: &Handlers,
    call: &Arc<Call>,
    identity: &Arc<Identity>,
    hook: &Registered,
    known_at: i64,
) -> Result<()> {
    let key = identity.token_identifier();
    let remembered = Some(fingerprint(identity));
    let issued_at = identity.issued_at.unwrap_or(0);
    // Before the first read.
    let history = call.services.store().commits().history();
    let hook = hook.clone();
    let capture = Capture::new(call.services.limits(), call.request_id.clone(), hook.path.clone(), call.span.clone());
    let claims = digest(identity);
    let identity = identity.clone();
    let (issuer, subject) = (identity.issuer.clone(), identity.subject.clone());
    let find = move |db: &convoke_store::Db| -> Result<Option<(String, i64)>> {
        let row = db.query(SeenIdentity::by_subject).eq(issuer.as_str()).eq(subject.as_str()).unique()?;
        Ok(row.map(|row| (row.claims.clone(), row.issued_at)))
    };
    let stored = {
        let find = find.clone();
        execute::query(call.clone(), capture.clone(), &hook, move |ctx| find(ctx.db())).await?
    };
    match &stored {
        Some((seen, at)) if *seen == claims => {
            let issued_at = issued_at.max(known_at).max(*at);
            identities.insert(key, SeenClaims { claims: remembered, issued_at, history });
            return Ok(());
        }
        Some((_, at)) if issued_at < *at => {
            identities.insert(key, SeenClaims { claims: None, issued_at: *at, history });
            return Ok(());
        }
        Some(_) | None => {}
    }
    // The hook takes the context alone, which has the identity.
    let Prepared::Mutation(prepared) = handlers.prepare(&hook, Body::Args("{}", Format::Json))? else {
        return Err(Error::internal("the identity hook is not a mutation"));
    };
    let row = SeenIdentity {
        issuer: identity.issuer.clone(),
        subject: identity.subject.clone(),
        claims: claims.clone(),
        issued_at,
    };
    let store = execute::mutation(call.clone(), capture, &hook, move |ctx| {
        match find(ctx.db())? {
            // Another call of the same identity was faster.
            Some((seen, at)) if seen == row.claims || row.issued_at < at => return Ok(()),
            Some(_) | None => {}
        }
        prepared.run(ctx, &mut Writer::unread())?;
        let db = ctx.db_mut();
        let old = db.query(SeenIdentity::by_subject).eq(&row.issuer).eq(&row.subject).unique()?;
        match old {
            Some(old) => db.replace(old.id(), row.clone())?,
            None => db.insert(row.clone()).map(|_| ())?,
        }
        Ok(())
    });
    match store.await {
        Ok(()) => identities.insert(key, SeenClaims { claims: remembered, issued_at, history }),
        Err(error) if stored.is_some() && CAN_WAIT.contains(&error.code()) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Returns true if an identity is known.
///
/// # Errors
/// A failure of the store.
pub async fn is_known(database: &Database, issuer: &str, subject: &str) -> Result<bool> {
    let (issuer, subject) = (issuer.to_owned(), subject.to_owned());
    let known = database.read_admin(move |db| {
        Ok(db.query(SeenIdentity::by_subject).eq(issuer.as_str()).eq(subject.as_str()).unique()?.is_some())
    });
    known.await
}

/// Maximum number of recorded users of an issuer that a search for a similar subject compares.
const COMPARED_MAX: usize = 1_000;

/// Returns the recorded subject of this issuer that an unknown one probably misspells. Subjects that differ only in
/// digits are different users.
///
/// # Errors
/// A failure of the store.
pub async fn similar_subject(database: &Database, issuer: &str, subject: &str) -> Result<Option<String>> {
    let (issuer, subject) = (issuer.to_owned(), subject.to_owned());
    let similar = database.read_admin(move |db| {
        let known = db.query(SeenIdentity::by_subject).eq(issuer.as_str()).take(COMPARED_MAX)?;
        Ok(most_similar(&subject, known.iter().map(|row| row.subject.as_str())).map(str::to_owned))
    });
    similar.await
}

fn most_similar<'a>(subject: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters =
        |text: &str| text.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>().to_lowercase();
    let own = letters(subject);
    let distance = |known: &'a str| {
        let other = letters(known);
        let distance_max = own.chars().count().max(other.chars().count()) / 3;
        let distance = strsim::osa_distance(&own, &other);
        let is_misspelled =
            distance <= distance_max && (distance > 0 || known.to_lowercase() == subject.to_lowercase());
        is_misspelled.then_some((distance, known))
    };
    known.filter_map(distance).min().map(|(_, known)| known)
}

/// Returns the claims that the application stores.
fn stored_claims(identity: &Identity) -> impl Hash + serde::Serialize {
    let Identity { email, email_verified, name, picture, org_id, roles, .. } = identity;
    (email, email_verified, name, picture, org_id, roles)
}

/// Returns the digest of the stored claims, as in the table.
fn digest(identity: &Identity) -> String {
    let text = serde_json::to_vec(&stored_claims(identity)).unwrap_or_default();
    hex::encode(Sha256::digest(text))
}

/// Returns a hash of the claims for the memory of one process. Every call with a token computes it, and a digest would
/// take microseconds.
fn fingerprint(identity: &Identity) -> u64 {
    // One random state per process: a client that knows it could make claims that collide.
    static STATE: OnceLock<RandomState> = OnceLock::new();
    STATE.get_or_init(RandomState::new).hash_one(stored_claims(identity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_subject_is_similar_but_another_name_or_number_is_not() {
        let known = ["ada", "grace.hopper", "user_1"];
        for (subject, similar) in [
            ("adda", Some("ada")),
            ("Ada", Some("ada")),
            ("ad", Some("ada")),
            ("grace.hoper", Some("grace.hopper")),
            ("bob", None),
            ("user_2", None),
            ("", None),
        ] {
            assert_eq!(most_similar(subject, known.into_iter()), similar, "{subject}");
        }
    }
}
