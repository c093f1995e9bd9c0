//! Reads the transcript of a meeting: sentences, languages, topics, tasks, decisions, questions, and the people it names.
//!
//! Every function is pure: it takes a [`material::Material`] and returns values. In reading order:
//!
//! - [`material`]: the input, chunks of a transcript with their speakers, and the notes.
//! - [`languages`]: words and phrases of each language, from files that a native reader can correct.
//! - [`text`]: turns, sentences, tokens, noun phrases, and lines for display.
//! - [`people`]: names of participants and of others.
//! - [`commitments`]: the tasks that the words of one sentence announce.
//! - [`model`]: features of a sentence, and the learned weights that tell what it settles.
//! - [`action_items`], [`decisions`], [`questions`], [`topics`], [`ranking`]: the results, each from all sentences.
//! - [`findings`]: all results of one meeting.
//!
//! The labelled meetings from which the weights are learned lie in `corpus/`; the crate in `learn/` learns from them.

#![allow(missing_docs, reason = "an item is public for the application and the learner, which are its only users")]

pub mod material;
pub mod languages;
pub mod text;
pub mod people;
pub mod commitments;
pub mod model;
pub mod action_items;
pub mod decisions;
pub mod questions;
pub mod topics;
pub mod ranking;
pub mod findings;
