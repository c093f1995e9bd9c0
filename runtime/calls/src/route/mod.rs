//! HTTP routes: functions that answer a path of their own with the request as it was sent.
//!
//! A route is a function like any other: its call has the same steps, limits, log line and metrics. Only its arguments
//! and its result differ: extractors read the request, and the result is a whole response. This module does not listen:
//! a listener finds the route of a request, and passes the request on.

pub mod answer;
pub mod definition;
pub mod encoded;
pub mod extract;
pub mod handler;
pub mod overlap;
pub mod request;
pub mod response;
pub mod table;
pub mod text_values;
pub mod unverified;
pub mod verify;

pub use definition::{Once, Parameter, RouteDef, Source, Verify};
pub use extract::{Form, FromRequest, Headers, Json, Path, Query};
pub use request::RouteRequest;
pub use response::Response;
pub use unverified::Unverified;
