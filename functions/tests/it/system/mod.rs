//! The audit log and the retention.

mod audit;
mod retention;
