//! How the functions themselves are doing.

pub mod trend;
