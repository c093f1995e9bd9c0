//! Presence and subscriptions of connected clients.
//!
//! `leases` has the subscriptions in memory; the other modules are functions for clients.

pub mod leases;
pub mod batched_operations;
pub mod subscriptions;
