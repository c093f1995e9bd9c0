//! Names of files.

use convoke::value;

/// The name of a file, trimmed, 1 … 200 characters.
///
/// ```json
/// "plan.pdf"
/// ```
#[value(text, trim, min = 1, max = 200, too_short = "File name cannot be empty")]
pub struct FileName(String);
