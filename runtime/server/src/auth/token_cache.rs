//! A bounded cache of verified tokens, until they expire.
//!
//! Each call looks its token up here in less than a microsecond; the check of a signature takes tens. The cache key is
//! a keyed hash of the whole token, so the memory contains no tokens. SipHash-2-4 with 128 bits and a secret of this
//! process is a message authentication code: an attacker cannot forge a token with the hash of another. It costs half
//! of a SHA-256.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use siphasher::sip128::{Hasher128 as _, SipHasher24};

use super::key_set::VerifyingKey;
use convoke_core::clock::Millis;
use convoke_core::identity::Identity;
use convoke_core::limits::Limits;

/// A cache of verified tokens.
pub struct TokenCache {
    entries: Cache<TokenHash, Entry, Weight>,
    secret: SipHasher24,
}

type TokenHash = u128;

#[derive(Clone)]
struct Entry {
    identity: Arc<Identity>,
    key: Arc<VerifyingKey>,
    /// Time from which the token is rejected.
    until: Millis,
    bytes: u64,
}

#[derive(Clone)]
struct Weight {
    entry_min: u64,
}

impl Weighter<TokenHash, Entry> for Weight {
    fn weight(&self, _: &TokenHash, entry: &Entry) -> u64 {
        entry.bytes.max(self.entry_min)
    }
}

/// Size of an entry without its claims: identity, hash, and the cache's own bookkeeping.
const ENTRY_BYTES: u64 = 768;

/// Upper estimate of the ratio between claims in memory and their base64 text.
const CLAIMS_FACTOR: u64 = 4;

impl TokenCache {
    /// Creates an empty cache, limited in entries and in bytes.
    pub fn new(limits: &Limits) -> Self {
        let bytes_max = limits.tokens_remembered_bytes_max as u64;
        let tokens_max = limits.tokens_remembered_max.max(1);
        // Each entry weighs at least its share, so the limit in bytes enforces the limit in entries.
        let weight = Weight { entry_min: bytes_max.div_ceil(tokens_max as u64).max(1) };
        let random = RandomState::new();
        let secret = SipHasher24::new_with_keys(random.hash_one(0), random.hash_one(1));
        Self { entries: Cache::with_weighter(tokens_max, bytes_max, weight), secret }
    }

    /// Returns the identity of `token` if it is cached, has not expired, and its key is still listed.
    pub fn get(&self, token: &[u8], now: Millis) -> Option<Arc<Identity>> {
        let hash = self.hash(token);
        let entry = self.entries.get(&hash)?;
        if now < entry.until && entry.key.is_listed() {
            return Some(entry.identity);
        }
        self.entries.remove(&hash);
        None
    }

    /// Caches the `identity` of `token`, signed by `key`, until `until`.
    pub fn insert(&self, token: &[u8], key: Arc<VerifyingKey>, identity: Arc<Identity>, until: Millis) {
        let bytes = ENTRY_BYTES + CLAIMS_FACTOR * token.len() as u64;
        self.entries.insert(self.hash(token), Entry { identity, key, until, bytes });
    }

    fn hash(&self, token: &[u8]) -> TokenHash {
        let mut hasher = self.secret;
        hasher.write(token);
        hasher.finish128().into()
    }

    /// Returns the number of cached tokens.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::key_set::KeySet;
    use super::*;

    const SET: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    fn set(json: &str) -> KeySet {
        KeySet::parse(json.as_bytes(), 10).unwrap()
    }

    fn insert(cache: &TokenCache, keys: &KeySet, token: &[u8], until: i64) {
        let key = Arc::clone(keys.iter().next().unwrap());
        cache.insert(token, key, Arc::new(Identity::default()), Millis(until));
    }

    #[test]
    fn token_is_cached_until_it_expires() {
        let (cache, keys) = (TokenCache::new(&Limits::default()), set(SET));
        insert(&cache, &keys, b"token", 1000);
        assert!(cache.get(b"token", Millis(999)).is_some());
        assert!(cache.get(b"toker", Millis(999)).is_none());
        assert!(cache.get(b"token", Millis(1000)).is_none());
        assert!(cache.is_empty(), "the expired token is evicted");
    }

    #[test]
    fn token_is_evicted_when_its_key_leaves_the_set() {
        let (cache, keys) = (TokenCache::new(&Limits::default()), set(SET));
        insert(&cache, &keys, b"token", 1000);
        let same = set(SET).succeed(Some(&keys));
        assert!(cache.get(b"token", Millis(0)).is_some());
        set(&SET.replace("\"}", "\",\"kid\":\"renamed\"}")).succeed(Some(&same));
        assert!(cache.get(b"token", Millis(0)).is_none());
    }

    #[test]
    fn cache_is_bounded_by_entries_and_by_bytes() {
        let keys = set(SET);
        let few = TokenCache::new(&Limits { tokens_remembered_max: 64, ..Limits::default() });
        let small = TokenCache::new(&Limits { tokens_remembered_bytes_max: 64 * 1024, ..Limits::default() });
        for number in 0..1000_u32 {
            insert(&few, &keys, &number.to_be_bytes(), 1000);
            insert(&small, &keys, &[&number.to_be_bytes()[..], &[0; 1000]].concat(), 1000);
        }
        assert!((1..=64).contains(&few.len()), "{}", few.len());
        assert!((1..=14).contains(&small.len()), "{}", small.len());
    }
}
