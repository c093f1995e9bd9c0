//! The built-in generator of insights: deterministic, without network, from the words of the meeting only.
//!
//! `reading` analyses the words. In reading order: the result (`insights`), URLs (`links`), the texts (`summary`,
//! `recommendations`), and all together (`analysis`).

pub mod analysis;
pub mod insights;
pub mod links;
pub mod recommendations;
pub mod summary;
