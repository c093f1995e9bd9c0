//! What users say of themselves, and who may read it.

pub mod record;
pub mod queries;
