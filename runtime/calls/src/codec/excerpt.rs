//! Texts of the caller in error messages.

/// Truncates a name or path of the caller for an error message: an error stays small for any request.
pub(super) fn shortened(text: &str) -> String {
    const REPEATED_BYTES_MAX: usize = 200;
    match text.len() {
        0..=REPEATED_BYTES_MAX => text.to_owned(),
        _ => format!("{}…", &text[..text.floor_char_boundary(REPEATED_BYTES_MAX)]),
    }
}
