//! What a meeting meant to one of its participants: summary, action items, recommendations, links.

pub mod generator;
pub mod provider;
