//! Who may call what, and with whose ids: the access table of the whole application.
//!
//! [`rows`] says what every kind of caller is answered by every function, [`access`] asks, and [`live`] asks those that can
//! be watched. What a function does for
//! those it lets in stands with the tests of its own module.

mod access;
mod examples;
mod fixture;
mod foreign;
mod live;
mod manifest;
mod rows;
