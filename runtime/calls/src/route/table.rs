//! The routes of a program, and the check at start that no request fits two of them.

use std::sync::Arc;

use http::{HeaderMap, Method, Uri};
use percent_encoding::percent_decode_str;

use bytes::Bytes;

use super::definition::RouteDef;
use super::overlap::overlaps;
use super::request::RouteRequest;
use crate::registry::Registered;

/// Adds the mistakes of the routes among `functions`, each after the place of its function.
pub(crate) fn mistakes<'a>(functions: impl Iterator<Item = &'a Registered>) -> Vec<String> {
    let mut routes: Vec<(&Registered, &RouteDef)> =
        functions.filter_map(|function| Some((function, function.def.route?))).collect();
    routes.sort_by_key(|(function, _)| (function.def.file, function.def.line));
    let place = |function: &Registered| format!("{}:{}", function.def.file, function.def.line);
    let mut mistakes = Vec::new();
    for (at, (function, route)) in routes.iter().enumerate() {
        let earlier = routes[..at].iter();
        let twin =
            earlier.into_iter().find(|(_, other)| other.method == route.method && overlaps(other.path, route.path));
        if let Some((first, other)) = twin {
            mistakes.push(format!(
                "{}: the route {route} and the route {other} at {} could match the same request; change one of the paths",
                place(function),
                place(first)
            ));
        }
    }
    mistakes
}

/// Returns the route of a method and a path, and the values of the path's parameters, decoded: for requests in process.
pub(crate) fn find<'a>(
    functions: impl Iterator<Item = &'a Registered>,
    method: &Method,
    path: &str,
) -> Option<(&'a Registered, Vec<(&'static str, String)>)> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    functions.filter(|function| function.def.route.is_some_and(|route| route.method == *method)).find_map(|function| {
        let route = function.def.route?;
        let mut router = matchit::Router::new();
        router.insert(route.path, ()).ok()?;
        let found = router.at(path).ok()?;
        let decode = |value: &str| percent_decode_str(value).decode_utf8().ok().map(|value| value.into_owned());
        let value = |name| Some((name, decode(found.params.get(name)?)?));
        let values: Option<Vec<_>> = route.path_parameters().map(value).collect();
        let values = values?;
        values.iter().all(|(_, value)| !value.is_empty()).then_some((function, values))
    })
}

/// Makes the request of a route.
pub fn request(
    function: &Registered,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    path_values: Vec<(&'static str, String)>,
) -> RouteRequest {
    let schemas = Arc::clone(function.parameter_schemas());
    RouteRequest::new(method, uri, headers, body, path_values, schemas)
}
