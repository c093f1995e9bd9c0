//! Profiles, and who may read them.

pub mod record;
pub mod queries;
