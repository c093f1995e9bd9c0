//! Presence in bursts, and subscriptions.

mod presence;
mod subscriptions;
