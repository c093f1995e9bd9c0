//! The span of a request that calls a function or administers the server.

use convoke_calls::function::Kind;
use convoke_calls::registry::Registered;
use convoke_calls::route::RouteDef;
use convoke_calls::runtime::Runtime;
use convoke_calls::trace::{Failure, Span, SpanKind, TraceContext};
use convoke_core::error::Error;
use convoke_http::Incoming;

use crate::routes::Endpoint;

/// Begins the span of a request. It has the pattern of the route and not the path, which may contain a token.
pub(super) fn begin(
    runtime: &Runtime,
    incoming: &Incoming<Endpoint>,
    own_routes: &[(Registered, &'static RouteDef)],
) -> Span {
    let Some(recorder) = runtime.recorder() else { return Span::default() };
    let route = match incoming.endpoint {
        Endpoint::Run => "/api/run/{path}",
        Endpoint::Route(index) => own_routes.get(index).map_or("", |(_, route)| route.path),
        Endpoint::Mcp => "/mcp",
        Endpoint::QueryAtTs => "/api/query_at_ts",
        Endpoint::Kind(kind) => match kind {
            Kind::Query => "/api/query",
            Kind::Mutation => "/api/mutation",
            Kind::Action => "/api/action",
        },
        Endpoint::Admin(route) => route.pattern,
        // No other request has a span.
        _ => "",
    };
    let method = incoming.method.as_str();
    // Only the decision to record the trace is passed on.
    let client = incoming.trace_parent.map(|client| TraceContext { flags: client.flags & 1, ..client });
    let span = Span::root_with(Some(recorder), SpanKind::Server, client, || format!("{method} {route}").into());
    span.set("http.request.method", method);
    span.set("http.route", route);
    span.set("convoke.request_id", &*incoming.request_id);
    span
}

/// Ends the span of a request with its error.
pub(super) fn end(span: &Span, error: Option<&Error>) {
    if let Some(error) = error {
        span.set("error.type", error.code().as_str());
    }
    span.end(error.and_then(Failure::of));
}
