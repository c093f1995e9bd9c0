//! How the functions themselves are doing.

pub mod trend;
pub mod performance_queries;
