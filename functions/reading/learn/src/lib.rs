//! Learns the weights of [`reading`] from its corpus of labelled meetings, and scores the results.
//!
//! In reading order: the labelled meetings ([`corpus`]), scores ([`scoring`]), the logistic regression
//! ([`regression`]), features with their labels ([`table`]), and the features of each meeting ([`training_set`]).

#![allow(missing_docs, reason = "an item is public for the tests and the program, which are its only users")]

pub mod corpus;
pub mod scoring;
pub mod regression;
pub mod table;
pub mod training_set;
