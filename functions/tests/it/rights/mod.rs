//! Who may call what, and with whose ids: the access table of the whole application.
//!
//! [`rows`] says what every kind of caller is answered by every function, [`access`] asks. What a function does for
//! those it lets in stands with the tests of its own module.

mod access;
mod fixture;
mod foreign;
mod manifest;
mod rows;
