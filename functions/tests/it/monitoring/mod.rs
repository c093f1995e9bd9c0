//! Performance data of functions and subscriptions.

mod breakdown;
mod subscriptions;
mod trends;
