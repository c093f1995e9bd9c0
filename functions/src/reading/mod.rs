//! What a meeting's words say: sentences, languages, topics, tasks, decisions, questions, and who is meant.
//!
//! Pure functions without a context, which all that tells something of a meeting uses. In reading order: what goes in
//! (`material`); words (`classes`, `token`) and the `meanings` of phrases; the words and phrases of the languages
//! (`phrases`, from files that a native reader can correct), how they tell times (`dates`), what is written in them
//! (`frames`), and what words mean (`senses`); how a transcript is cut (`turns`, `addresses`, `language`, `text`, `tokens`,
//! `noun_phrases`) and shown (`lines`); what is found in it (`people`, `commitments`, what a sentence can tell (`tellings`)
//! and how likely it does (`likelihood`) by its `clues`, the `referents` of what it is about and the `topics`, all by
//! learned `weights`, `action_items`, `decisions`, `questions`, `ranking`), and all of it at once (`findings`).

pub mod action_items;
pub mod addresses;
pub mod classes;
pub mod clues;
pub mod commitments;
pub mod dates;
pub mod decisions;
pub mod findings;
pub mod frames;
pub mod language;
pub mod likelihood;
pub mod lines;
pub mod material;
pub mod meanings;
pub mod noun_phrases;
pub mod people;
pub mod phrases;
pub mod questions;
pub mod ranking;
pub mod referents;
pub mod senses;
pub mod tellings;
pub mod text;
pub mod token;
pub mod tokens;
pub mod topics;
pub mod turns;
pub mod weights;
