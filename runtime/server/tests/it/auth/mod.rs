//! Who a token names, with real keys and a real key server on this machine.

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
