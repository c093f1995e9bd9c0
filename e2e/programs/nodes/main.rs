//! Several nodes on one database: real processes of `ledger`, on the PostgreSQL server that `e2e/postgres.sh` starts.

#![allow(clippy::disallowed_methods, reason = "real processes take real time")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod failover;
mod faults;
mod keys;
mod leases;
mod node;
mod operator;
mod rates;
mod releases;
mod tokens;
mod transfer;
mod turns;
mod workflows;
