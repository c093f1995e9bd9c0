//! The deploy keys of an installation: a table, and all of it in memory, where every call looks.
//!
//! Keys change in a process that serves and nowhere else, so the memory is read again after each change and a
//! revocation holds there from the answer to it on. Other nodes on the same database look at what is committed, and read
//! the table when it was changed. When a key was last used is written some time later, not once a call.

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

/// A deploy key as it is stored. Of its secrets only hashes are.
#[table(name = "_deployKeys", prefix = "deploykey")]
#[index(by_name(name), unique)]
#[index(by_revocation(revoked_at), when(revoked_at is not null))]
pub struct DeployKey {
    /// Its name, unique among all keys.
    pub name: String,
    /// The one deployment in which it is accepted.
    pub environment: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// The accepted secrets' hashes: one, or after a rotation also former ones for a while.
    pub secrets: Vec<KeySecret>,
    /// The key that made it, or `operator`.
    pub created_by: String,
    /// When it expires; none = never.
    pub expires_at: Option<Millis>,
    /// When its secret was last replaced.
    pub rotated_at: Option<Millis>,
    /// When it was revoked, after which it is accepted no more.
    pub revoked_at: Option<Millis>,
    /// When it was last accepted.
    pub last_used_at: Option<Millis>,
}

/// The hash of one secret, and until when it is accepted.
#[value]
#[derive(Clone, PartialEq, Eq)]
pub struct KeySecret {
    /// SHA-256 of the secret's text, in base64url.
    pub hash: String,
    /// From then on it is refused; none for the current one.
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

/// The secrets of a key as its row holds them.
pub(crate) fn secrets(key: &StoredKey) -> Vec<KeySecret> {
    key.secrets.iter().map(KeySecret::of).collect()
}

impl DeployKey {
    /// What a call is judged by; `None` if the row makes no sense.
    pub(crate) fn stored(&self) -> Option<StoredKey> {
        Some(StoredKey {
            environment: self.environment.parse::<Environment>().ok()?,
            secrets: self.secrets.iter().map(KeySecret::stored).collect::<Option<_>>()?,
            // One of a later version is no right here.
            scopes: self.scopes.iter().filter_map(|scope| scope.parse().ok()).collect(),
            expires_at: self.expires_at,
            revoked: self.revoked_at.is_some(),
        })
    }
}

/// All deploy keys, in memory.
#[derive(Default)]
pub struct DeployKeyCache {
    keys: RwLock<HashMap<String, Held>>,
    /// Held over a change and the reading that follows, so that an older reading never overwrites a newer one.
    changing: Mutex<()>,
    /// The last commit after which the table is known to be as it is in memory ([`DeployKeyCache::follow`]).
    followed: AtomicU64,
}

/// Between two looks at what other nodes have changed. They are told of a commit within a quarter of a second.
pub(crate) const LOOK: Duration = Duration::from_millis(200);

struct Held {
    id: Id<DeployKey>,
    key: StoredKey,
    /// Milliseconds; 0 = never.
    used: AtomicI64,
    /// What of that the table has.
    written: AtomicI64,
}

impl Held {
    /// The key of a row, with what is in memory of its last use; `None` if the row makes no sense.
    fn of(row: &Doc<DeployKey>, former: &HashMap<String, Held>) -> Option<Self> {
        let Some(key) = row.stored() else {
            let (key, environment) = (&row.name, &row.environment);
            tracing::warn!(key, environment, "a deploy key that cannot be read is refused");
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
    /// All keys of the table in place of those in memory.
    pub(crate) fn fill(&self, rows: &[Doc<DeployKey>]) {
        let mut keys = self.keys.write();
        let mut next = HashMap::with_capacity(rows.len());
        for row in rows {
            if let Some(held) = Held::of(row, &keys) {
                next.insert(row.name.clone(), held);
            }
        }
        *keys = next;
    }

    /// One key of the table in place of what is in memory of it.
    pub(crate) fn put(&self, row: &Doc<DeployKey>) {
        let mut keys = self.keys.write();
        match Held::of(row, &keys) {
            Some(held) => keys.insert(row.name.clone(), held),
            None => keys.remove(&row.name),
        };
    }

    /// Reads the table again.
    ///
    /// # Errors
    /// A failure of the store; the memory stays as it was.
    pub(crate) async fn refresh(&self, database: &Database) -> Result<()> {
        let rows = database.read_admin(all).await?;
        self.fill(&rows);
        Ok(())
    }

    /// Reads the table again if somebody, another node above all, has changed it since this was called last.
    ///
    /// # Errors
    /// As [`DeployKeyCache::refresh`].
    pub(crate) async fn follow(&self, database: &Database) -> Result<()> {
        let commits = database.store().commits();
        let followed = Commit(self.followed.load(Ordering::Relaxed));
        let newest = commits.newest();
        if newest == followed {
            return Ok(());
        }
        // A change that is being made here is read by its own request.
        let Ok(_changing) = self.changing.try_lock() else { return Ok(()) };
        let reads = ReadSet::of_table(DeployKey::DEF.name);
        let newest = match commits.stands(&reads, followed) {
            Some((newest, _)) => newest,
            None => {
                self.refresh(database).await?;
                // What was committed during the reading is looked at the next time.
                newest
            }
        };
        self.followed.store(newest.0, Ordering::Relaxed);
        Ok(())
    }

    /// Held by the request that changes keys, until the memory has been read again.
    pub(crate) async fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// When the key was last accepted, as far as this process knows.
    pub fn last_used(&self, name: &str) -> Option<Millis> {
        let used = self.keys.read().get(name)?.used.load(Ordering::Relaxed);
        (used > 0).then_some(Millis(used))
    }

    /// Writes when keys were last used, where that is news.
    ///
    /// # Errors
    /// A failure of the store; the next run writes it.
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

/// Every key of the table.
pub(crate) fn all(db: &Db) -> Result<Vec<Doc<DeployKey>>> {
    Ok(db.query(DeployKey::by_name).take(usize::MAX)?)
}

/// The key of this name.
pub(crate) fn named(db: &Db, name: &str) -> Result<Doc<DeployKey>> {
    let row = db.query(DeployKey::by_name).eq(name).unique()?;
    row.ok_or_else(|| Error::not_found("No deploy key has this name").with("name", name))
}
