//! Every route under `/api/admin/`, in one place: method, path, scope, handler.

use futures_util::future::BoxFuture;
use hyper::Method;

use super::{Admin, AdminRequest, audit, backup, doctor, export, functions, jobs, keys, logs, schema, tables};
use crate::auth::deploy_key::Scope;
use crate::error::Result;
use crate::http::Reply;

/// Answers one request.
pub type Handler = for<'a> fn(&'a Admin, AdminRequest) -> BoxFuture<'a, Result<Reply>>;

/// One route.
pub struct Route {
    /// `GET` or `POST`.
    pub method: Method,
    /// Behind `/api/admin/`; `{…}` stands for one part.
    pub path: &'static str,
    /// What a key needs for it.
    pub scope: Scope,
    /// What answers.
    pub handler: Handler,
}

macro_rules! routes {
    ($($method:ident $path:literal $scope:ident $handler:path;)*) => {
        /// Every route.
        pub static ROUTES: &[Route] = &[$(Route {
            method: Method::$method,
            path: $path,
            scope: Scope::$scope,
            handler: |admin, request| Box::pin($handler(admin, request)),
        },)*];
    };
}

routes! {
    GET  "functions"          Functions functions::list;
    GET  "keys"               Keys      keys::list;
    POST "keys"               Keys      keys::create;
    POST "keys/{name}/rotate" Keys      keys::rotate;
    POST "keys/{name}/revoke" Keys      keys::revoke;
    GET  "audit"              Keys      audit::list;
    GET  "jobs"               Jobs      jobs::list;
    GET  "jobs/{id}"          Jobs      jobs::show;
    POST "jobs/{id}/retry"    Jobs      jobs::retry;
    POST "jobs/{id}/cancel"   Jobs      jobs::cancel;
    GET  "schema"             Functions schema::show;
    POST "schema/apply"       Functions schema::apply;
    GET  "logs"               Logs      logs::show;
    GET  "doctor"             Data      doctor::look;
    GET  "tables"             Data      tables::list;
    GET  "tables/{name}"      Data      tables::rows;
    GET  "export"             Data      export::export;
    POST "backup"             Backup    backup::create;
    GET  "backup/{name}"      Backup    backup::fetch;
    DELETE "backup/{name}"    Backup    backup::remove;
}

/// What a method and a path lead to.
pub(crate) enum Found {
    /// A route, and what stands in the path for its `{…}`.
    Route(&'static Route, Vec<String>),
    /// A path that has other methods: these.
    OtherMethods(String),
    /// Nothing.
    Nothing,
}

/// Finds the route of a request; `path` is what follows `/api/admin/`.
pub(crate) fn find(method: &Method, path: &str) -> Found {
    let mut others = Vec::new();
    for route in ROUTES {
        let Some(parts) = parts(route.path, path) else { continue };
        if route.method == *method {
            return Found::Route(route, parts);
        }
        others.push(route.method.as_str());
    }
    match others.as_slice() {
        [] => Found::Nothing,
        others => Found::OtherMethods(others.join(", ")),
    }
}

fn parts(pattern: &str, path: &str) -> Option<Vec<String>> {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    let mut parts = Vec::new();
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return Some(parts),
            (Some(own), Some(given)) if own.starts_with('{') && !given.is_empty() => parts.push(given.to_owned()),
            (Some(own), Some(given)) if own == given => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_found_by_method_and_path_and_hands_out_the_parts() {
        let Found::Route(route, parts) = find(&Method::POST, "keys/ci/rotate") else { panic!() };
        assert_eq!((route.path, route.scope, parts), ("keys/{name}/rotate", Scope::Keys, vec!["ci".to_owned()]));
        assert!(matches!(find(&Method::DELETE, "keys"), Found::OtherMethods(allow) if allow == "GET, POST"));
        for path in ["", "key", "keys/", "keys//rotate", "keys/ci", "keys/ci/rotate/x", "functions/x"] {
            assert!(matches!(find(&Method::GET, path), Found::Nothing), "{path}");
        }
    }

    #[test]
    fn no_two_routes_are_the_same() {
        for (place, route) in ROUTES.iter().enumerate() {
            let same = |other: &&Route| other.path == route.path && other.method == route.method;
            assert_eq!(ROUTES.iter().position(|other| same(&other)), Some(place), "{}", route.path);
        }
    }
}
