//! Reasons why a text is not an address, for people.

use std::fmt::Display;

/// Returns the reason of an error of the parser of addresses.
pub(crate) fn reason(error: impl Display) -> String {
    match error.to_string().as_str() {
        "relative URL without a base" => "it does not begin with https:// or http://".to_owned(),
        reason => reason.to_owned(),
    }
}
