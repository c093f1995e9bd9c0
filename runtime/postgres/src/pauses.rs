//! Pauses between runs of conflicting transactions.

use std::time::Duration;

/// Each pause is about twice as long as the previous one.
pub(crate) struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(Duration::from_millis(1))
    }
}

impl Pauses {
    const LONGEST: Duration = Duration::from_millis(50);

    /// Returns the next pause, between half and all of its length, so that two conflicting transactions do not meet
    /// again.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (2 * pause).min(Self::LONGEST);
        pause.mul_f64(0.5 + 0.5 * chance())
    }
}

/// Returns a random number from 0 to 1.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness all pauses are equal, which is slower but not wrong.
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}
