//! Learns the weights of [`reading`] from its corpus of labelled meetings, and scores how well it reads them.
//!
//! In reading order: the labelled meetings ([`corpus`]), how well they are read ([`scoring`]), the logistic regression
//! ([`regression`]), clues with their labels ([`table`]), and which clues each meeting gives ([`lessons`]).

#![allow(missing_docs, reason = "an item is public for the tests and the program, which are its only users")]

pub mod corpus;
pub mod scoring;
pub mod regression;
pub mod table;
pub mod lessons;
