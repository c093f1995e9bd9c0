//! Who is brought together with whom.
//!
//! The plain modules below know no context and no database: values in, values out. Reading order: names, levels, fields
//! and roles say what single words mean; text compares longer ones; candidate, score, conditions and explain judge a
//! pair; assignment chooses among all pairs.

pub mod assignment;
pub mod candidate;
pub mod conditions;
pub mod explain;
pub mod fields;
pub mod levels;
pub mod names;
pub mod organizations;
pub mod roles;
pub mod score;
pub mod text;
