//! The deploy keys of an installation: a table, and a copy of the whole table in memory for the check of each call.
//!
//! Only serving processes change keys. The process that changes a key refreshes its copy before it responds, so a
//! revocation takes effect there with the response. Other nodes follow the commits and read the table after a change.
//! The last use of a key is written in the background, not per call.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use convoke_macros::{table, value};
use parking_lot::RwLock;
use tokio::sync::{Mutex, MutexGuard};

use super::deploy_key::{DeployKeys, StoredKey, StoredSecret};
use super::environment::Environment;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_store::{Commit, Database, Db, Doc, ReadSet, Table as _};

/// A stored deploy key, with the hashes of its secrets.
#[table(name = "_deployKeys", prefix = "deploykey")]
#[index(by_name(name), unique)]
#[index(by_revocation(revoked_at), when(revoked_at is not null))]
pub struct DeployKey {
    /// The unique name.
    pub name: String,
    /// The one deployment in which it is accepted.
    pub environment: String,
    /// The rights of the key.
    pub scopes: Vec<String>,
    /// The hashes of the accepted secrets: the current one, and after a rotation the previous ones until they expire.
    pub secrets: Vec<KeySecret>,
    /// The key that created it, or `operator`.
    pub created_by: String,
    /// Expiry; `None` = never.
    pub expires_at: Option<Millis>,
    /// Time of the last rotation.
    pub rotated_at: Option<Millis>,
    /// Time of the revocation. A revoked key is rejected.
    pub revoked_at: Option<Millis>,
    /// Time of the last use.
    pub last_used_at: Option<Millis>,
}

/// The hash of a secret and its expiry.
#[value]
#[derive(Clone, PartialEq, Eq)]
pub struct KeySecret {
    /// SHA-256 of the secret's text, in base64url.
    pub hash: String,
    /// Time from which the secret is rejected; `None` for the current secret.
    pub until: Option<Millis>,
}

impl KeySecret {
    fn of(stored: &StoredSecret) -> Self {
        Self { hash: URL_SAFE_NO_PAD.encode(stored.hash), until: stored.until }
    }

    fn stored(&self) -> Option<StoredSecret> {
        let hash = URL_SAFE_NO_PAD.decode(&self.hash).ok()?.try_into().ok()?;
        Some(StoredSecret { hash, until: self.until })
    }
}

/// Converts the secrets of a key to their form in the row.
pub(crate) fn secrets(key: &StoredKey) -> Vec<KeySecret> {
    key.secrets.iter().map(KeySecret::of).collect()
}

impl DeployKey {
    /// Returns the key for the check of calls; `None` for an invalid row.
    pub(crate) fn stored(&self) -> Option<StoredKey> {
        Some(StoredKey {
            environment: self.environment.parse::<Environment>().ok()?,
            secrets: self.secrets.iter().map(KeySecret::stored).collect::<Option<_>>()?,
            // Unknown scopes of a later version grant nothing.
            scopes: self.scopes.iter().filter_map(|scope| scope.parse().ok()).collect(),
            expires_at: self.expires_at,
            revoked: self.revoked_at.is_some(),
        })
    }
}

/// All deploy keys, in memory.
#[derive(Default)]
pub struct DeployKeyCache {
    keys: RwLock<HashMap<String, CachedKey>>,
    /// Locked during a change and the refresh after it, so that an older read never overwrites a newer one.
    changing: Mutex<()>,
    /// The latest commit at which the copy is known to match the table ([`DeployKeyCache::follow`]).
    followed: AtomicU64,
}

/// Interval of [`DeployKeyCache::follow`]. Commits of other nodes arrive within a quarter of a second.
pub(crate) const LOOK: Duration = Duration::from_millis(200);

struct CachedKey {
    id: Id<DeployKey>,
    key: StoredKey,
    /// Milliseconds; 0 = never.
    used: AtomicI64,
    /// The value of `used` that the table has.
    written: AtomicI64,
}

impl CachedKey {
    /// Creates the entry of a row and keeps the last use from memory. Returns `None` for an invalid row.
    fn of(row: &Doc<DeployKey>, former: &HashMap<String, CachedKey>) -> Option<Self> {
        let Some(key) = row.stored() else {
            let (key, environment) = (&row.name, &row.environment);
            tracing::warn!(key, environment, "rejects a deploy key whose row is invalid");
            return None;
        };
        let written = row.last_used_at.map_or(0, Millis::get);
        let used = former.get(&row.name).map_or(0, |held| held.used.load(Ordering::Relaxed)).max(written);
        Some(Self { id: row.id(), key, used: AtomicI64::new(used), written: AtomicI64::new(written) })
    }
}

impl DeployKeys for DeployKeyCache {
    fn find(&self, name: &str) -> Option<StoredKey> {
        self.keys.read().get(name).map(|held| held.key.clone())
    }

    fn used(&self, name: &str, at: Millis) {
        if let Some(held) = self.keys.read().get(name) {
            held.used.fetch_max(at.0, Ordering::Relaxed);
        }
    }
}

impl DeployKeyCache {
    /// Replaces all keys in memory with the rows of the table.
    pub(crate) fn fill(&self, rows: &[Doc<DeployKey>]) {
        let mut keys = self.keys.write();
        let mut next = HashMap::with_capacity(rows.len());
        for row in rows {
            if let Some(held) = CachedKey::of(row, &keys) {
                next.insert(row.name.clone(), held);
            }
        }
        *keys = next;
    }

    /// Replaces one key in memory with its row.
    pub(crate) fn put(&self, row: &Doc<DeployKey>) {
        let mut keys = self.keys.write();
        match CachedKey::of(row, &keys) {
            Some(held) => keys.insert(row.name.clone(), held),
            None => keys.remove(&row.name),
        };
    }

    /// Reads the table again.
    ///
    /// # Errors
    /// A failure of the store. The copy in memory does not change.
    pub(crate) async fn refresh(&self, database: &Database) -> Result<()> {
        let rows = database.read_admin(all).await?;
        self.fill(&rows);
        Ok(())
    }

    /// Reads the table again if it changed since the last call, for example on another node.
    ///
    /// # Errors
    /// Those of [`DeployKeyCache::refresh`].
    pub(crate) async fn follow(&self, database: &Database) -> Result<()> {
        let commits = database.store().commits();
        let followed = Commit(self.followed.load(Ordering::Relaxed));
        let newest = commits.newest();
        if newest == followed {
            return Ok(());
        }
        // A request that changes keys refreshes the copy itself.
        let Ok(_changing) = self.changing.try_lock() else { return Ok(()) };
        let reads = ReadSet::of_table(DeployKey::DEF.name);
        let newest = match commits.stands(&reads, followed) {
            Some((newest, _)) => newest,
            None => {
                self.refresh(database).await?;
                // The next call checks the commits during the read.
                newest
            }
        };
        self.followed.store(newest.0, Ordering::Relaxed);
        Ok(())
    }

    /// Locks the keys for a change. The caller holds the lock until it has refreshed the copy.
    pub(crate) async fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// Returns the last use of the key that this process knows.
    pub fn last_used(&self, name: &str) -> Option<Millis> {
        let used = self.keys.read().get(name)?.used.load(Ordering::Relaxed);
        (used > 0).then_some(Millis(used))
    }

    /// Writes the last uses that the table does not have yet.
    ///
    /// # Errors
    /// A failure of the store. The next run writes the same uses.
    pub(crate) async fn store_last_used(&self, database: &Database) -> Result<()> {
        let news: Vec<(String, Id<DeployKey>, i64)> = {
            let keys = self.keys.read();
            let used = keys.iter().map(|(name, held)| (name, held, held.used.load(Ordering::Relaxed)));
            used.filter(|(_, held, used)| *used > held.written.load(Ordering::Relaxed))
                .map(|(name, held, used)| (name.clone(), held.id, used))
                .collect()
        };
        if news.is_empty() {
            return Ok(());
        }
        let rows = news.clone();
        database
            .write_admin("last use of deploy keys", move |db| {
                for (_, id, used) in &rows {
                    if db.get(*id)?.is_some() {
                        db.patch(*id, |row| row.last_used_at = Some(Millis(*used)))?;
                    }
                }
                Ok(())
            })
            .await?;
        let keys = self.keys.read();
        for (name, _, used) in news {
            if let Some(held) = keys.get(&name) {
                held.written.fetch_max(used, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// Returns every row of the table.
pub(crate) fn all(db: &Db) -> Result<Vec<Doc<DeployKey>>> {
    Ok(db.query(DeployKey::by_name).take(usize::MAX)?)
}

/// Returns the row of this name.
///
/// # Errors
/// `NOT_FOUND`.
pub(crate) fn named(db: &Db, name: &str) -> Result<Doc<DeployKey>> {
    let row = db.query(DeployKey::by_name).eq(name).unique()?;
    row.ok_or_else(|| Error::not_found("No deploy key has this name").with("name", name))
}
