//! The built-in generator of insights: deterministic, without a network, from the meeting's own words only.
//!
//! What is found in the words is `reading`'s. In reading order: what goes out (`insights`), the addresses that stand in
//! the meeting (`links`), what is said about it (`summary`, `recommendations`), and the whole (`analysis`).

pub mod analysis;
pub mod insights;
pub mod links;
pub mod recommendations;
pub mod summary;
