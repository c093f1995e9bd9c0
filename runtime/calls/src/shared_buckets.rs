//! Token buckets that several nodes share: rows of the database, from which each node draws blocks of tokens into its
//! memory. All nodes together accept as many calls as one node alone would, and most calls need no request to the
//! database.

use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::buckets::{self, Charge, Key, Payment, SHARDS, place};
use convoke_core::clock::Millis;
use convoke_core::identity::Identity;
use convoke_store::{Draw, Drawn, Store, StoreError};

/// Blocks of a full bucket. Other nodes lack the tokens that a node holds and does not use, until the bucket is full
/// again.
const BLOCKS: f64 = 20.0;

/// Reason why no tokens were taken.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// They are available after this time.
    For(Duration),
    /// The shared bucket is unreachable.
    Unknown(StoreError),
}

/// The tokens that this node holds, of all identities' buckets.
pub(crate) struct SharedBuckets {
    store: Store,
    shards: Vec<Shard>,
}

#[derive(Default)]
struct Shard {
    held: Mutex<Holdings>,
    /// Held by the thread that draws a block. Threads that wait for it take their tokens from that block.
    drawing: Mutex<()>,
}

/// A part of the held tokens.
#[derive(Default)]
struct Holdings(buckets::Shard<HeldTokens>);

/// The tokens that are held of one bucket.
#[derive(Clone, Copy)]
struct HeldTokens {
    tokens: f64,
    drawn_at: Millis,
    /// Time after which the held tokens are void: the bucket would be full without them.
    void_after: Duration,
    refused: Option<FailedDraw>,
}

/// A failed draw: until its wait is over, no call needs to draw as many tokens again.
#[derive(Clone, Copy)]
struct FailedDraw {
    tokens: f64,
    at: Millis,
    wait: Duration,
}

impl SharedBuckets {
    /// Creates the buckets in the database of a store.
    pub(crate) fn of(store: Store) -> Self {
        Self { store, shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }

    /// Takes the tokens of a charge.
    pub(crate) fn take(&self, identity: &Identity, charge: &Charge) -> Result<(), NotTaken> {
        let (key, shard) = place(identity, charge.name);
        let shard = &self.shards[shard];
        if let Some(answer) = shard.held.lock().take(key, charge) {
            return answer;
        }
        let _turn = shard.drawing.lock();
        // The thread that held the lock may have drawn enough.
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
                held.refuse(key, charge, FailedDraw { tokens: missing(charge.needed()), at: charge.now, wait });
                return Err(NotTaken::For(wait));
            }
            Err(_) if charge.payment == Payment::Later => held.put(key, charge, -charge.cost),
            Err(error) => return Err(NotTaken::Unknown(error)),
        }
        Ok(())
    }

    /// Gives back tokens of a charge that were not used. This node holds them.
    pub(crate) fn give(&self, identity: &Identity, charge: &Charge) {
        let (key, shard) = place(identity, charge.name);
        self.shards[shard].held.lock().put(key, charge, charge.cost);
    }
}

impl Holdings {
    /// Takes held tokens, or returns a known rejection. Returns `None` if a draw is needed.
    fn take(&mut self, key: Key, charge: &Charge) -> Option<Result<(), NotTaken>> {
        let tokens = self.tokens(key, charge.now);
        let held = self.0.buckets.get_mut(&key)?;
        if tokens >= charge.cost {
            held.tokens -= charge.cost;
            return Some(Ok(()));
        }
        let refused = held.refused.filter(|refused| charge.needed() - tokens >= refused.tokens)?;
        // After a clock that jumped back, the rejection is void.
        let passed = charge.now.since(refused.at);
        let wait = refused.wait.checked_sub(passed).filter(|wait| !wait.is_zero() && charge.now >= refused.at)?;
        Some(Err(NotTaken::For(wait)))
    }

    /// Returns the held tokens.
    fn tokens(&self, key: Key, now: Millis) -> f64 {
        self.0.buckets.get(&key).filter(|held| !held.is_void(now)).map_or(0.0, |held| held.tokens)
    }

    /// Adds tokens to the held ones.
    fn put(&mut self, key: Key, charge: &Charge, tokens: f64) {
        let tokens = self.tokens(key, charge.now) + tokens;
        let void_after = charge.refill.time_for(charge.refill.full);
        self.set(key, charge.now, HeldTokens { tokens, drawn_at: charge.now, void_after, refused: None });
    }

    /// Records a failed draw.
    fn refuse(&mut self, key: Key, charge: &Charge, refused: FailedDraw) {
        let tokens = self.tokens(key, charge.now);
        let drawn_at = self.0.buckets.get(&key).map_or(charge.now, |held| held.drawn_at);
        let void_after = charge.refill.time_for(charge.refill.full);
        self.set(key, charge.now, HeldTokens { tokens, drawn_at, void_after, refused: Some(refused) });
    }

    fn set(&mut self, key: Key, now: Millis, held: HeldTokens) {
        self.0.sweep(|held| !held.is_void(now));
        self.0.buckets.insert(key, held);
    }
}

impl HeldTokens {
    fn is_void(&self, now: Millis) -> bool {
        now.since(self.drawn_at) >= self.void_after
    }
}

/// Returns the id of a bucket, the same on all nodes.
fn bucket(identity: &Identity, name: &str) -> u128 {
    let mut digest = Sha256::new();
    for part in [&*identity.issuer, &*identity.subject, name] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let digest = digest.finalize();
    u128::from_be_bytes(digest[..16].try_into().expect("a digest has 32 bytes"))
}
