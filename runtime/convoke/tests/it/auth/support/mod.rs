//! What the tests stand on: a clock, keys that sign, a server that lists them, and an authenticator in between.

mod clock;
mod fixture;
mod key_server;
mod signer;

pub use clock::TestClock;
pub use fixture::{AUDIENCE, Fixture, ISSUER, NOW, claims, eventually, http, message, provider};
pub use key_server::{KeyServer, Reply};
pub use signer::Signer;
