//! The learned classifiers: features of sentences, and the weights that give the likelihood of each dialogue act.
//!
//! In reading order: dialogue acts and the matches of the rules (`acts`), features as text (`feature_sink`), the features of
//! a sentence (`features`), the `weights` of features and their `packing`, the likelihood of each act (`likelihood`), and the
//! earlier noun phrases that a sentence refers to (`referents`).

pub mod acts;
pub(crate) mod feature_sink;
pub mod features;
mod packing;
pub mod weights;
pub mod likelihood;
pub mod referents;
