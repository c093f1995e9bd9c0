//! The operator's door: `/api/admin/*`, over HTTP with a deploy key, through the control socket, or in process.
//!
//! A subject has a module with its handlers; which route leads to which of them, and what scope it needs, stands in the
//! table of all routes ([`crate::routes`]) and nowhere else. What a handler gets is a request whose caller was let in; what it returns is a value in
//! an envelope, or a stream. Who the caller is, and the record of every use of a key, are the gateway's affair.

mod as_kept;
pub mod audit;
pub mod backup;
mod conditions;
pub mod doctor;
pub mod export;
pub mod functions;
mod installation;
pub mod jobs;
pub mod key_uses;
pub mod keys;
pub mod live;
pub mod logs;
pub mod node;
pub mod operator;
pub mod overview;
pub mod performance;
mod reply;
pub mod request;
pub mod rows;
pub mod schema;
pub mod secrets;
pub mod settings;
pub mod tables;

pub use installation::Admin;
pub use reply::{success, success_once};
pub use request::AdminRequest;
