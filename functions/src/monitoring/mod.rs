//! Performance data of the functions.

pub mod trend;
pub mod performance_queries;
