//! Cache admission by second use. A scan therefore neither evicts entries in use nor pays for inserting its own.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Hashes of recently used keys. Each hash has one possible slot.
#[derive(Debug)]
pub struct Admission {
    remembered_max: usize,
    /// Allocated at the first use.
    hashes: OnceLock<Box<[AtomicU32]>>,
}

impl Admission {
    /// Creates an admission filter with this number of slots.
    pub fn new(remembered_max: usize) -> Self {
        Self { remembered_max: remembered_max.max(1), hashes: OnceLock::new() }
    }

    /// Records a use. Returns true if the key was used recently.
    pub fn is_second_sight(&self, hash: u64) -> bool {
        // The low bits are the slot, and the high bits are the stored value. A newer key overwrites the slot.
        let hashes = self.hashes.get_or_init(|| (0..self.remembered_max).map(|_| AtomicU32::new(0)).collect());
        let place = usize::try_from(hash % hashes.len() as u64).unwrap_or(0);
        let mark = u32::try_from(hash >> 32).unwrap_or(0) | 1;
        let seen = &hashes[place];
        seen.load(Relaxed) == mark || {
            seen.store(mark, Relaxed);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_use_is_admitted_and_a_scan_is_not() {
        let admission = Admission::new(16 * 1_024);
        let hash = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        assert!(!admission.is_second_sight(hash(1)));
        assert!(admission.is_second_sight(hash(1)));
        let admitted = (2..200_000).filter(|n| admission.is_second_sight(hash(*n))).count();
        assert!(admitted < 10, "{admitted}");
    }
}
