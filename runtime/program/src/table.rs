//! Output for people: aligned columns, readable times.

use std::time::{Duration, UNIX_EPOCH};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::failure::Failure;
use super::operator_log::visible;
use super::output;

/// Formats rows with the same number of cells as lines. Each column is as wide as its widest cell. Control characters of
/// a cell are escaped: clients choose some of the texts, and must not control the terminal of the operator.
pub(crate) fn aligned(rows: impl IntoIterator<Item = impl AsRef<[String]>>) -> String {
    let escaped = |row: &[String]| row.iter().map(|cell| visible(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| escaped(row.as_ref())).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
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

/// Prints a value as JSON for programs.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&serde_json::to_string_pretty(value)?)
}

/// Prints rows under the names of their columns.
pub(crate) fn print_rows<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> Result<(), Failure> {
    print(&aligned(std::iter::once(head.map(str::to_owned)).chain(rows)))
}

/// Returns the cell of a value that may be missing.
pub(crate) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
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
