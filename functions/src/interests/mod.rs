//! The catalog of interests and the interests of users.

pub mod catalog;
pub mod seed;
pub mod resolve;
pub mod chosen;
pub mod queries;
pub mod mutations;
pub mod migrations;
