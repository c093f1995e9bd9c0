//! The learned part: the clues of a sentence, and the weights that tell how likely it settles something.
//!
//! In reading order: what a sentence can tell (`tellings`), its `clues`, the `weights` of clues, how likely the sentence
//! tells something (`likelihood`), and which noun phrase before it is meant (`referents`).

pub mod clues;
pub mod likelihood;
pub mod referents;
pub mod tellings;
pub mod weights;
