//! How many bytes of answers may be in memory at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::RwLock;

/// The bytes of all answers that are being made, or were made and are not taken yet.
///
/// Whoever makes an answer holds a reader or the writer and must not wait. So bytes beyond the bound are had at once:
/// the slowest of those who hold some lose their connections. What they hold goes a moment later, and only for that
/// moment there may be more bytes than the bound, by half of it at most.
pub struct Budget {
    bytes_max: usize,
    bytes: AtomicUsize,
    reliefs: RwLock<Vec<Weak<dyn Relief>>>,
}

/// Who holds bytes for clients, and can let go of them.
pub trait Relief: Send + Sync {
    /// Has the slowest clients let go, until `bytes` are on their way out. How many are, those included that were
    /// before.
    fn relieve(&self, bytes: usize) -> usize;
}

/// There is no room for an answer, and nobody whose slowness could be blamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("answers take all of the memory that is theirs")]
pub struct Exhausted;

impl Budget {
    /// Room for so many bytes.
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { bytes_max, bytes: AtomicUsize::new(0), reliefs: RwLock::default() })
    }

    /// Asks `relief` too when there is no room, for as long as it lives.
    pub fn relieved_by(&self, relief: Weak<dyn Relief>) {
        let mut reliefs = self.reliefs.write();
        reliefs.retain(|relief| relief.strong_count() > 0);
        reliefs.push(relief);
    }

    /// Bytes now.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes so many bytes, before they are made.
    ///
    /// # Errors
    /// [`Exhausted`].
    pub fn charge(self: &Arc<Self>, bytes: usize) -> Result<Charge, Exhausted> {
        let (charge, has_room) = self.take(bytes);
        if has_room { Ok(charge) } else { Err(Exhausted) }
    }

    /// Counts bytes that are there already. Room is made for them too; they stay where there is none.
    pub fn charge_made(self: &Arc<Self>, bytes: usize) -> Charge {
        self.take(bytes).0
    }

    fn take(self: &Arc<Self>, bytes: usize) -> (Charge, bool) {
        let now = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let charge = Charge { budget: Arc::clone(self), bytes };
        let over = now.saturating_sub(self.bytes_max);
        (charge, over == 0 || self.relieve(over) && over <= self.bytes_max / 2)
    }

    /// Whether that many bytes are on their way out.
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

/// Bytes of a [`Budget`], given back when this is dropped.
pub struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Charge {
    /// How many.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives back all but `bytes` of them.
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

    /// Holds bytes until it is asked to let go, and lets go of them only later.
    struct Slow {
        held: usize,
        is_leaving: AtomicBool,
    }

    impl Relief for Slow {
        fn relieve(&self, _bytes: usize) -> usize {
            self.is_leaving.store(true, Ordering::Relaxed);
            self.held
        }
    }

    #[test]
    fn bytes_beyond_the_bound_are_had_from_the_slowest_and_from_nobody_else() {
        let budget = Budget::new(100);
        let held = budget.charge(90).unwrap();
        assert_eq!(budget.charge(20).err(), Some(Exhausted), "nobody is slow");
        assert_eq!(budget.bytes(), 90, "what is not had is not counted");

        let slow = Arc::new(Slow { held: 90, is_leaving: AtomicBool::new(false) });
        let relief: Weak<dyn Relief> = Arc::<Slow>::downgrade(&slow);
        budget.relieved_by(relief);
        assert!(budget.charge(10).is_ok() && !slow.is_leaving.load(Ordering::Relaxed), "there is room");
        let mine = budget.charge(20).unwrap();
        assert!(slow.is_leaving.load(Ordering::Relaxed));
        assert_eq!(budget.bytes(), 110, "they leave a moment later");
        assert_eq!(budget.charge(41).err(), Some(Exhausted), "but this is too much, even for a moment");
        drop(held);
        assert_eq!(budget.bytes(), 20);
        drop((mine, slow));
        assert_eq!(budget.charge(101).err(), Some(Exhausted));
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn what_was_made_is_counted_even_beyond_the_bound() {
        let budget = Budget::new(100);
        let mut made = budget.charge_made(150);
        assert_eq!(budget.charge(1).err(), Some(Exhausted));
        made.shrink_to(99);
        assert!(budget.charge(1).is_ok());
    }
}
