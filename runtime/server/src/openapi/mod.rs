//! The interface described by itself: the OpenAPI document of a program's functions, and the pages that show it.
//!
//! Everything in it comes from the registry (paths, kinds, docs, types) and from what the application says of itself
//! ([`About`]). How a call is answered is described, not decided, here: that is `http`'s, `gateway`'s and `call`'s.

pub mod document;
pub mod pages;
mod common;
mod errors;
mod examples;
mod fit;
mod operation;
mod prose;
mod schemas;
mod server;

pub use convoke_calls::interface::{About, Tag};
pub use document::{Document, Options};
