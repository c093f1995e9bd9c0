//! Who takes on what: one grammar over the words of a sentence, with the phrases of its language.
//!
//! Owns what of a sentence is a task, whose it is as far as the sentence says, and which sentences only look like one. What
//! goes from one sentence to the next (requests that are accepted, work that is passed on) is `action_items`'. In reading
//! order: what is found (`heads`); a sentence as clauses (`clauses`) and its verbs (`verbs`); who is asked (`addressing`), who
//! does something (`subjects`), whose words are told (`telling`), and what the speaker announces (`announcing`); which words
//! are the task (`extent`), what is none (`exceptions`), and all of it in order (`grammar`).

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
