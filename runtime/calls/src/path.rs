//! Paths of functions and workflows.

use heck::ToLowerCamelCase as _;

/// Returns the path of a function or workflow: its modules below the crate and its name, in camelCase.
pub(crate) fn path_of(module: &str, name: &str) -> Option<String> {
    let (_, modules) = module.split_once("::")?;
    let names = modules.split("::").chain([name]);
    Some(names.map(|name| name.trim_start_matches("r#").to_lower_camel_case()).collect::<Vec<_>>().join("/"))
}
