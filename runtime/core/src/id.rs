//! Ids: TypeIDs that sort by time and have the prefix of their table.
//!
//! On the wire, an id is `<prefix>_` and 26 characters of base32 (TypeID 0.3). In memory, it is the 128 bits of a
//! UUIDv7. The generator strictly increases: within a millisecond, across restarts (it starts after the greatest stored
//! id), and when the clock jumps back.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use parking_lot::Mutex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::clock::Millis;

/// A table whose rows have ids. This is separate from the other traits of a table, so that two tables can have ids of
/// each other.
pub trait Named {
    /// The table's name.
    const NAME: &'static str;

    /// The prefix of the table's ids.
    const PREFIX: &'static str;
}

/// The id of a row of table `T`. An id of another table has another type and does not parse as this one.
pub struct Id<T> {
    bits: u128,
    table: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    /// Creates the id with these bits.
    pub const fn from_bits(bits: u128) -> Self {
        Self { bits, table: PhantomData }
    }

    /// The 128 bits, as the store has them.
    pub const fn bits(self) -> u128 {
        self.bits
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}
impl<T> Eq for Id<T> {}
impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bits.cmp(&other.bits)
    }
}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}

impl<T: Named> Id<T> {
    /// Calls `use_text` with the text, which is written without a formatter.
    fn with_text<R>(self, use_text: impl FnOnce(&str) -> R) -> R {
        const { assert_prefix(T::PREFIX) };
        // The UTF-8 check of aligned text reads whole words.
        #[repr(align(8))]
        struct Words([u8; PREFIX_LEN_MAX + 1 + 26]);
        let Words(text) = &mut Words([0; PREFIX_LEN_MAX + 1 + 26]);
        let digits = T::PREFIX.len() + 1;
        text[..digits - 1].copy_from_slice(T::PREFIX.as_bytes());
        text[digits - 1] = b'_';
        text[digits..digits + 26].copy_from_slice(&encode(self.bits));
        use_text(std::str::from_utf8(&text[..digits + 26]).unwrap_or_default())
    }
}

impl<T: Named> fmt::Display for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

impl<T: Named> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error of a text that is not an id of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id of this table")]
pub struct NotAnId;

impl<T: Named> FromStr for Id<T> {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        parse(T::PREFIX, text).map(Self::from_bits).ok_or(NotAnId)
    }
}

impl<T: Named> Serialize for Id<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_text(|text| serializer.serialize_str(text))
    }
}

impl<'de, T: Named> Deserialize<'de> for Id<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<fn() -> T>);
        impl<T: Named> serde::de::Visitor<'_> for Visitor<T> {
            type Value = Id<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an id of {} ({}_…)", T::NAME, T::PREFIX)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Id<T>, E> {
                text.parse().map_err(|NotAnId| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Visitor(PhantomData))
    }
}

impl<T: Named> JsonSchema for Id<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Id_{}", T::NAME).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": format!("^{}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$", T::PREFIX),
            "description": format!("Id of a row of `{}`.", T::NAME),
            "examples": [format!("{}_01jgfjs5r2a4n8w7k0q3d6m9vt", T::PREFIX)],
        })
    }
}

/// Largest length of a prefix in TypeID.
const PREFIX_LEN_MAX: usize = 63;

/// Checks the length of a prefix at compile time.
///
/// # Panics
/// If the prefix is longer than TypeID allows.
pub const fn assert_prefix(prefix: &str) {
    const { assert!(PREFIX_LEN_MAX == 63, "the message below contains the limit") };
    assert!(prefix.len() <= PREFIX_LEN_MAX, "a table's prefix has at most 63 characters");
}

/// Crockford's base32 in lower case, the alphabet of TypeID.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The digit of each byte, or 255. It is a table because each id in each request and response is parsed with it.
const DIGITS: [u8; 256] = {
    let mut digits = [255; 256];
    let mut i = 0;
    while i < 32 {
        digits[ALPHABET[i] as usize] = i as u8;
        i += 1;
    }
    digits
};

/// Encodes an id as 26 digits, most significant first.
pub fn encode(bits: u128) -> [u8; 26] {
    let mut text = [0; 26];
    let mut rest = bits;
    for digit in text.iter_mut().rev() {
        *digit = ALPHABET[rest as usize & 31];
        rest >>= 5;
    }
    text
}

/// Parses `<prefix>_<26 digits>`. Returns `None` for any other text.
pub fn parse(prefix: &str, text: &str) -> Option<u128> {
    let digits = text.strip_prefix(prefix)?.strip_prefix('_')?.as_bytes();
    // 26 digits have 130 bits, so the first may not exceed 7.
    if digits.len() != 26 || digits[0] > b'7' {
        return None;
    }
    let mut bits = 0u128;
    for &byte in digits {
        let digit = DIGITS[usize::from(byte)];
        if digit == 255 {
            return None;
        }
        bits = bits << 5 | u128::from(digit);
    }
    Some(bits)
}

/// The bits that a UUIDv7 fixes: version 7 and variant 2.
const FIXED: u128 = 0x7 << 76 | 0x2 << 62;

/// Generates ids that strictly increase.
pub struct IdGenerator {
    last: Mutex<Free>,
    random: fn() -> u128,
}

/// The 122 free bits of an id as one number: 48 of time, 74 of randomness, so that "next" is "plus one".
type Free = u128;

impl IdGenerator {
    /// Creates a generator whose ids exceed `greatest`, the greatest stored id.
    pub fn after(greatest: u128) -> Self {
        Self { last: Mutex::new(free(greatest)), random: machine_random }
    }

    /// Creates a generator without randomness, for tests that need the same ids in each run.
    pub fn predictable() -> Self {
        Self { last: Mutex::new(0), random: || 0 }
    }

    /// Raises the minimum: the next id exceeds `greatest`.
    pub fn advance_past(&self, greatest: u128) {
        let mut last = self.last.lock();
        *last = (*last).max(free(greatest));
    }

    /// Generates the next id at the time `now`.
    pub fn next(&self, now: Millis) -> u128 {
        let time = u128::from(now.0.max(0).unsigned_abs()) & ((1 << 48) - 1);
        let random = (self.random)() & ((1 << 74) - 1);
        let mut last = self.last.lock();
        *last = (time << 74 | random).max(*last + 1);
        fixed(*last)
    }
}

fn machine_random() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system has randomness once it has started");
    u128::from_le_bytes(bytes)
}

fn free(id: u128) -> Free {
    (id >> 80) << 74 | (id >> 64 & 0xfff) << 62 | id & ((1 << 62) - 1)
}

fn fixed(free: Free) -> u128 {
    FIXED | (free >> 74) << 80 | (free >> 62 & 0xfff) << 64 | free & ((1 << 62) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_the_typeid_specification_pass() {
        // https://github.com/jetify-com/typeid: spec/valid.yml
        for (suffix, bits) in [
            ("00000000000000000000000000", 0),
            ("00000000000000000000000001", 1),
            ("0000000000000000000000000a", 10),
            ("0000000000000000000000000g", 16),
            ("00000000000000000000000010", 32),
            ("7zzzzzzzzzzzzzzzzzzzzzzzzz", u128::MAX),
            ("01h455vb4pex5vsknk084sn02q", 0x0189_0a5d_ac96_774b_bcce_b302_099a_8057),
        ] {
            assert_eq!(encode(bits), suffix.as_bytes());
            assert_eq!(parse("prefix", &format!("prefix_{suffix}")), Some(bits));
        }
        for text in [
            "prefix_8zzzzzzzzzzzzzzzzzzzzzzzzz",
            "prefix_0000000000000000000000000",
            "prefix_0000000000000000000000000I",
            "other_00000000000000000000000000",
            "prefix00000000000000000000000000",
            "",
        ] {
            assert_eq!(parse("prefix", text), None, "{text}");
        }
    }

    #[test]
    fn ids_increase_when_the_clock_stops_and_when_it_jumps_back() {
        let ids = IdGenerator::after(0);
        let mut last = 0;
        for now in [5_000, 5_000, 5_000, 4_000, 1, 6_000, 6_000] {
            for _ in 0..1_000 {
                let next = ids.next(Millis(now));
                assert!(next > last);
                assert_eq!(next >> 76 & 0xf, 7);
                assert_eq!(next >> 62 & 0x3, 2);
                last = next;
            }
        }
        assert_eq!(last >> 80, 6_000);
    }

    #[test]
    fn ids_exceed_the_greatest_stored_id() {
        let stored = IdGenerator::after(0).next(Millis(9_000_000));
        assert!(IdGenerator::after(stored).next(Millis(1)) > stored);
    }
}
