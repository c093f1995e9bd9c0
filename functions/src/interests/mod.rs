//! The catalog of interests and what users chose from it.

pub mod catalog;
