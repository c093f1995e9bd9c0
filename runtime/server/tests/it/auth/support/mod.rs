//! Shared parts of the tests: a clock, signing keys, a server that lists them, and an authenticator.

mod clock;
mod fixture;
mod key_server;
mod signer;

pub(super) use clock::TestClock;
pub(super) use fixture::{AUDIENCE, Fixture, ISSUER, NOW, claims, eventually, http, message, provider};
pub(super) use key_server::{KeyServer, Reply};
pub(super) use signer::Signer;
