//! `mcp`: tools for a coding agent, on standard input and output.

mod docs;
mod running;
mod serve;
mod tools;

pub(super) use serve::Mcp;
