//! The learned part: the clues of a sentence, and the weights that tell how likely it settles something.
//!
//! In reading order: what a sentence can tell (`tellings`), clues in words (`teller`), those of a sentence (`clues`), the
//! `weights` of clues and their `packing`, how likely a sentence tells something (`likelihood`), and which noun phrase before
//! it is meant (`referents`).

pub mod tellings;
pub(crate) mod teller;
pub mod clues;
mod packing;
pub mod weights;
pub mod likelihood;
pub mod referents;
