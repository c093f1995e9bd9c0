//! Commitments: one grammar for the words of a sentence, with the phrases of its language.
//!
//! Defines which words of a sentence are a task, its owner as far as the sentence names one, and the exceptions.
//! `action_items` handles state between sentences, such as accepted requests. In reading order: results (`heads`);
//! clauses (`clauses`) and verbs (`verbs`); addressed people (`addressing`), subjects (`subjects`), reported speech
//! (`telling`), and announcements of the speaker (`announcing`); the words of the task (`extent`), exceptions
//! (`exceptions`), and the order of all checks (`grammar`).

pub mod heads;
pub mod clauses;
mod verbs;
mod addressing;
mod subjects;
mod telling;
mod announcing;
mod extent;
mod exceptions;
pub mod grammar;
