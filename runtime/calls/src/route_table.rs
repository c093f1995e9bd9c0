//! The routes of a program, and the check at start that no request fits two of them.

use std::collections::HashSet;

use http::Method;
use percent_encoding::percent_decode_str;

use crate::function::FunctionDef;
use crate::route::definition::RouteDef;
use crate::route::overlap::overlaps;

/// Returns the mistakes of the routes among `functions`, each after the place of its function.
pub(crate) fn mistakes(functions: impl Iterator<Item = &'static FunctionDef>) -> Vec<String> {
    let mut routes: Vec<_> = functions.filter_map(|function| Some((function, function.route?))).collect();
    routes.sort_by_key(|(function, _)| (function.file, function.line));
    let place = |function: &FunctionDef| format!("{}:{}", function.file, function.line);
    let (mut mistakes, mut patterns, mut router) = (Vec::new(), HashSet::new(), matchit::Router::new());
    for (at, (function, route)) in routes.iter().enumerate() {
        let is_twin = |other: &&(&FunctionDef, _)| {
            let (_, other): &(_, &RouteDef) = other;
            other.method == route.method && overlaps(other.path, route.path)
        };
        if let Some((first, other)) = routes[..at].iter().find(is_twin) {
            mistakes.push(format!(
                "{}: the route {route} and the route {other} at {} could match the same request; change one of the paths",
                place(function),
                place(first)
            ));
        } else if patterns.insert(route.pattern())
            && let Err(error) = router.insert(route.pattern(), ())
        {
            mistakes.push(format!("{}: the path of the route {route} cannot be used: {error}", place(function)));
        }
    }
    mistakes
}

/// A function, and the decoded values of the parameters in the path of its route.
pub(crate) type Found = (&'static FunctionDef, Vec<(&'static str, String)>);

/// Returns the route of a method and a path, for requests in process.
pub(crate) fn find(
    mut functions: impl Iterator<Item = &'static FunctionDef>,
    method: &Method,
    path: &str,
) -> Option<Found> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    functions.find_map(|function| {
        let route = function.route.filter(|route| route.method == *method)?;
        let mut router = matchit::Router::new();
        router.insert(route.path, ()).ok()?;
        let found = router.at(path).ok()?;
        let value = |name| {
            let decoded = percent_decode_str(found.params.get(name)?).decode_utf8().ok()?;
            (!decoded.is_empty()).then(|| (name, decoded.into_owned()))
        };
        Some((function, route.path_parameters().map(value).collect::<Option<_>>()?))
    })
}
