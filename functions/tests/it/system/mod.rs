//! The audit and the retention.

mod audit;
mod retention;
