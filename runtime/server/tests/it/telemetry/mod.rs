//! Traces, logs and metrics, as a collector on a real socket receives them.

mod collector;
mod functions;
mod losses;
mod traces;
