//! The transcript as text: from chunks to turns, sentences, tokens and noun phrases, and lines for display.

pub mod addresses;
pub mod language;
pub mod lines;
pub mod noun_phrases;
pub mod sentences;
pub mod tokens;
pub mod turns;
