//! What the attributes make of types and functions, seen from a crate that uses them.

mod functions;
mod objects;
mod rights;
mod tables;
mod values;

/// What a refusal says, without the place in the JSON.
fn sentence(error: serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(" at line").map_or(text.clone(), |(sentence, _)| sentence.to_owned())
}
