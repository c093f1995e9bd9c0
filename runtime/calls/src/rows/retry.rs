//! Retries of an action: how often, and with which pauses. Repetitions of a write.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use convoke_macros::value;

use convoke_core::clock::Millis;
use convoke_core::error::{Code, Result};

/// The retries of an action. Each pause is twice as long as the one before, up to a maximum, plus up to a quarter of
/// jitter.
///
/// A retry follows `UNAVAILABLE`, `TIMEOUT`, `PROVIDER_ERROR` and `OVERLOADED`, and an interruption by a restart. Any
/// other error ends the job.
#[value(name = "JobRetry")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Maximum number of attempts.
    pub(crate) tries: u32,
    /// First pause.
    pub(crate) from: Millis,
    /// Maximum pause.
    pub(crate) up_to: Millis,
    /// Growth of each pause.
    #[default(2)]
    pub(crate) factor: u32,
}

/// The pauses of jobs without retries of their own.
pub(crate) const BACKOFF: Retry = Retry { tries: 1, from: Millis(1_000), up_to: Millis(3_600_000), factor: 4 };

impl Retry {
    /// Returns retries with at most `tries` attempts (0 counts as 1), a first pause of one second, and pauses up to an
    /// hour.
    pub const fn exponential(tries: u32) -> Self {
        Self { tries: if tries == 0 { 1 } else { tries }, factor: 2, ..BACKOFF }
    }

    /// Sets the first pause.
    #[must_use]
    pub fn from(self, pause: Duration) -> Self {
        Self { from: Millis(0) + pause, ..self }
    }

    /// Sets the maximum pause.
    #[must_use]
    pub fn up_to(self, pause: Duration) -> Self {
        Self { up_to: Millis(0) + pause, ..self }
    }

    /// Returns true if an error with this code is retried.
    pub(crate) fn applies_to(code: Code) -> bool {
        matches!(code, Code::Unavailable | Code::Timeout | Code::ProviderError | Code::Overloaded)
    }

    /// Returns the pause after a number of failed attempts. The jitter keeps jobs that failed together from retrying
    /// together. It depends on the bits of the job's id only, so it is the same on each call.
    pub(crate) fn pause(&self, id: u128, attempts: u32) -> Duration {
        let [from, up_to] = [self.from, self.up_to].map(|pause| pause.since(Millis(0)));
        let plain = from.saturating_mul(self.factor.saturating_pow(attempts.saturating_sub(1))).min(up_to);
        let mut hasher = DefaultHasher::new();
        (id, attempts).hash(&mut hasher);
        plain + plain.mul_f64(f64::from(u16::try_from(hasher.finish() % 1_000).unwrap_or(0)) / 4_000.0)
    }
}

/// First and longest pause before a write is repeated.
const WRITE_PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Repeats a write until it succeeds. `warn` logs the cause of each failure.
pub(crate) async fn until_written<R, F: Future<Output = Result<R>>>(write: impl Fn() -> F, warn: impl Fn(&str)) -> R {
    let mut pause = WRITE_PAUSES.0;
    loop {
        match write().await {
            Ok(written) => return written,
            Err(error) => warn(&error.chain()),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(WRITE_PAUSES.1);
    }
}

/// As [`Retry::exponential`].
impl From<u32> for Retry {
    fn from(tries: u32) -> Self {
        Self::exponential(tries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_pauses(retry: &Retry, pauses: &[(u32, u64)]) {
        for id in 0..50u128 {
            for (attempts, plain) in pauses {
                let pause = retry.pause(id, *attempts);
                let plain = Duration::from_secs(*plain);
                assert!(pause >= plain && pause < plain + plain / 4, "{attempts}: {pause:?}");
                assert_eq!(pause, retry.pause(id, *attempts));
            }
        }
    }

    #[test]
    fn default_pauses_grow_fourfold_to_an_hour_with_up_to_a_quarter_of_jitter() {
        assert_pauses(&BACKOFF, &[(1, 1), (2, 4), (3, 16), (4, 64), (7, 3_600), (40, 3_600)]);
        let pauses: std::collections::HashSet<_> = (0..50u128).map(|id| BACKOFF.pause(id, 3)).collect();
        assert!(pauses.len() > 40);
    }

    #[test]
    fn exponential_pauses_double_up_to_their_maximum() {
        let retry = Retry::exponential(5).from(Duration::from_secs(2)).up_to(Duration::from_secs(10));
        assert_pauses(&retry, &[(1, 2), (2, 4), (3, 8), (4, 10), (60, 10)]);
        assert_eq!((Retry::exponential(0).tries, Retry::exponential(5).tries), (1, 5));
    }
}
