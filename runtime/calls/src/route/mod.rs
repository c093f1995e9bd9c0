//! HTTP routes as data: their definition, their requests and responses.
//!
//! A route is a function like any other: its call has the same steps, limits, log line and metrics. Only its arguments
//! and its result differ. This module does not listen: a listener finds the route of a request, and passes the request
//! on. `route_call` reads requests and calls functions.

pub mod definition;
pub mod encoded;
pub mod overlap;
pub mod request;
pub mod response;
pub mod unverified;

pub use definition::{Once, Parameter, RouteDef, Source, Verify};
pub use request::RouteRequest;
pub use response::Response;
pub use unverified::Unverified;
