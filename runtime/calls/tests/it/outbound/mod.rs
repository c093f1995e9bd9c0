//! The HTTP client and the secrets of actions, against a server of the test's own.

mod client;
mod functions;
mod script;
