//! The limit of response bytes in memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::RwLock;

/// The bytes of all responses that are being produced or that clients have not read yet.
///
/// The code that produces a response holds a reader or the writer and must not wait. So a charge beyond the limit
/// succeeds immediately and closes the slowest connections. Their bytes are freed a moment later; until then, the total
/// may exceed the limit by at most half of it.
pub struct Budget {
    bytes_max: usize,
    bytes: AtomicUsize,
    reliefs: RwLock<Vec<Weak<dyn Relief>>>,
}

/// A holder of response bytes that can free them.
pub trait Relief: Send + Sync {
    /// Closes the slowest clients until at least `bytes` are being freed. Returns the number of bytes that are being
    /// freed, including those of earlier calls.
    fn relieve(&self, bytes: usize) -> usize;
}

/// The error of a charge for which there is no memory and no slow client to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the memory for responses is exhausted")]
pub struct Exhausted;

impl Budget {
    /// Creates a budget of `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { bytes_max, bytes: AtomicUsize::new(0), reliefs: RwLock::default() })
    }

    /// Registers a holder that frees bytes when the budget is exhausted, until the holder is dropped.
    pub fn relieved_by(&self, relief: Weak<dyn Relief>) {
        let mut reliefs = self.reliefs.write();
        reliefs.retain(|relief| relief.strong_count() > 0);
        reliefs.push(relief);
    }

    /// The charged bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Charges so many bytes before they are produced.
    ///
    /// # Errors
    /// [`Exhausted`].
    pub fn charge(self: &Arc<Self>, bytes: usize) -> Result<Charge, Exhausted> {
        let (charge, is_within) = self.take(bytes);
        if is_within { Ok(charge) } else { Err(Exhausted) }
    }

    /// Charges bytes that exist already. It also closes slow clients, but never fails.
    pub fn charge_made(self: &Arc<Self>, bytes: usize) -> Charge {
        self.take(bytes).0
    }

    fn take(self: &Arc<Self>, bytes: usize) -> (Charge, bool) {
        let now = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let charge = Charge { budget: Arc::clone(self), bytes };
        let over = now.saturating_sub(self.bytes_max);
        (charge, over == 0 || self.relieve(over) && over <= self.bytes_max / 2)
    }

    /// Returns true if at least `over` bytes are being freed.
    fn relieve(&self, over: usize) -> bool {
        let mut leaving = 0;
        for relief in self.reliefs.read().iter().filter_map(Weak::upgrade) {
            if leaving < over {
                leaving += relief.relieve(over - leaving);
            }
        }
        leaving >= over
    }
}

/// Charged bytes of a [`Budget`], released on drop.
pub struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Charge {
    /// The number of charged bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases all but `bytes` of them.
    pub fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.bytes.saturating_sub(bytes);
        self.bytes -= surplus;
        self.budget.bytes.fetch_sub(surplus, Ordering::Relaxed);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

impl std::fmt::Debug for Charge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// A holder that frees its bytes only some time after the request.
    struct SlowHolder {
        held: usize,
        is_leaving: AtomicBool,
    }

    impl Relief for SlowHolder {
        fn relieve(&self, _bytes: usize) -> usize {
            self.is_leaving.store(true, Ordering::Relaxed);
            self.held
        }
    }

    #[test]
    fn charge_beyond_the_limit_frees_bytes_of_slow_holders_only() {
        let budget = Budget::new(100);
        let held = budget.charge(90).unwrap();
        assert_eq!(budget.charge(20).err(), Some(Exhausted), "no holder is slow");
        assert_eq!(budget.bytes(), 90, "a failed charge is not counted");

        let slow = Arc::new(SlowHolder { held: 90, is_leaving: AtomicBool::new(false) });
        let relief: Weak<dyn Relief> = Arc::<SlowHolder>::downgrade(&slow);
        budget.relieved_by(relief);
        assert!(
            budget.charge(10).is_ok() && !slow.is_leaving.load(Ordering::Relaxed),
            "the charge is within the limit"
        );
        let mine = budget.charge(20).unwrap();
        assert!(slow.is_leaving.load(Ordering::Relaxed));
        assert_eq!(budget.bytes(), 110, "the bytes are freed later");
        assert_eq!(budget.charge(41).err(), Some(Exhausted), "the excess is more than half of the limit");
        drop(held);
        assert_eq!(budget.bytes(), 20);
        drop((mine, slow));
        assert_eq!(budget.charge(101).err(), Some(Exhausted));
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn existing_bytes_are_charged_even_beyond_the_limit() {
        let budget = Budget::new(100);
        let mut made = budget.charge_made(150);
        assert_eq!(budget.charge(1).err(), Some(Exhausted));
        made.shrink_to(99);
        assert!(budget.charge(1).is_ok());
    }
}
