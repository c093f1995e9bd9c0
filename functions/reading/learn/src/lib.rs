//! Learns the weights of [`reading`] from its corpus of labelled meetings, and scores how well it reads them.
//!
//! In reading order: the labelled meetings ([`corpus`]), how well they are read ([`scoring`]), the logistic regression
//! ([`regression`]), features with their labels ([`table`]), and which features each meeting gives ([`training_set`]).

#![allow(missing_docs, reason = "an item is public for the tests and the program, which are its only users")]

pub mod corpus;
pub mod scoring;
pub mod regression;
pub mod table;
pub mod training_set;
