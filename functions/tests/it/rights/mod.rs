//! Who may call what, and with whose ids: the access table of the whole application.
//!
//! The table follows from what the functions declare: [`rows`] says what each right means, [`calls`] with which arguments a
//! function is called, [`access`] asks every cell, and [`live`] asks those that can be watched. A new function needs no line
//! here; what it does for those it lets in, and a call that its example cannot make, stand with the tests of its module.

mod access;
mod calls;
mod examples;
mod fixture;
mod foreign;
mod live;
mod manifest;
mod rows;

pub(crate) use calls::Call;
pub(crate) use fixture::{Ids, offline};
