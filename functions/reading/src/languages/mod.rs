//! Words and phrases of the languages.
//!
//! Each language has two files here: a `.toml` with its phrases, whose form `phrases` describes, and a `.tsv` with the
//! meanings of its words, whose form `senses` describes, and which `packing` packs for the program. In reading order: the `classes` of a word, a `token` of a
//! sentence, the `meanings` of phrases, gender and number (`agreement`), times (`dates`), sentence frames (`frames`), the meanings of words (`senses`),
//! and the files (`phrases`).

pub mod agreement;
pub mod classes;
pub mod dates;
pub mod frames;
pub mod meanings;
#[cfg(test)]
mod packing;
pub mod phrases;
pub mod senses;
pub mod token;
