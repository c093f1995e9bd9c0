//! The timestamp of a signature, which limits how long a recorded request can be sent again.

use super::rejected::Rejected;

/// Largest accepted difference between a timestamp and the time of the receiver, in seconds, in both directions.
pub const TOLERANCE_S: u64 = 5 * 60;

/// Checks a timestamp in seconds since 1970, as text.
///
/// # Errors
/// It is not a number, or too far from `now_s`.
pub(super) fn check(text: &str, header: &'static str, now_s: u64) -> Result<(), Rejected> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let at = is_number.then(|| text.parse::<u64>().ok()).flatten().ok_or(Rejected::Malformed(header))?;
    if at.abs_diff(now_s) <= TOLERANCE_S { Ok(()) } else { Err(Rejected::Timestamp) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_is_accepted_up_to_five_minutes_away() {
        for (at, expected) in [
            ("700", Ok(())),
            ("1300", Ok(())),
            ("699", Err(Rejected::Timestamp)),
            ("1301", Err(Rejected::Timestamp)),
            ("18446744073709551615", Err(Rejected::Timestamp)),
            ("18446744073709551616", Err(Rejected::Malformed("t"))),
            ("+1000", Err(Rejected::Malformed("t"))),
            ("", Err(Rejected::Malformed("t"))),
        ] {
            assert_eq!(check(at, "t", 1000), expected, "{at}");
        }
    }
}
