//! The nodes of one database: their presence, their messages, and their shared state.

mod buckets;
pub(crate) mod follower;
mod leases;
mod presence;
mod requests;
pub(crate) mod turns;

pub(crate) use buckets::Buckets;
pub(crate) use follower::{Follower, Following, HISTORY, History};
pub(crate) use leases::Leases;
pub(crate) use presence::{Company, Presence, enter_row};
pub(crate) use requests::Requests;
pub(crate) use turns::Turns;
