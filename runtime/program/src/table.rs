//! Output for people: aligned columns, readable times.

use std::time::{Duration, UNIX_EPOCH};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::failure::Failure;
use super::operator_log::visible;
use super::output;

/// Formats rows as lines. Each column is as wide as its widest cell, except the last one. Control characters of a cell are
/// escaped: clients choose some of the texts, and must not control the terminal of the operator.
pub(crate) fn aligned<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().map(|row| row.map(|cell| visible(&cell).into_owned())).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(|column| if column + 1 < N { width(column) } else { 0 });
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Formats milliseconds since the epoch as `2026-03-01T12:00:00Z`.
pub(crate) fn time(millis: i64) -> String {
    /// End of the year 9999, the last year of the format.
    const MILLIS_MAX: u64 = 253_402_300_799_999;
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or(0).min(MILLIS_MAX));
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// Prints the result of a command. A closed pipe (`| head`) is not a failure.
///
/// # Errors
/// The error of the system, such as a full disk.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    output::line(text).map(drop)
}

/// Encodes a text as a part of a path or of a query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_no_line_ends_in_spaces() {
        let rows = [["A", "BB", "C"], ["aaa", "b", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(rows), "A    BB  C\naaa  b");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let rows = [["https://example.com/\x1b[31m\nFAKE", "x"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(rows), "https://example.com/\\u001b[31m\\nFAKE  x");
    }

    #[test]
    fn time_is_in_utc() {
        assert_eq!(time(1_700_000_000_999), "2023-11-14T22:13:20Z");
        assert_eq!(time(i64::MAX), "9999-12-31T23:59:59Z");
    }
}
