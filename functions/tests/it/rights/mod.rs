//! The access table of the whole application: callers, functions, and ids of other users.
//!
//! The table follows from the declared rights: [`rows`] defines the meaning of each right, [`calls`] the arguments of
//! each function, [`access`] checks every cell, and [`live`] the cells of queries. A new function needs no line here.
//! Its other tests, and calls that its example cannot make, are with the tests of its module.

mod access;
mod calls;
mod examples;
mod fixture;
mod foreign;
mod live;
mod manifest;
mod rows;
mod tools;

pub(crate) use calls::Call;
pub(crate) use fixture::{Ids, offline};
