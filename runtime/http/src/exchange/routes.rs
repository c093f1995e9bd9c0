//! The table of routes: which method and path lead where, and what that class of route may be asked and is answered with.
//!
//! A listener has one table. Its [`Handler`](crate::Handler) writes it, with an endpoint of its own making for each row;
//! the listener adds what it answers by itself. What differs between routes (who is served, bodies, rates, caches, pages
//! of other origins) is said by the [`Class`] of a row and nowhere else; whether an answer is whole or a stream is said
//! by the answer.

use std::borrow::Cow;
use std::ops::Range;

use hyper::header::HeaderValue;
use hyper::{Method, Uri};
use percent_encoding::percent_decode_str;

use crate::wire::rejection::Rejection;
use convoke_core::error::Code;

/// Which of the listeners a request came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    /// Serves the calls, and `/metrics` to this machine.
    Calls,
    /// Serves the calls; `/metrics` is on the ops listener.
    CallsOnly,
    /// Serves `/metrics`, `/healthz` and `/readyz`.
    Ops,
    /// The control socket: serves everything, to the operator.
    Control,
}

/// What a class of routes may be asked and is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Who is served.
    pub audience: Audience,
    /// What a request of it brings.
    pub body: BodyRule,
    /// Whether a request counts among those of its address.
    pub is_counted: bool,
    /// What a cache may do with an answer.
    pub caching: Caching,
    /// Whether pages of other origins may ask, where any may.
    pub for_pages: bool,
    /// Whether it is answered while the server shuts down.
    pub while_draining: bool,
    /// Whether a client may come back for the rest of a stream.
    pub resumes: bool,
    /// Whether the server's own pages ask, so that what a browser says of them is handed on.
    pub for_own_pages: bool,
    /// Whether the connection becomes a WebSocket.
    pub upgrades: bool,
}

/// Who is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Those who call functions.
    Callers,
    /// Whoever watches the server: the ops listener; without one, this machine.
    Watchers,
    /// Whoever operates the server: the ops listener.
    Operators,
    /// All of them.
    Everybody,
}

/// What a request brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRule {
    /// No body; one that is sent is not read.
    None,
    /// JSON, declared as that.
    Json,
    /// JSON, or nothing at all.
    JsonOrNothing,
}

/// What a cache may do with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// It may not keep it.
    Never,
    /// It may keep it, and asks again whether it is current each time.
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
    };
    /// Results that are told as they change: asked for in a body, or in the path alone.
    pub const LIVE: Class = Class { body: BodyRule::JsonOrNothing, resumes: true, ..Class::CALL };
    /// A connection on which calls and results go both ways.
    pub const SYNC: Class = Class { body: BodyRule::None, upgrades: true, ..Class::CALL };
    /// A request of an operator. Deploy keys have no business in a page.
    pub const ADMIN: Class = Class { body: BodyRule::JsonOrNothing, for_pages: false, ..Class::CALL };
    /// A document that is the same for everybody.
    pub const DOCUMENT: Class =
        Class { body: BodyRule::None, is_counted: false, caching: Caching::Revalidated, ..Class::CALL };
    /// What a supervisor asks.
    pub const PROBE: Class = Class {
        audience: Audience::Everybody,
        body: BodyRule::None,
        is_counted: false,
        while_draining: true,
        ..Class::CALL
    };
    /// Figures of the server.
    pub const METRICS: Class =
        Class { audience: Audience::Watchers, body: BodyRule::None, is_counted: false, ..Class::CALL };
    /// The same for the pages that the server has itself, and for nobody else's.
    #[must_use]
    pub const fn of_own_pages(self, audience: Audience) -> Class {
        Class { audience, for_pages: false, for_own_pages: true, ..self }
    }

    /// Of what leads nowhere.
    const NOTHING: Class = Class::PROBE;
}

impl Audience {
    /// `local` tells whether the request was made on this machine.
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

/// Every route of a listener, with endpoints `E` of its handler.
pub struct Routes<E> {
    router: matchit::Router<usize>,
    paths: Vec<PathRoutes<E>>,
}

/// The routes of one path.
struct PathRoutes<E> {
    path: &'static str,
    class: Class,
    methods: Vec<(Method, Leads<E>)>,
    /// Where any other method leads.
    otherwise: Option<Leads<E>>,
    allow: HeaderValue,
}

/// Where a route leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leads<E> {
    /// To the handler.
    To(E),
    /// `/healthz`.
    Alive,
    /// `/readyz`.
    Ready,
    /// To nothing, which is said in a sentence of its own.
    Nowhere(Rejection),
}

const ANY_METHOD: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const NOT_A_ROUTE: Rejection = Rejection { code: Code::RouteNotFound, message: "There is no such route." };
const NO_ANY_KIND: Rejection = Rejection {
    code: Code::RouteNotFound,
    message: "A call names its kind. Use query(), mutation() or action(), or POST /api/run/{module/path}/{function}.",
};
const NOT_UTF8: Rejection = Rejection { code: Code::BadRequest, message: "The path is not percent-encoded UTF-8." };
const ENCODED_SLASH: Rejection = Rejection {
    code: Code::BadRequest,
    message: "The path has a percent-encoded slash, which proxies read in different ways; write a plain slash.",
};

/// Places in a path that one route may leave open.
const PARAMS_MAX: usize = 2;

/// What stands in a path where its route leaves it open. It borrows from the request line where nothing had to be
/// decoded, which is every call of a well-made client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    spans: [Range<usize>; PARAMS_MAX],
    decoded: Vec<String>,
}

impl Params {
    /// Number `place` of them, of the path they were found in.
    pub(crate) fn get<'a>(&'a self, place: usize, path: &'a str) -> &'a str {
        match self.decoded.get(place) {
            Some(decoded) => decoded,
            None => self.spans.get(place).and_then(|span| path.get(span.clone())).unwrap_or_default(),
        }
    }

    /// The same with what `path` encodes decoded.
    fn decoded(mut self, path: &str) -> Result<Self, Rejection> {
        if memchr::memchr(b'%', path.as_bytes()).is_some() {
            let decode = |span: &Range<usize>| percent_decode_str(&path[span.clone()]).decode_utf8();
            let decoded = self.spans.iter().map(|span| decode(span).map(Cow::into_owned));
            self.decoded = decoded.collect::<Result<_, _>>().map_err(|_| NOT_UTF8)?;
        }
        Ok(self)
    }
}

/// What a method and a path lead to.
#[derive(Debug)]
pub(crate) struct Found<'r, E> {
    pub(crate) class: Class,
    pub(crate) next: Result<Next<'r, E>, Rejection>,
}

/// What to do with a request whose path is known.
#[derive(Debug)]
pub(crate) enum Next<'r, E> {
    Lead(Leads<E>, Params),
    /// `OPTIONS` of a known path, or of the server as a whole.
    Options(Cow<'r, HeaderValue>),
    /// A known path with a method that it does not have.
    NotAllowed(&'r HeaderValue),
}

impl<E: Copy> Default for Routes<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> Routes<E> {
    /// A table with what the listener answers by itself.
    pub fn new() -> Self {
        let mut routes = Self { router: matchit::Router::new(), paths: Vec::new() };
        routes.insert(Method::GET, "/healthz", Class::PROBE, Leads::Alive);
        routes.insert(Method::GET, "/readyz", Class::PROBE, Leads::Ready);
        // What the clients of the widespread convention can ask for and is not served here.
        routes.path("/api/function", Class::NOTHING).otherwise = Some(Leads::Nowhere(NO_ANY_KIND));
        routes
    }

    /// Adds a route. In `path` stands `{name}` for one part and, at its end, `{*name}` for all that follows. HEAD is
    /// answered where GET is.
    ///
    /// # Panics
    /// If the path cannot be told from another one's, or leaves more than two places open.
    pub fn add(&mut self, method: Method, path: &'static str, class: Class, to: E) {
        self.insert(method, path, class, Leads::To(to));
    }

    /// Where every method leads that no route has, of every path below `path` (which ends in `/{*name}`): to somebody
    /// who tells only those what there is whom it serves. To be added after the routes.
    ///
    /// # Panics
    /// As [`Routes::add`].
    pub fn add_fallback(&mut self, path: &'static str, class: Class, to: E) {
        let below = path.split("{*").next().unwrap_or(path);
        self.path(path, class);
        for known in self.paths.iter_mut().filter(|known| known.path.starts_with(below)) {
            known.otherwise = Some(Leads::To(to));
            known.allow = HeaderValue::from_static(ANY_METHOD);
        }
    }

    fn insert(&mut self, method: Method, path: &'static str, class: Class, leads: Leads<E>) {
        let known = self.path(path, class);
        assert!(known.methods.iter().all(|(other, _)| *other != method), "{method} {path} is there twice");
        known.methods.push((method, leads));
        let names = known.methods.iter().map(|(method, _)| match *method {
            Method::GET => "GET, HEAD",
            ref other => other.as_str(),
        });
        let allow = names.chain(["OPTIONS"]).collect::<Vec<_>>().join(", ");
        known.allow = HeaderValue::try_from(allow).expect("methods are fit for a field");
    }

    fn path(&mut self, path: &'static str, class: Class) -> &mut PathRoutes<E> {
        assert!(path.matches('{').count() <= PARAMS_MAX, "{path} leaves more open than {PARAMS_MAX} places");
        let place = self.paths.iter().position(|known| known.path == path).unwrap_or_else(|| {
            let place = self.paths.len();
            self.router.insert(path, place).unwrap_or_else(|error| panic!("{path}: {error}"));
            let allow = HeaderValue::from_static("OPTIONS");
            self.paths.push(PathRoutes { path, class, methods: Vec::new(), otherwise: None, allow });
            place
        });
        &mut self.paths[place]
    }

    /// The routes of a path, and what it has where they leave it open. A part of nothing is no part: such a path is one
    /// that no route has.
    fn at(&self, path: &str) -> Option<(&PathRoutes<E>, Params)> {
        let found = self.router.at(path).ok()?;
        let (mut params, mut has_all) = (Params::default(), true);
        for (span, (_, part)) in params.spans.iter_mut().zip(found.params.iter()) {
            let start = part.as_ptr() as usize - path.as_ptr() as usize;
            *span = start..start + part.len();
            has_all &= !part.is_empty();
        }
        if has_all {
            return Some((&self.paths[*found.value], params));
        }
        let below =
            |known: &&PathRoutes<E>| known.path.split_once("{*").is_some_and(|(below, _)| path.starts_with(below));
        let fallback = self.paths.iter().filter(below).find(|known| known.methods.is_empty())?;
        Some((fallback, Params::default()))
    }

    /// The methods that a path has routes for.
    pub fn methods(&self, path: &str) -> impl Iterator<Item = &Method> {
        let found = self.at(path).map(|(found, _)| found);
        found.into_iter().flat_map(|found| &found.methods).map(|(method, _)| method)
    }

    /// What `method` on `uri` leads to. `local` tells whether the request was made on this machine.
    pub(crate) fn find(&self, listener: Listener, local: bool, method: &Method, uri: &Uri) -> Found<'_, E> {
        let nothing = |why| Found { class: Class::NOTHING, next: Err(why) };
        let path = uri.path();
        // A proxy in front may have taken it for another one when it decided who may ask for it.
        if has_encoded_slash(path) {
            return nothing(ENCODED_SLASH);
        }
        if path == "*" && method == Method::OPTIONS {
            let allow = Cow::Owned(HeaderValue::from_static(ANY_METHOD));
            return Found { class: Class::NOTHING, next: Ok(Next::Options(allow)) };
        }
        let Some((known, params)) = self.at(path) else { return nothing(NOT_A_ROUTE) };
        let class = known.class;
        if !class.audience.is_served(listener, local) {
            return nothing(NOT_A_ROUTE);
        }
        let next = match (&known.otherwise, method) {
            (Some(Leads::Nowhere(why)), _) => Err(*why),
            (_, &Method::OPTIONS) => Ok(Next::Options(Cow::Borrowed(&known.allow))),
            _ => match known.leads(method) {
                Some(leads) => params.decoded(path).map(|params| Next::Lead(leads, params)),
                None => Ok(Next::NotAllowed(&known.allow)),
            },
        };
        Found { class, next }
    }
}

impl<E: Copy> PathRoutes<E> {
    fn leads(&self, method: &Method) -> Option<Leads<E>> {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let own = self.methods.iter().find(|(own, _)| own == method).map(|(_, leads)| *leads);
        // Methods that HTTP knows and no route has, such as TRACE, lead nowhere.
        let fallback = || {
            let usual = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
            self.otherwise.filter(|_| usual.contains(method))
        };
        own.or_else(fallback)
    }
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

    /// Where it leads, with what stands in the open places; `OPTIONS …` and `not …` with the methods that there are.
    fn at(listener: Listener, local: bool, method: &str, path: &str) -> Result<String, Code> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let (routes, uri) = (table(), path.parse::<Uri>().unwrap());
        let next = routes.find(listener, local, &method, &uri).next.map_err(|refused| refused.code)?;
        Ok(match next {
            Next::Lead(Leads::To(to), params) => {
                let params = [params.get(0, uri.path()), params.get(1, uri.path())];
                format!("{to} {}", params.join(" ")).trim().to_owned()
            }
            Next::Lead(Leads::Alive, _) => "alive".to_owned(),
            Next::Lead(Leads::Ready, _) => "ready".to_owned(),
            Next::Lead(Leads::Nowhere(why), _) => why.message.to_owned(),
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
    fn a_route_is_found_by_method_and_path_and_hands_out_what_it_leaves_open() {
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
    fn another_method_is_not_allowed_and_options_asks() {
        leads("GET", "/api/query", "not POST, OPTIONS");
        leads("POST", "/healthz", "not GET, HEAD, OPTIONS");
        leads("OPTIONS", "/api/run/a/b", "OPTIONS POST, OPTIONS");
        leads("OPTIONS", "*", &format!("OPTIONS {ANY_METHOD}"));
    }

    #[test]
    fn what_no_route_has_below_a_fallback_leads_there() {
        leads("DELETE", "/api/admin/keys", "no admin route");
        leads("GET", "/api/admin/keys/ci/rotate", "no admin route ci");
        leads("POST", "/api/admin/keys//rotate", "no admin route");
        leads("GET", "/api/admin/key", "no admin route key");
        leads("TRACE", "/api/admin/keys", &format!("not {ANY_METHOD}"));
        leads("OPTIONS", "/api/admin/keys", &format!("OPTIONS {ANY_METHOD}"));
        assert_eq!(table().methods("/api/admin/keys").collect::<Vec<_>>(), [Method::GET, Method::POST]);
        for nothing in ["/api/admin/key", "/api/admin/keys//rotate", "/api/admin/keys/ci/rotate/x"] {
            assert_eq!(table().methods(nothing).count(), 0, "{nothing}");
        }
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
    fn what_clients_of_the_convention_ask_for_in_vain_is_told_apart() {
        let (routes, uri) = (table(), "/api/function".parse::<Uri>().unwrap());
        let why = routes.find(Listener::Calls, false, &Method::GET, &uri).next.unwrap_err();
        assert!(why.code == Code::RouteNotFound && why != NOT_A_ROUTE);
        leads("POST", "/api/run/sync", "run sync");
    }

    #[test]
    fn a_percent_encoded_slash_is_rejected_wherever_it_stands_in_a_path() {
        for path in ["/api/run/a%2Fb", "/api/run%2fa/b", "/api%2Fquery", "/api/admin/tables%2fusers", "/%2F", "/%%2f"] {
            for method in ["GET", "POST", "OPTIONS"] {
                assert_eq!(of(method, path), Err(Code::BadRequest), "{path}");
            }
        }
        assert_eq!(of("POST", "/api/run/a/b%252f"), of("POST", "/api/run/a/b%25%32%66"), "it is decoded once");
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
