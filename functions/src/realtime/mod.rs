//! What clients call while they are there: presence, and the subscriptions by which they follow things.
//!
//! `leases` keeps the subscriptions in memory; the rest is what clients call.

pub mod leases;
pub mod batched_operations;
pub mod subscriptions;
