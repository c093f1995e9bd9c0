//! The server of functions: authentication, dispatch of requests, administration, OpenAPI, metrics, backups and
//! archives, and settings. The modules, in reading order:

// The attributes emit absolute paths (`::convoke::…`). The tables of deploy keys and of key uses are declared with
// them.
extern crate convoke_calls as convoke;

pub mod settings;
pub mod metrics;
pub mod archive;
pub mod backup;
pub mod copies;
pub mod following;
pub mod doctor;
pub mod auth;
pub mod admin;
mod live;
mod page;
mod retry_after;
mod files;
pub mod console;
mod sync;
pub mod site;
pub mod gateway;
pub mod opening;
pub mod routes;
pub mod openapi;
pub mod mcp;
pub mod config;
