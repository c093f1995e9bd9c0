//! What an operator sees of a running server: the metrics, and the live calls. The log is an affair of the process: its
//! tests stand in `examples`.

mod followed;
mod metrics;
pub(crate) mod support;
