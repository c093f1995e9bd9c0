//! Scheduled work: with a test clock, in the loop of a server, and across a killed process.

mod functions;

mod actions;
mod clock;
mod crons;
mod harness;
mod keys;
mod killed;
mod mutations;
mod operator;
mod queues;
mod server;
