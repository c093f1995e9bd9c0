//! Webhooks that the server sends, against receivers of the test's own.

mod addresses;
mod delivery;
mod functions;
mod lanes;
pub(crate) mod receiver;
