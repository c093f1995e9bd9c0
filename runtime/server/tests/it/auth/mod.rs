//! Identities of tokens, with real keys and a real local key server.

mod support;

mod accepted;
mod confusion;
mod deploy_keys;
mod development;
mod flood;
mod outage;
mod refused;
mod rotation;
mod sources;
