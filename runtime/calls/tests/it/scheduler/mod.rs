//! Scheduled work: with a clock that stands still, in a server's loop, and through the death of a process.

mod functions;

mod actions;
mod clock;
mod crons;
mod harness;
mod keys;
mod killed;
mod mutations;
mod operator;
mod server;
