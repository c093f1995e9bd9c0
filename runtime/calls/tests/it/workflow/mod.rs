//! Workflows: steps, waits, failures, compensation, changes of the code, and limits.

mod functions;

mod changes;
mod ends;
mod killed;
mod sleeping;
mod status;
mod steps;
mod waits;
mod wire;
