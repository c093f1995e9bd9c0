//! The figures of calls: what is counted, and that nothing is lost or doubled on its way through time and restarts.

mod functions;

mod ages;
mod counts;
