//! Streams of log lines, to real files and receivers.

mod functions;
mod streams;
