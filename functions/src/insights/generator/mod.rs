//! The built-in generator of insights: deterministic, without a network, from the meeting's own words only.
//!
//! In reading order: what goes in and out (`material`, `insights`), how text is cut (`language`, `text`, `links`),
//! what is found in it (`topics`, `ranking`, `commitments`, `action_items`, `decisions`, `questions`), what is said
//! about it (`summary`, `recommendations`), and the whole (`analysis`).

pub mod action_items;
pub mod analysis;
pub mod commitments;
pub mod decisions;
pub mod insights;
pub mod language;
pub mod links;
pub mod material;
pub mod questions;
pub mod ranking;
pub mod recommendations;
pub mod summary;
pub mod text;
pub mod topics;
