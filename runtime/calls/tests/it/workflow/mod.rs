//! Workflows: steps, waits, failures, compensation, changes of the code, and limits.

mod functions;

mod borders;
mod changes;
mod ends;
mod in_a_row;
mod killed;
mod sleeping;
mod status;
mod steps;
mod waits;
mod wire;
