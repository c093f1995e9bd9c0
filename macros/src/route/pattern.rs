//! The checks of a path.

use syn::LitStr;

use crate::errors::Errors;

/// Paths that belong to the server.
const RESERVED: [&str; 9] =
    ["/api", "/console", "/docs", "/openapi.json", "/metrics", "/healthz", "/readyz", "/files", "/mcp"];

/// Largest number of parameters in a path.
const PARAMETERS_MAX: usize = 4;

/// Checks a path, and returns the names of its parameters.
pub(super) fn parameters(path: &LitStr, errors: &mut Errors) -> Vec<String> {
    let text = path.value();
    let found = match names(&text) {
        Ok(names) => names,
        Err(mistake) => {
            errors.at(path, mistake);
            return Vec::new();
        }
    };
    let is_below = |reserved: &&&str| {
        text.strip_prefix(**reserved).is_some_and(|rest| matches!(rest.chars().next(), None | Some('/')))
    };
    if let Some(reserved) = RESERVED.iter().find(is_below) {
        errors.at(path, format!("paths below `{reserved}` belong to the server; choose another path"));
    }
    found
}

fn names(path: &str) -> Result<Vec<String>, String> {
    let Some(rest) = path.strip_prefix('/') else {
        return Err("a path begins with `/`".to_owned());
    };
    let segments: Vec<&str> = rest.split('/').collect();
    let mut names: Vec<String> = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        let is_last = at + 1 == segments.len();
        if segment.is_empty() && !is_last {
            return Err("a path has no empty segment: remove one `/`".to_owned());
        }
        if matches!(*segment, "." | "..") {
            return Err(format!("clients resolve the segment `{segment}` themselves; remove it"));
        }
        if let Some(name) = parameter(segment, is_last)? {
            if names.contains(&name) {
                return Err(format!("the path has two parameters `{name}`"));
            }
            names.push(name);
        }
    }
    match names.len() {
        ..=PARAMETERS_MAX => Ok(names),
        count => Err(format!("a path has at most {PARAMETERS_MAX} parameters (got {count})")),
    }
}

/// Returns the name of the parameter in a segment, if it has one.
fn parameter(segment: &str, is_last: bool) -> Result<Option<String>, String> {
    let Some((before, rest)) = segment.split_once('{') else { return text(segment).map(|()| None) };
    let Some((name, after)) = rest.split_once('}') else { return Err("a `{` has no `}` in its segment".to_owned()) };
    text(before)?;
    if after.contains('{') {
        return Err("a segment has at most one parameter".to_owned());
    }
    text(after)?;
    let bare = name.strip_prefix('*').unwrap_or(name);
    if bare.len() < name.len() && !(is_last && before.is_empty() && after.is_empty()) {
        return Err(format!("`{{*{bare}}}` matches the rest of a path, so it is the whole last segment"));
    }
    match syn::parse_str::<syn::Ident>(bare) {
        Ok(_) => Ok(Some(bare.to_owned())),
        Err(_) => Err(format!("`{bare}` cannot be the name of a parameter")),
    }
}

/// Checks the characters of a text (RFC 3986 §3.3, without percent-encoding: a path is compared as it is sent).
fn text(segment: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@".contains(c);
    match segment.chars().find(|c| !fits(*c)) {
        Some(wrong) => Err(format!("a path cannot have the character {wrong:?}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_texts_around_them() {
        assert_eq!(names("/").unwrap(), Vec::<String>::new());
        assert_eq!(names("/calendar/{meeting}.ics").unwrap(), ["meeting"]);
        assert_eq!(names("/a/v{x}-1/{*rest}").unwrap(), ["x", "rest"]);
        assert_eq!(names("/a/").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn paths_that_no_request_reaches_are_rejected() {
        for path in [
            "", "a", "//", "/a//b", "/a b", "/a?b", "/%41", "/{a", "/{}", "/{a}{b}", "/{*a}/b", "/x{*a}", "/{a}/{a}",
            "/../a", "/ä",
        ] {
            names(path).unwrap_err();
        }
    }
}
