//! The handlers of `/api/admin/*`: over HTTP with a deploy key, over the control socket, or in process.
//!
//! Each subject has a module with its handlers. The table of all routes ([`crate::routes`]) assigns handlers and scopes
//! to routes. A handler receives an authorized request and returns a value in an envelope, or a stream. The gateway
//! authenticates the caller and records every use of a key.

mod as_kept;
pub mod audit;
pub mod backup;
mod conditions;
pub mod doctor;
pub mod export;
pub mod files;
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
pub mod promote;
mod reply;
pub mod request;
pub mod rows;
pub mod schema;
pub mod secrets;
pub mod settings;
pub mod tables;
pub mod webhooks;
pub mod workflows;

pub use installation::Admin;
pub use reply::{success, success_once};
pub use request::AdminRequest;
