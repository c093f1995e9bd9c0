//! What makes a server of functions: who calls, how requests become calls, administration, the description of the
//! interface, metrics, backups and archives, settings. Its modules, in reading order:

// The attributes emit absolute paths (`::convoke::…`); the tables of keys and of their uses are made with them.
extern crate convoke_calls as convoke;

pub mod settings;
pub mod metrics;
pub mod archive;
pub mod backup;
pub mod doctor;
pub mod auth;
pub mod admin;
mod live;
mod page;
pub mod console;
mod sync;
pub mod gateway;
pub mod opening;
pub mod routes;
pub mod openapi;
pub mod config;
