//! What was asked for lately: something is kept from the second time on, so that a scan over everything neither sweeps out
//! what is asked for often, nor pays for being kept.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The hashes of what was asked for lately, each in the one place that it has.
#[derive(Debug)]
pub struct Admission {
    remembered_max: usize,
    /// Made when something is asked for: a server that nobody calls has no need of it.
    hashes: OnceLock<Box<[AtomicU32]>>,
}

impl Admission {
    /// Remembers at most so many.
    pub fn new(remembered_max: usize) -> Self {
        Self { remembered_max: remembered_max.max(1), hashes: OnceLock::new() }
    }

    /// Notes that this was asked for; says whether it was lately.
    pub fn is_second_sight(&self, hash: u64) -> bool {
        // The low bits say where, the high ones what. Another one in the same place takes it over.
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
    fn what_is_asked_again_is_admitted_and_a_scan_is_not() {
        let admission = Admission::new(16 * 1_024);
        let hash = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        assert!(!admission.is_second_sight(hash(1)));
        assert!(admission.is_second_sight(hash(1)));
        let admitted = (2..200_000).filter(|n| admission.is_second_sight(hash(*n))).count();
        assert!(admitted < 10, "{admitted}");
    }
}
