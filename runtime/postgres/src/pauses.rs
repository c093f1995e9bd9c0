//! The pauses between two runs of what was in conflict with others.

use std::time::Duration;

/// Each is about twice as long as the one before.
pub(crate) struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(Duration::from_millis(1))
    }
}

impl Pauses {
    const LONGEST: Duration = Duration::from_millis(50);

    /// The next one: between half of it and the whole, so that two that met do not meet again.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (2 * pause).min(Self::LONGEST);
        pause.mul_f64(0.5 + 0.5 * chance())
    }
}

/// Some number from 0 to 1.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness the pauses are all alike, which is slower and not wrong.
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}
