//! Signatures of webhooks: [Standard Webhooks](https://www.standardwebhooks.com), Stripe, GitHub, and a bare HMAC.
//!
//! Each scheme is a file with pure functions over the header values and the bytes of the body. All schemes use
//! HMAC-SHA256 and compare in constant time. Several keys are accepted while a secret is replaced.

pub mod github;
pub mod hmac_sha256;
mod key;
mod rejected;
pub mod standard_webhooks;
pub mod stripe;
mod timestamp;

pub use key::{Key, KeyError};
pub use rejected::Rejected;
pub use timestamp::TOLERANCE_S;
