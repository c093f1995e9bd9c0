//! The Model Context Protocol (<https://modelcontextprotocol.io>): functions as tools of agents.
//!
//! This module reads messages and writes results. It runs no function: the gateway runs tools like every other call, and
//! the command line has tools of its own.

mod json_schema;
pub mod protocol;
pub mod refusal;
pub mod results;
pub mod tools;
