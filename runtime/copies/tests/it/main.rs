//! Copies of a real database in a folder: restored moments, killed processes, and places that fail.

#![allow(clippy::disallowed_methods, reason = "real processes take real time")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod contents;
mod follower;
mod killed;
mod moments;
mod place;
mod support;
mod take_over;
