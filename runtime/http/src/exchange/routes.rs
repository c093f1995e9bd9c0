//! The table of routes: the destination of each method and path, and the rules of each class of routes.
//!
//! A listener has one table. Its [`Handler`](crate::Handler) writes it, with an endpoint of its own type for each row.
//! The listener adds the routes to which it responds itself. The [`Class`] of a row alone determines the differences
//! between routes: audience, bodies, rates, caches, pages of other origins. The reply determines whether a response is
//! complete or a stream.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

use hyper::header::HeaderValue;
use hyper::{Method, Uri};
use percent_encoding::percent_decode_str;

use crate::wire::rejection::Rejection;
use convoke_core::error::Code;

/// The listener that received a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    /// Serves calls, and `/metrics` to this machine.
    Calls,
    /// Serves calls; `/metrics` is on the ops listener.
    CallsOnly,
    /// Serves `/metrics`, `/healthz` and `/readyz`.
    Ops,
    /// The control socket, which serves all routes to the operator.
    Control,
}

/// The rules of a class of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The clients that may use the routes.
    pub audience: Audience,
    /// The body of a request.
    pub body: BodyRule,
    /// True if a request counts toward the rate of its address.
    pub is_counted: bool,
    /// The rule for caches.
    pub caching: Caching,
    /// True if pages of allowed origins may send requests.
    pub for_pages: bool,
    /// True if the route is served during shutdown.
    pub while_draining: bool,
    /// True if a client may resume a stream.
    pub resumes: bool,
    /// True if the server's own pages use the route, so that the handler gets the data of the browser.
    pub for_own_pages: bool,
    /// True if the connection becomes a WebSocket.
    pub upgrades: bool,
    /// True if requests of pages whose origin is not allowed are rejected. Otherwise such a page can send a request, and
    /// only cannot read the response.
    pub rejects_foreign_pages: bool,
    /// The further fields that the handler reads, in lower case.
    pub fields: &'static [&'static str],
    /// Further fields of the response to `OPTIONS`, in lower case.
    pub options: &'static [(&'static str, &'static str)],
    /// True if the handler reads all fields.
    pub whole_head: bool,
}

/// The clients that a class of routes serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Callers of functions.
    Callers,
    /// Monitoring: the ops listener, or this machine if there is no ops listener.
    Watchers,
    /// Operators of the server: the ops listener.
    Operators,
    /// All clients.
    Everybody,
}

/// The body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRule {
    /// No body. A body that is sent is not read.
    None,
    /// JSON, with its content type.
    Json,
    /// JSON with its content type, or no body.
    JsonOrNothing,
    /// Bytes of any type and length, which the handler reads in pieces.
    Stream,
    /// Bytes of any content type, or no body, at most so many.
    Bytes {
        /// Maximum number of bytes. None: the limit of all requests.
        bytes_max: Option<usize>,
        /// Minimum of the time in which the body must arrive. None: the limit of all requests.
        time_min: Option<Duration>,
    },
}

/// The rule for caches of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// A cache must not store the response.
    Never,
    /// A cache may store the response and must revalidate it before each use.
    Revalidated,
}

impl Class {
    /// A call of a function.
    pub const CALL: Class = Class {
        audience: Audience::Callers,
        body: BodyRule::Json,
        is_counted: true,
        caching: Caching::Never,
        for_pages: true,
        while_draining: false,
        resumes: false,
        for_own_pages: false,
        upgrades: false,
        rejects_foreign_pages: false,
        fields: &[],
        options: &[],
        whole_head: false,
    };
    /// A stream of results that change, requested by a body or by the path alone.
    pub const LIVE: Class = Class { body: BodyRule::JsonOrNothing, resumes: true, ..Class::CALL };
    /// A WebSocket for calls and results.
    pub const SYNC: Class = Class { body: BodyRule::None, upgrades: true, ..Class::CALL };
    /// A request of an operator. Pages of other origins may not send it, because deploy keys do not belong in a page.
    pub const ADMIN: Class = Class { body: BodyRule::JsonOrNothing, for_pages: false, ..Class::CALL };
    /// A document that is the same for all clients.
    pub const DOCUMENT: Class =
        Class { body: BodyRule::None, is_counted: false, caching: Caching::Revalidated, ..Class::CALL };
    /// A health check of a supervisor.
    pub const PROBE: Class = Class {
        audience: Audience::Everybody,
        body: BodyRule::None,
        is_counted: false,
        while_draining: true,
        ..Class::CALL
    };
    /// The metrics of the server.
    pub const METRICS: Class =
        Class { audience: Audience::Watchers, body: BodyRule::None, is_counted: false, ..Class::CALL };
    /// Returns the class for the server's own pages only.
    #[must_use]
    pub const fn of_own_pages(self, audience: Audience) -> Class {
        Class { audience, for_pages: false, for_own_pages: true, ..self }
    }

    /// The class of a request without a route.
    const NOTHING: Class = Class::PROBE;
}

impl Audience {
    /// True if the listener serves this audience. `local` is true for a request from this machine.
    fn is_served(self, listener: Listener, local: bool) -> bool {
        match self {
            Audience::Everybody => true,
            Audience::Callers => listener != Listener::Ops,
            Audience::Operators => listener == Listener::Ops,
            Audience::Watchers => match listener {
                Listener::Ops | Listener::Control => true,
                Listener::Calls => local,
                Listener::CallsOnly => false,
            },
        }
    }
}

/// The routes of a listener, with endpoints `E` of its handler.
pub struct Routes<E> {
    router: matchit::Router<usize>,
    paths: Vec<PathRoutes<E>>,
    /// Paths below which only routes with a path of their own are found.
    reserved: &'static [&'static str],
    rest: Option<Rest<E>>,
}

/// The destination of GET requests for paths without a route.
struct Rest<E> {
    class: Class,
    to: E,
    except: &'static [&'static str],
    allow: HeaderValue,
}

struct PathRoutes<E> {
    path: Cow<'static, str>,
    /// The class of the first route. Responses without a route, as to `OPTIONS`, have it too.
    class: Class,
    methods: Vec<(Method, Class, Destination<E>)>,
    /// The destination of all other methods.
    otherwise: Option<Destination<E>>,
    allow: HeaderValue,
}

/// The destination of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination<E> {
    Handler(E),
    /// The liveness check, `/healthz`.
    Liveness,
    /// The readiness check, `/readyz`.
    Readiness,
    /// No destination: the route only explains its rejection.
    Nowhere(Rejection),
}

const ANY_METHOD: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const NOT_A_ROUTE: Rejection = Rejection { code: Code::RouteNotFound, message: "There is no such route." };
const NO_ANY_KIND: Rejection = Rejection {
    code: Code::RouteNotFound,
    message: "A call must name its kind. Use query(), mutation() or action(), or POST /api/run/{module/path}/{function}.",
};
const NOT_UTF8: Rejection = Rejection { code: Code::BadRequest, message: "The path is not percent-encoded UTF-8." };
const ENCODED_SLASH: Rejection = Rejection {
    code: Code::BadRequest,
    message: "The path has a percent-encoded slash, which proxies interpret differently; use a plain slash.",
};

/// Largest number of path parameters of a route.
const PARAMS_MAX: usize = 4;

/// The values of a route's path parameters. Values without percent-encoding, as in nearly every request, are spans of
/// the path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    spans: [Range<usize>; PARAMS_MAX],
    decoded: Vec<String>,
}

impl Params {
    /// Returns parameter number `index` of the path `path`.
    pub(crate) fn get<'a>(&'a self, index: usize, path: &'a str) -> &'a str {
        match self.decoded.get(index) {
            Some(decoded) => decoded,
            None => self.spans.get(index).and_then(|span| path.get(span.clone())).unwrap_or_default(),
        }
    }

    /// Decodes the parameters if `path` has percent-encoding.
    fn decoded(mut self, path: &str) -> Result<Self, Rejection> {
        if memchr::memchr(b'%', path.as_bytes()).is_some() {
            let decode = |span: &Range<usize>| percent_decode_str(&path[span.clone()]).decode_utf8();
            let decoded = self.spans.iter().map(|span| decode(span).map(Cow::into_owned));
            self.decoded = decoded.collect::<Result<_, _>>().map_err(|_| NOT_UTF8)?;
        }
        Ok(self)
    }
}

/// The result of a route lookup.
#[derive(Debug)]
pub(crate) struct Found<'r, E> {
    pub(crate) class: Class,
    pub(crate) next: Result<Next<'r, E>, Rejection>,
}

/// The next step for a request with a known path.
#[derive(Debug)]
pub(crate) enum Next<'r, E> {
    Destination(Destination<E>, Params),
    /// `OPTIONS` of a known path or of the whole server.
    Options(Cow<'r, HeaderValue>),
    /// A known path without this method.
    NotAllowed(&'r HeaderValue),
}

impl<E: Copy> Default for Routes<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> Routes<E> {
    /// Creates a table with the routes to which the listener responds itself.
    pub fn new() -> Self {
        let mut routes = Self { router: matchit::Router::new(), paths: Vec::new(), reserved: &[], rest: None };
        routes.insert(Method::GET, "/healthz".into(), Class::PROBE, Destination::Liveness);
        routes.insert(Method::GET, "/readyz".into(), Class::PROBE, Destination::Readiness);
        // Convex clients may use this path, which this server does not serve.
        routes.path("/api/function".into(), Class::NOTHING).otherwise = Some(Destination::Nowhere(NO_ANY_KIND));
        routes
    }

    /// Adds a route. In `path`, `{name}` matches a segment or a part of it, and `{*name}` at the end matches the rest. A
    /// route for GET also serves HEAD.
    ///
    /// # Panics
    /// If the path conflicts with another route, or has more than four parameters.
    pub fn add(&mut self, method: Method, path: impl Into<Cow<'static, str>>, class: Class, to: E) {
        self.insert(method, path.into(), class, Destination::Handler(to));
    }

    /// Reserves these paths and the paths below them for the routes that begin like them: a route with a parameter in
    /// that place does not match there.
    pub fn reserve(&mut self, paths: &'static [&'static str]) {
        self.reserved = paths;
    }

    /// Returns true if a method of exactly this pattern has a route.
    pub fn has(&self, method: &Method, pattern: &str) -> bool {
        let known = self.paths.iter().find(|known| known.path == pattern);
        known.is_some_and(|known| known.methods.iter().any(|(own, ..)| own == method))
    }

    /// Adds a fallback for all methods without a route below `path`, which ends in `/{*name}`. The fallback can check
    /// the caller before it reveals which routes exist. Call this after all calls of [`Routes::add`].
    ///
    /// # Panics
    /// Like [`Routes::add`].
    pub fn add_fallback(&mut self, path: &'static str, class: Class, to: E) {
        let below = path.split("{*").next().unwrap_or(path);
        self.path(path.into(), class);
        for known in self.paths.iter_mut().filter(|known| known.path.starts_with(below)) {
            known.otherwise = Some(Destination::Handler(to));
            known.allow = HeaderValue::from_static(ANY_METHOD);
        }
    }

    /// Sets the destination of GET and HEAD for all paths without a route, except these paths and those below them.
    pub fn add_rest(&mut self, class: Class, to: E, except: &'static [&'static str]) {
        let allow = HeaderValue::from_static("GET, HEAD, OPTIONS");
        self.rest = Some(Rest { class, to, except, allow });
    }

    fn insert(&mut self, method: Method, path: Cow<'static, str>, class: Class, destination: Destination<E>) {
        let known = self.path(path, class);
        let path = &known.path;
        assert!(known.methods.iter().all(|(other, ..)| *other != method), "the route {method} {path} is defined twice");
        known.methods.push((method, class, destination));
        // A page asks by `OPTIONS` whether it may use any of the methods.
        known.class.for_pages |= class.for_pages;
        let names = known.methods.iter().map(|(method, ..)| match *method {
            Method::GET => "GET, HEAD",
            ref other => other.as_str(),
        });
        let allow = names.chain(["OPTIONS"]).collect::<Vec<_>>().join(", ");
        known.allow = HeaderValue::try_from(allow).expect("method names are valid in a field");
    }

    fn path(&mut self, path: Cow<'static, str>, class: Class) -> &mut PathRoutes<E> {
        assert!(path.matches('{').count() <= PARAMS_MAX, "{path} has more than {PARAMS_MAX} parameters");
        let index = self.paths.iter().position(|known| known.path == path).unwrap_or_else(|| {
            let index = self.paths.len();
            self.router.insert(path.clone(), index).unwrap_or_else(|error| panic!("{path}: {error}"));
            let allow = HeaderValue::from_static("OPTIONS");
            self.paths.push(PathRoutes { path, class, methods: Vec::new(), otherwise: None, allow });
            index
        });
        &mut self.paths[index]
    }

    /// Returns the routes of a path and the values of its parameters. An empty segment does not match a parameter, so
    /// such a path has only the fallback.
    fn at(&self, path: &str) -> Option<(&PathRoutes<E>, Params)> {
        let found = self.router.at(path).ok()?;
        let (mut params, mut is_complete) = (Params::default(), true);
        for (span, (_, part)) in params.spans.iter_mut().zip(found.params.iter()) {
            let start = part.as_ptr() as usize - path.as_ptr() as usize;
            *span = start..start + part.len();
            is_complete &= !part.is_empty();
        }
        if is_complete {
            let known = &self.paths[*found.value];
            let is_taken = |reserved: &&str| is_below(path, reserved) && !is_below(&known.path, reserved);
            return (!self.reserved.iter().any(is_taken)).then_some((known, params));
        }
        let below =
            |known: &&PathRoutes<E>| known.path.split_once("{*").is_some_and(|(below, _)| path.starts_with(below));
        let fallback = self.paths.iter().filter(below).find(|known| known.methods.is_empty())?;
        Some((fallback, Params::default()))
    }

    /// Returns the methods for which a path has routes.
    pub fn methods(&self, path: &str) -> impl Iterator<Item = &Method> {
        let found = self.at(path).map(|(found, _)| found);
        found.into_iter().flat_map(|found| &found.methods).map(|(method, ..)| method)
    }

    /// Finds the route of `method` and `uri`. `local` is true for a request from this machine.
    pub(crate) fn find(&self, listener: Listener, local: bool, method: &Method, uri: &Uri) -> Found<'_, E> {
        let nothing = |why| Found { class: Class::NOTHING, next: Err(why) };
        let path = uri.path();
        // A proxy in front may have read another path when it checked access.
        if has_encoded_slash(path) {
            return nothing(ENCODED_SLASH);
        }
        if path == "*" && method == Method::OPTIONS {
            let allow = Cow::Owned(HeaderValue::from_static(ANY_METHOD));
            return Found { class: Class::NOTHING, next: Ok(Next::Options(allow)) };
        }
        let Some((known, params)) = self.at(path) else {
            let rest =
                self.rest.as_ref().filter(|rest| rest.has(path) && rest.class.audience.is_served(listener, local));
            return rest.map_or_else(|| nothing(NOT_A_ROUTE), |rest| rest.found(method));
        };
        let class = known.class_of(method);
        if !class.audience.is_served(listener, local) {
            return nothing(NOT_A_ROUTE);
        }
        let next = match (&known.otherwise, method) {
            (Some(Destination::Nowhere(why)), _) => Err(*why),
            (_, &Method::OPTIONS) => Ok(Next::Options(Cow::Borrowed(&known.allow))),
            _ => match known.destination(method) {
                Some(destination) => params.decoded(path).map(|params| Next::Destination(destination, params)),
                None => Ok(Next::NotAllowed(&known.allow)),
            },
        };
        Found { class, next }
    }
}

impl<E: Copy> Rest<E> {
    /// Returns true if it serves this path. A percent-encoded name of a route is a name of that route.
    fn has(&self, path: &str) -> bool {
        let decoded = percent_decode_str(path).decode_utf8_lossy();
        decoded.starts_with('/') && !self.except.iter().any(|except| is_below(&decoded, except))
    }

    fn found(&self, method: &Method) -> Found<'_, E> {
        let next = match *method {
            Method::GET | Method::HEAD => Next::Destination(Destination::Handler(self.to), Params::default()),
            Method::OPTIONS => Next::Options(Cow::Borrowed(&self.allow)),
            _ => Next::NotAllowed(&self.allow),
        };
        Found { class: self.class, next: Ok(next) }
    }
}

impl<E: Copy> PathRoutes<E> {
    fn own(&self, method: &Method) -> Option<&(Method, Class, Destination<E>)> {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        self.methods.iter().find(|(own, ..)| own == method)
    }

    fn class_of(&self, method: &Method) -> Class {
        self.own(method).map_or(self.class, |(_, class, _)| *class)
    }

    fn destination(&self, method: &Method) -> Option<Destination<E>> {
        let own = self.own(method).map(|(_, _, destination)| *destination);
        // The fallback does not serve methods that no route uses, such as TRACE.
        let fallback = || {
            let usual = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
            self.otherwise.filter(|_| usual.contains(method))
        };
        own.or_else(fallback)
    }
}

fn is_below(path: &str, reserved: &str) -> bool {
    path.strip_prefix(reserved).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn has_encoded_slash(path: &str) -> bool {
    memchr::memchr_iter(b'%', path.as_bytes())
        .any(|at| path.as_bytes().get(at + 1..at + 3).is_some_and(|hex| hex.eq_ignore_ascii_case(b"2f")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Routes<&'static str> {
        let mut routes = Routes::new();
        routes.add(Method::POST, "/api/run/{*path}", Class::CALL, "run");
        routes.add(Method::POST, "/api/query", Class::CALL, "query");
        routes.add(Method::GET, "/docs", Class::DOCUMENT, "docs");
        routes.add(Method::GET, "/docs/{*page}", Class::DOCUMENT, "docs");
        routes.add(Method::GET, "/metrics", Class::METRICS, "metrics");
        routes.add(Method::GET, "/api/admin/keys", Class::ADMIN, "keys");
        routes.add(Method::POST, "/api/admin/keys", Class::ADMIN, "new key");
        routes.add(Method::POST, "/api/admin/keys/{name}/rotate", Class::ADMIN, "rotate");
        routes.add_fallback("/api/admin/{*path}", Class::ADMIN, "no admin route");
        routes
    }

    /// Returns the destination with its parameters, or `OPTIONS …` and `not …` with the allowed methods.
    fn at(listener: Listener, local: bool, method: &str, path: &str) -> Result<String, Code> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let (routes, uri) = (table(), path.parse::<Uri>().unwrap());
        let next = routes.find(listener, local, &method, &uri).next.map_err(|rejection| rejection.code)?;
        Ok(match next {
            Next::Destination(Destination::Handler(to), params) => {
                let params = [params.get(0, uri.path()), params.get(1, uri.path())];
                format!("{to} {}", params.join(" ")).trim().to_owned()
            }
            Next::Destination(Destination::Liveness, _) => "alive".to_owned(),
            Next::Destination(Destination::Readiness, _) => "ready".to_owned(),
            Next::Destination(Destination::Nowhere(why), _) => why.message.to_owned(),
            Next::Options(allow) => format!("OPTIONS {}", allow.to_str().unwrap()),
            Next::NotAllowed(allow) => format!("not {}", allow.to_str().unwrap()),
        })
    }

    fn of(method: &str, path: &str) -> Result<String, Code> {
        at(Listener::Calls, false, method, path)
    }

    fn leads(method: &str, path: &str, expected: &str) {
        assert_eq!(of(method, path).as_deref(), Ok(expected), "{method} {path}");
    }

    #[test]
    fn route_is_found_by_method_and_path_with_its_parameters() {
        leads("POST", "/api/run/users/mutations/saveOnboarding", "run users/mutations/saveOnboarding");
        leads("POST", "/api/run/users/mutations/%73ave?x=%2f", "run users/mutations/save");
        leads("POST", "http://a/api/run/a/b", "run a/b");
        leads("POST", "/api/query", "query");
        leads("GET", "/healthz", "alive");
        leads("HEAD", "/readyz", "ready");
        leads("GET", "/docs", "docs");
        leads("GET", "/docs/a%20b.js", "docs a b.js");
        leads("HEAD", "/api/admin/keys?after=7", "keys");
        leads("POST", "/api/admin/keys/ci/rotate", "rotate ci");
    }

    #[test]
    fn other_methods_are_not_allowed_and_options_lists_the_methods() {
        leads("GET", "/api/query", "not POST, OPTIONS");
        leads("POST", "/healthz", "not GET, HEAD, OPTIONS");
        leads("OPTIONS", "/api/run/a/b", "OPTIONS POST, OPTIONS");
        leads("OPTIONS", "*", &format!("OPTIONS {ANY_METHOD}"));
    }

    #[test]
    fn paths_below_a_fallback_without_a_route_reach_the_fallback() {
        leads("DELETE", "/api/admin/keys", "no admin route");
        leads("GET", "/api/admin/keys/ci/rotate", "no admin route ci");
        leads("POST", "/api/admin/keys//rotate", "no admin route keys//rotate");
        leads("GET", "/api/admin/key", "no admin route key");
        leads("TRACE", "/api/admin/keys", &format!("not {ANY_METHOD}"));
        leads("OPTIONS", "/api/admin/keys", &format!("OPTIONS {ANY_METHOD}"));
        assert_eq!(table().methods("/api/admin/keys").collect::<Vec<_>>(), [Method::GET, Method::POST]);
        for nothing in ["/api/admin/key", "/api/admin/keys//rotate", "/api/admin/keys/ci/rotate/x"] {
            assert_eq!(table().methods(nothing).count(), 0, "{nothing}");
        }
    }

    #[test]
    fn all_other_paths_have_no_route() {
        for path in ["/", "/api", "/api/", "/api/run", "/api/run/", "/api/queries", "/api/admin/", "/docsx", "/HEALTHZ"]
        {
            assert_eq!(of("POST", path), Err(Code::RouteNotFound), "{path}");
            assert_eq!(of("OPTIONS", path), Err(Code::RouteNotFound), "{path}");
        }
        assert_eq!(of("GET", "*"), Err(Code::RouteNotFound));
        assert_eq!(of("POST", "/api/run/a%ff"), Err(Code::BadRequest));
    }

    #[test]
    fn rest_serves_paths_without_a_route_and_none_below_an_exception() {
        let mut routes = table();
        routes.add_rest(Class::DOCUMENT, "site", &["/api", "/docs"]);
        let at = |method: &str, path: &str| {
            let (method, uri) = (Method::from_bytes(method.as_bytes()).unwrap(), path.parse::<Uri>().unwrap());
            match routes.find(Listener::Calls, false, &method, &uri).next {
                Ok(Next::Destination(Destination::Handler(to), _)) => to,
                Ok(Next::NotAllowed(_)) => "not allowed",
                Ok(Next::Options(_)) => "options",
                Ok(Next::Destination(..)) => "listener",
                Err(_) => "nothing",
            }
        };
        for (method, path, expected) in [
            ("GET", "/", "site"),
            ("HEAD", "/a/b.js", "site"),
            ("GET", "/apis", "site"),
            ("POST", "/a", "not allowed"),
            ("OPTIONS", "/a", "options"),
            ("GET", "/api", "nothing"),
            ("GET", "/api/", "nothing"),
            ("GET", "/api/unknown", "nothing"),
            ("GET", "/%61pi/unknown", "nothing"),
            ("GET", "/docs/x", "docs"),
            ("GET", "/healthz", "listener"),
            ("GET", "/a%2fb", "nothing"),
        ] {
            assert_eq!(at(method, path), expected, "{method} {path}");
        }
        let (ops, uri) = (Listener::Ops, "/a".parse::<Uri>().unwrap());
        assert!(routes.find(ops, true, &Method::GET, &uri).next.is_err(), "the ops listener has no site");
    }

    #[test]
    fn parameter_does_not_match_below_a_reserved_path() {
        let mut routes = Routes::new();
        routes.reserve(&["/api", "/docs", "/healthz"]);
        routes.add(Method::GET, "/{*rest}", Class::CALL, "rest");
        routes.add(Method::GET, "/docs", Class::DOCUMENT, "docs");
        let found = |path: &str| {
            let uri = path.parse::<Uri>().unwrap();
            match routes.find(Listener::Calls, false, &Method::GET, &uri).next {
                Ok(Next::Destination(Destination::Handler(to), _)) => to,
                Ok(_) => "the listener",
                Err(_) => "nothing",
            }
        };
        let expected = [
            ("/a/b", "rest"),
            ("/apis", "rest"),
            ("/api", "nothing"),
            ("/api/run/a", "nothing"),
            ("/docs", "docs"),
            ("/docs/a", "nothing"),
            ("/healthz", "the listener"),
        ];
        assert_eq!(expected.map(|(path, _)| (path, found(path))), expected);
    }

    #[test]
    fn text_after_a_parameter_belongs_to_the_route() {
        let mut routes = Routes::new();
        routes.add(Method::GET, "/calendar/{p0}.ics", Class { for_pages: false, ..Class::CALL }, "calendar");
        routes.add(Method::POST, "/calendar/{p0}.ics", Class::CALL, "import");
        let find = |method: Method, path: &str| {
            let uri = path.parse::<Uri>().unwrap();
            let found = routes.find(Listener::Calls, false, &method, &uri);
            match found.next {
                Ok(Next::Destination(Destination::Handler(to), params)) => {
                    Some((to, params.get(0, uri.path()).to_owned(), found.class.for_pages))
                }
                Ok(_) | Err(_) => None,
            }
        };
        assert_eq!(find(Method::GET, "/calendar/a%20b.ics"), Some(("calendar", "a b".to_owned(), false)));
        assert_eq!(find(Method::POST, "/calendar/a.b.ics"), Some(("import", "a.b".to_owned(), true)));
        assert_eq!(find(Method::GET, "/calendar/.ics"), None);
        assert_eq!(find(Method::GET, "/calendar/a.ical"), None);
    }

    #[test]
    fn unsupported_convex_path_has_its_own_message() {
        let (routes, uri) = (table(), "/api/function".parse::<Uri>().unwrap());
        let why = routes.find(Listener::Calls, false, &Method::GET, &uri).next.unwrap_err();
        assert!(why.code == Code::RouteNotFound && why != NOT_A_ROUTE);
        leads("POST", "/api/run/sync", "run sync");
    }

    #[test]
    fn percent_encoded_slash_is_rejected_anywhere_in_a_path() {
        for path in ["/api/run/a%2Fb", "/api/run%2fa/b", "/api%2Fquery", "/api/admin/tables%2fusers", "/%2F", "/%%2f"] {
            for method in ["GET", "POST", "OPTIONS"] {
                assert_eq!(of(method, path), Err(Code::BadRequest), "{path}");
            }
        }
        assert_eq!(of("POST", "/api/run/a/b%252f"), of("POST", "/api/run/a/b%25%32%66"), "a path is decoded once");
    }

    #[test]
    fn metrics_are_for_this_machine_or_for_the_ops_listener() {
        let metrics = Ok("metrics".to_owned());
        assert_eq!(at(Listener::Calls, true, "GET", "/metrics"), metrics);
        assert_eq!(at(Listener::Calls, false, "GET", "/metrics"), Err(Code::RouteNotFound));
        assert_eq!(at(Listener::CallsOnly, true, "GET", "/metrics"), Err(Code::RouteNotFound));
        assert_eq!(at(Listener::Ops, false, "GET", "/metrics"), metrics);
        for path in ["/api/query", "/api/run/a/b", "/docs", "/api/admin/keys"] {
            assert_eq!(at(Listener::Ops, true, "POST", path), Err(Code::RouteNotFound), "{path}");
        }
        assert_eq!(at(Listener::Ops, false, "GET", "/healthz"), Ok("alive".to_owned()));
    }
}
