//! Texts of the caller in error messages.

use convoke_core::excerpt::excerpt;

/// Truncates a name or path of the caller for an error message, and ends it with `…` if it was longer.
pub(super) fn shortened(text: &str) -> String {
    match excerpt(text) {
        whole if whole.len() == text.len() => text.to_owned(),
        beginning => format!("{beginning}…"),
    }
}
