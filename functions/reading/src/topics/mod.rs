//! The main topics of a text: the key phrases by YAKE that are noun phrases, and among them the likeliest by their
//! `features` and the learned weights (`topics.tsv`).
//!
//! Nouns are recognized by the preceding words over the whole text (an article, a preposition, an adjective), and in
//! German by their capital. Verbs, greetings, days and words without content in a language file are excluded, and so
//! are names of participants. ICU's dictionaries divide Chinese and Japanese words.

mod candidates;
mod choice;
mod features;
mod yake;

pub use choice::{Topic, topics, with_features};
