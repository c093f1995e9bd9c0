//! Retries of requests, and the pauses between them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use convoke_core::clock::Millis;

/// Maximum pause before the first retry. It doubles with each further retry.
const PAUSE: Duration = Duration::from_millis(500);
/// Maximum pause.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Maximum `Retry-After`. The client does not wait longer.
pub(super) const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// Returns true if a response with this status is transient.
pub(super) fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// Returns the pause before retry `attempt` (from 0): half of it is fixed and half is jitter, so that requests that
/// failed together do not retry together. `chance` lies in [0, 1).
pub(super) fn pause(attempt: u32, chance: f64) -> Duration {
    PAUSE.saturating_mul(2u32.saturating_pow(attempt)).min(PAUSE_MAX).mul_f64(0.5 + 0.5 * chance)
}

/// Parses the header `Retry-After` (RFC 9110 §10.2.3): seconds or a date. A date in the past means no wait.
pub(crate) fn retry_after(header: &str, now: Millis) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date: SystemTime = httpdate::parse_http_date(header).ok()?;
    let now = UNIX_EPOCH + Duration::from_millis(now.0.max(0).unsigned_abs());
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

/// Returns a random number in [0, 1).
pub(super) fn chance() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness, the pause is the shortest one, which is not zero.
    if getrandom::fill(&mut bytes).is_err() {
        return 0.0;
    }
    f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_are_at_least_half_of_it() {
        assert_eq!(pause(0, 0.0), Duration::from_millis(250));
        assert_eq!(pause(2, 0.0), Duration::from_secs(1));
        assert_eq!(pause(60, 0.0), PAUSE_MAX / 2);
        assert!((0..1_000).map(|_| chance()).all(|chance| (0.0..1.0).contains(&chance)));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = Millis(1_767_225_600_000);
        assert_eq!(retry_after(" 7 ", now), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Thu, 01 Jan 2026 00:00:30 GMT", now), Some(Duration::from_secs(30)));
        assert_eq!(retry_after("Wed, 31 Dec 2025 00:00:30 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("soon", now), None);
    }
}
