//! The expansions of the attributes, as a crate that uses them sees them.

mod functions;
mod objects;
mod rights;
mod tables;
mod values;

/// Returns the message of an error, without the position in the JSON.
fn sentence(error: serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(" at line").map_or(text.clone(), |(sentence, _)| sentence.to_owned())
}
