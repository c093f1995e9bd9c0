//! Texts of the caller in error messages.

/// Returns a name or path of the caller as an error repeats it: an error is small, however large the request is.
pub(super) fn shortened(text: &str) -> String {
    const REPEATED_BYTES_MAX: usize = 200;
    match text.len() {
        0..=REPEATED_BYTES_MAX => text.to_owned(),
        _ => format!("{}…", &text[..text.floor_char_boundary(REPEATED_BYTES_MAX)]),
    }
}
