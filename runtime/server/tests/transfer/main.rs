//! Data in and out: what an archive carries, what is refused, and what a folder holds afterwards.
//!
//! A binary of its own: its tables share names, as those of an old and a new program do, and no runtime starts with such.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod damaged;
mod round_trip;
mod support;
