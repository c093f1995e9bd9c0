//! The operator's door: `/api/admin/*`, over HTTP with a deploy key, through the control socket, or in process.
//!
//! A subject has a module with its handlers; which route leads to which of them, and what scope it needs, stands in
//! `routes` and nowhere else. What a handler gets is a request whose caller was let in; what it returns is a value in
//! an envelope, or a stream. Who the caller is, and the record of every use of a key, are the gateway's affair.

pub mod audit;
pub mod backup;
pub mod doctor;
pub mod export;
pub mod functions;
pub mod jobs;
pub mod keys;
pub mod logs;
pub mod operator;
pub mod request;
pub mod routes;
pub mod schema;
pub mod tables;

pub use request::AdminRequest;

use serde::Serialize;

use crate::auth::Environment;
use crate::call::envelope;
use crate::error::{Error, Result};
use crate::http::Reply;
use crate::runtime::Runtime;

/// What every handler works on. Cheap to clone.
#[derive(Clone)]
pub struct Admin {
    /// The runtime.
    pub runtime: Runtime,
    /// Which deployment this is.
    pub environment: Environment,
}

/// A success with this value, in the envelope of every `/api/*` body.
///
/// # Errors
/// `INTERNAL` for a value that is no JSON.
pub fn success(value: &impl Serialize) -> Result<Reply> {
    let value = serde_json::to_vec(value).map_err(Error::internal)?;
    Ok(Reply::json(200, envelope::success(&value)))
}
