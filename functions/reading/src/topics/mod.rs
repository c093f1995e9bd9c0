//! The main topics of a text: its key phrases by YAKE, as far as they are noun phrases, and of those the ones that are
//! likeliest by their `features`, as the labelled meetings have taught it (`topics.tsv`).
//!
//! A noun is known by its neighbours over the whole text (an article, a preposition, an adjective before it), and in
//! German by its capital; what a language file knows as a verb, a greeting, a day or a word without a subject is none,
//! and names of the participants are none. Chinese and Japanese words are those of ICU's dictionaries.

mod candidates;
mod choice;
mod features;
mod yake;

pub use choice::{Topic, topics, with_features};
