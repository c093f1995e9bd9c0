//! The same buckets where several nodes serve the database: rows, from which each node draws blocks that it counts down in
//! memory. So all nodes together let through what one alone would, and most calls ask nobody.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::buckets::{BUCKETS_OF_A_SHARD_MIN, Charge, Key, Payment, SHARDS, hash};
use convoke_core::clock::Millis;
use convoke_core::identity::Identity;
use convoke_store::{Draw, Drawn, Store, StoreError};

/// A full bucket is so many blocks: what a node holds and does not use, others miss until the bucket is full again.
const BLOCKS: f64 = 20.0;

/// Why nothing was taken.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// It is there after so long.
    For(Duration),
    /// What is there cannot be asked.
    Unknown(StoreError),
}

/// What this node holds of the buckets of all identities.
pub(crate) struct SharedBuckets {
    store: Store,
    shards: Vec<Shard>,
}

#[derive(Default)]
struct Shard {
    held: Mutex<Holdings>,
    /// Held by who draws: those who come meanwhile take from that block.
    drawing: Mutex<()>,
}

/// Some of the holdings, and how many they may become before the old ones are dropped.
struct Holdings {
    of: HashMap<Key, Held>,
    sweep_at: usize,
}

/// What is held of one bucket.
#[derive(Clone, Copy)]
struct Held {
    tokens: f64,
    drawn_at: Millis,
    /// What is held is of no use from then on: the bucket would be full without it.
    void_after: Duration,
    refused: Option<Refused>,
}

/// What was not there: until then nobody needs to ask for as much.
#[derive(Clone, Copy)]
struct Refused {
    tokens: f64,
    at: Millis,
    wait: Duration,
}

impl SharedBuckets {
    /// The buckets in the database of a store.
    pub(crate) fn of(store: Store) -> Self {
        Self { store, shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }

    /// Takes what is charged.
    ///
    /// # Errors
    /// [`NotTaken`].
    pub(crate) fn take(&self, identity: &Identity, charge: &Charge) -> Result<(), NotTaken> {
        let key = (hash(&identity.issuer, &identity.subject), charge.name);
        let shard = &self.shards[usize::try_from(key.0 % SHARDS as u64).unwrap_or(0)];
        if let Some(answer) = shard.held.lock().take(key, charge) {
            return answer;
        }
        let _turn = shard.drawing.lock();
        // Whoever drew meanwhile may have drawn enough.
        if let Some(answer) = shard.held.lock().take(key, charge) {
            return answer;
        }
        let stock = shard.held.lock().tokens(key, charge.now);
        let missing = |tokens: f64| tokens - stock;
        let drawn = self.store.draw(&Draw {
            bucket: bucket(identity, charge.name),
            full: charge.refill.full,
            per_second: charge.refill.per_second,
            needed: missing(charge.needed()),
            cost: missing(charge.cost),
            block: (charge.refill.full / BLOCKS).max(1.0),
            now: charge.now,
        });
        let mut held = shard.held.lock();
        match drawn {
            Ok(Drawn { taken, .. }) if taken > 0.0 => held.put(key, charge, taken - charge.cost),
            Ok(Drawn { left, .. }) => {
                let wait = charge.refill.time_for(missing(charge.needed()) - left);
                held.refuse(key, charge, Refused { tokens: missing(charge.needed()), at: charge.now, wait });
                return Err(NotTaken::For(wait));
            }
            Err(_) if charge.payment == Payment::Later => held.put(key, charge, -charge.cost),
            Err(error) => return Err(NotTaken::Unknown(error)),
        }
        Ok(())
    }
}

impl Holdings {
    /// Takes from what is held, or tells what is known not to be there; `None` if that is to be asked.
    fn take(&mut self, key: Key, charge: &Charge) -> Option<Result<(), NotTaken>> {
        let tokens = self.tokens(key, charge.now);
        let held = self.of.get_mut(&key)?;
        if tokens >= charge.cost {
            held.tokens -= charge.cost;
            return Some(Ok(()));
        }
        let refused = held.refused.filter(|refused| charge.needed() - tokens >= refused.tokens)?;
        // On a clock that jumped back nothing is known.
        let passed = charge.now.since(refused.at);
        let wait = refused.wait.checked_sub(passed).filter(|wait| !wait.is_zero() && charge.now >= refused.at)?;
        Some(Err(NotTaken::For(wait)))
    }

    /// What is held.
    fn tokens(&self, key: Key, now: Millis) -> f64 {
        self.of.get(&key).filter(|held| !held.is_void(now)).map_or(0.0, |held| held.tokens)
    }

    /// Puts this to what is held.
    fn put(&mut self, key: Key, charge: &Charge, tokens: f64) {
        let tokens = self.tokens(key, charge.now) + tokens;
        let void_after = charge.refill.time_for(charge.refill.full);
        self.set(key, charge.now, Held { tokens, drawn_at: charge.now, void_after, refused: None });
    }

    /// Remembers what was not there.
    fn refuse(&mut self, key: Key, charge: &Charge, refused: Refused) {
        let tokens = self.tokens(key, charge.now);
        let drawn_at = self.of.get(&key).map_or(charge.now, |held| held.drawn_at);
        let void_after = charge.refill.time_for(charge.refill.full);
        self.set(key, charge.now, Held { tokens, drawn_at, void_after, refused: Some(refused) });
    }

    fn set(&mut self, key: Key, now: Millis, held: Held) {
        if self.of.len() >= self.sweep_at {
            self.of.retain(|_, held| !held.is_void(now));
            self.sweep_at = (self.of.len() * 2).max(BUCKETS_OF_A_SHARD_MIN);
        }
        self.of.insert(key, held);
    }
}

impl Held {
    fn is_void(&self, now: Millis) -> bool {
        now.since(self.drawn_at) >= self.void_after
    }
}

impl Default for Holdings {
    fn default() -> Self {
        Self { of: HashMap::new(), sweep_at: BUCKETS_OF_A_SHARD_MIN }
    }
}

/// A bucket as all nodes know it.
fn bucket(identity: &Identity, name: &str) -> u128 {
    let mut digest = Sha256::new();
    for part in [&*identity.issuer, &*identity.subject, name] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let digest = digest.finalize();
    u128::from_be_bytes(digest[..16].try_into().expect("a digest has 32 bytes"))
}
