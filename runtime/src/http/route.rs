//! From a method and a path to what they address (`http.md` §1).

use std::borrow::Cow;

use hyper::{Method, Uri};
use percent_encoding::percent_decode_str;

use super::handler::{RouteKind, RunPath, Target};
use super::refusal::Refused;
use crate::error::Code;

/// Which of the listeners a request came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listener {
    /// Serves the calls, and `/metrics` to this machine.
    Calls,
    /// Serves the calls; `/metrics` is on the ops listener.
    CallsOnly,
    /// Serves `/metrics`, `/healthz` and `/readyz`.
    Ops,
    /// The control socket: serves everything, to the operator.
    Control,
}

/// What a request addresses.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The handler's business.
    Handled(Target),
    /// `/healthz`.
    Alive,
    /// `/readyz`.
    Ready,
    /// `OPTIONS` of a known path, or of the server as a whole.
    Options(Allow),
    /// A known path with a method that it does not have.
    NotAllowed(Allow),
}

/// The methods of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allow {
    /// A function is called.
    Post,
    /// A page is read.
    Get,
    /// Admin.
    Any,
}

impl Allow {
    /// As it stands in `Allow`.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Allow::Post => "POST, OPTIONS",
            Allow::Get => "GET, HEAD, OPTIONS",
            Allow::Any => "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
        }
    }

    fn has(self, method: &Method) -> bool {
        match self {
            Allow::Post => method == Method::POST,
            Allow::Get => method == Method::GET || method == Method::HEAD,
            Allow::Any => {
                Allow::Post.has(method)
                    || Allow::Get.has(method)
                    || [Method::PUT, Method::PATCH, Method::DELETE].contains(method)
            }
        }
    }
}

const RUN: &str = "/api/run/";
const ADMIN: &str = "/api/admin/";
const DOCS: &str = "/docs/";
const NOT_A_ROUTE: Refused = Refused { code: Code::RouteNotFound, message: "There is no such route." };
const NO_TIMESTAMPS: Refused = Refused {
    code: Code::RouteNotFound,
    message: "Queries read the present; there is no reading at a timestamp. Use query().",
};
const NO_ANY_KIND: Refused = Refused {
    code: Code::RouteNotFound,
    message: "A call names its kind. Use query(), mutation() or action(), or POST /api/run/{module/path}/{function}.",
};
const NO_WEB_SOCKET: Refused = Refused {
    code: Code::RouteNotFound,
    message: "There is no WebSocket interface. Use the HTTP client of the same package.",
};
const NOT_UTF8: Refused = Refused { code: Code::BadRequest, message: "The path is not percent-encoded UTF-8." };

/// What `method` on `uri` addresses. `local` tells whether the request was made on this
/// machine.
///
/// # Errors
/// `ROUTE_NOT_FOUND`; `BAD_REQUEST` for a path that does not decode.
pub(super) fn find(listener: Listener, local: bool, method: &Method, uri: Uri) -> Result<Route, Refused> {
    if uri.path() == "*" && method == Method::OPTIONS {
        return Ok(Route::Options(Allow::Any));
    }
    let (allow, resource) = resource(listener, local, uri.path())?;
    if method == Method::OPTIONS {
        return Ok(Route::Options(allow));
    }
    if !allow.has(method) {
        return Ok(Route::NotAllowed(allow));
    }
    Ok(match resource {
        Resource::Run => Route::Handled(Target::Run(run_path(uri)?)),
        Resource::Kind(kind) => Route::Handled(Target::Kind(kind)),
        Resource::Admin => Route::Handled(Target::Admin {
            method: if method == Method::HEAD { Method::GET } else { method.clone() },
            path: decode(&uri.path()[ADMIN.len()..])?.into_owned(),
            query: uri.query().map(str::to_owned),
        }),
        Resource::Metrics => Route::Handled(Target::Metrics),
        Resource::OpenApi => Route::Handled(Target::OpenApi),
        Resource::Docs => {
            let page = uri.path().get(DOCS.len()..).unwrap_or_default();
            Route::Handled(Target::Docs(decode(page)?.into_owned()))
        }
        Resource::Alive => Route::Alive,
        Resource::Ready => Route::Ready,
    })
}

enum Resource {
    Run,
    Kind(RouteKind),
    Admin,
    Metrics,
    OpenApi,
    Docs,
    Alive,
    Ready,
}

fn resource(listener: Listener, local: bool, path: &str) -> Result<(Allow, Resource), Refused> {
    let serves_calls = listener != Listener::Ops;
    Ok(match path {
        _ if serves_calls && path.len() > RUN.len() && path.starts_with(RUN) => (Allow::Post, Resource::Run),
        "/api/query" if serves_calls => (Allow::Post, Resource::Kind(RouteKind::Query)),
        "/api/mutation" if serves_calls => (Allow::Post, Resource::Kind(RouteKind::Mutation)),
        "/api/action" if serves_calls => (Allow::Post, Resource::Kind(RouteKind::Action)),
        "/healthz" => (Allow::Get, Resource::Alive),
        "/readyz" => (Allow::Get, Resource::Ready),
        "/metrics" if matches!(listener, Listener::Ops | Listener::Control) || listener == Listener::Calls && local => {
            (Allow::Get, Resource::Metrics)
        }
        "/openapi.json" if serves_calls => (Allow::Get, Resource::OpenApi),
        "/docs" if serves_calls => (Allow::Get, Resource::Docs),
        _ if serves_calls && path.starts_with(DOCS) => (Allow::Get, Resource::Docs),
        _ if serves_calls && path.len() > ADMIN.len() && path.starts_with(ADMIN) => (Allow::Any, Resource::Admin),
        _ => return Err(unknown(path)),
    })
}

/// Why there is no such route: what the clients of the convention can ask for and is not served here is told apart.
fn unknown(path: &str) -> Refused {
    match path {
        "/api/query_ts" | "/api/query_at_ts" => NO_TIMESTAMPS,
        "/api/function" => NO_ANY_KIND,
        _ if path.starts_with("/api/") && path.ends_with("/sync") => NO_WEB_SOCKET,
        _ => NOT_A_ROUTE,
    }
}

fn run_path(uri: Uri) -> Result<RunPath, Refused> {
    let path = &uri.path()[RUN.len()..];
    if path.contains('%') { Ok(RunPath::decoded(decode(path)?)) } else { Ok(RunPath::of(uri, RUN.len())) }
}

fn decode(path: &str) -> Result<Cow<'_, str>, Refused> {
    percent_decode_str(path).decode_utf8().map_err(|_| NOT_UTF8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(listener: Listener, local: bool, method: &str, path: &str) -> Result<Route, Code> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        find(listener, local, &method, path.parse().unwrap()).map_err(|refused| refused.code)
    }

    fn of(method: &str, path: &str) -> Result<Route, Code> {
        at(Listener::Calls, false, method, path)
    }

    #[test]
    fn every_route_of_the_table_is_found() {
        let run = |path: &str| Ok(Route::Handled(Target::Run(RunPath::decoded(path.into()))));
        assert_eq!(of("POST", "/api/run/users/mutations/saveOnboarding"), run("users/mutations/saveOnboarding"));
        assert_eq!(of("POST", "/api/run/users%2Fmutations%2Fsave?x=y"), run("users/mutations/save"));
        assert_eq!(of("POST", "http://a/api/run/a/b"), run("a/b"));
        for (path, kind) in [
            ("/api/query", RouteKind::Query),
            ("/api/mutation", RouteKind::Mutation),
            ("/api/action", RouteKind::Action),
        ] {
            assert_eq!(of("POST", path), Ok(Route::Handled(Target::Kind(kind))));
        }
        assert_eq!(of("GET", "/healthz"), Ok(Route::Alive));
        assert_eq!(of("HEAD", "/readyz"), Ok(Route::Ready));
        assert_eq!(of("GET", "/openapi.json"), Ok(Route::Handled(Target::OpenApi)));
        assert_eq!(of("GET", "/docs"), Ok(Route::Handled(Target::Docs(String::new()))));
        assert_eq!(of("GET", "/docs/a%20b.js"), Ok(Route::Handled(Target::Docs("a b.js".to_owned()))));
        assert_eq!(
            of("HEAD", "/api/admin/logs?after=7"),
            Ok(Route::Handled(Target::Admin {
                method: Method::GET,
                path: "logs".to_owned(),
                query: Some("after=7".to_owned()),
            }))
        );
    }

    #[test]
    fn another_method_is_not_allowed_and_options_asks() {
        assert_eq!(of("GET", "/api/query"), Ok(Route::NotAllowed(Allow::Post)));
        assert_eq!(of("POST", "/healthz"), Ok(Route::NotAllowed(Allow::Get)));
        assert_eq!(of("TRACE", "/api/admin/logs"), Ok(Route::NotAllowed(Allow::Any)));
        assert_eq!(of("OPTIONS", "/api/run/a/b"), Ok(Route::Options(Allow::Post)));
        assert_eq!(of("OPTIONS", "*"), Ok(Route::Options(Allow::Any)));
    }

    #[test]
    fn anything_else_is_no_route() {
        for path in ["/", "/api", "/api/", "/api/run", "/api/run/", "/api/queries", "/api/admin/", "/docsx", "/HEALTHZ"]
        {
            assert_eq!(of("POST", path), Err(Code::RouteNotFound), "{path}");
            assert_eq!(of("OPTIONS", path), Err(Code::RouteNotFound), "{path}");
        }
        assert_eq!(of("GET", "*"), Err(Code::RouteNotFound));
        assert_eq!(of("POST", "/api/run/a%ff"), Err(Code::BadRequest));
    }

    #[test]
    fn metrics_are_for_this_machine_or_for_the_ops_listener() {
        let metrics = Ok(Route::Handled(Target::Metrics));
        assert_eq!(at(Listener::Calls, true, "GET", "/metrics"), metrics);
        assert_eq!(at(Listener::Calls, false, "GET", "/metrics"), Err(Code::RouteNotFound));
        assert_eq!(at(Listener::CallsOnly, true, "GET", "/metrics"), Err(Code::RouteNotFound));
        assert_eq!(at(Listener::Ops, false, "GET", "/metrics"), metrics);
        for path in ["/api/query", "/api/run/a/b", "/docs", "/openapi.json", "/api/admin/logs"] {
            assert_eq!(at(Listener::Ops, true, "POST", path), Err(Code::RouteNotFound), "{path}");
        }
        assert_eq!(at(Listener::Ops, false, "GET", "/healthz"), Ok(Route::Alive));
    }
}
