//! Durations on the command line.

use std::time::Duration;

/// Parses a duration such as `90d`, `2h` or `500ms`.
///
/// # Errors
/// Another format. The message has examples.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "write a duration such as 90d, 2h, 30m or 500ms".to_owned())
}
