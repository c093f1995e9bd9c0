//! Fair sharing of readers and the writer between callers.

pub mod fair_queue;
mod flow;
pub mod latency_class;

pub use flow::Flow;
