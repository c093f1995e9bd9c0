//! The doc comments in generated clients.

use heck::ToLowerCamelCase as _;

/// Removes the syntax of rustdoc from a doc comment: links to items become code with the names on the wire.
pub(crate) fn plain(doc: &str) -> String {
    let mut out = String::with_capacity(doc.len());
    let mut rest = doc;
    while let Some(start) = rest.find("[`") {
        out.push_str(&rest[..start]);
        let inside = &rest[start + 2..];
        match inside.split_once("`]") {
            Some((item, after)) if !item.contains(['`', '\n']) => {
                out.push('`');
                out.push_str(&wire_name(item));
                out.push('`');
                // The target of `[text](target)` has no meaning for clients.
                rest = match after.strip_prefix('(').and_then(|target| target.split_once(')')) {
                    Some((_, after)) => after,
                    None => after,
                };
            }
            Some(_) | None => {
                out.push_str("[`");
                rest = inside;
            }
        }
    }
    out.push_str(rest);
    out.trim().to_owned()
}

/// The name of an item on the wire: the last part of its path, in camelCase if it was in snake_case.
fn wire_name(item: &str) -> String {
    let item = item.rsplit("::").next().unwrap_or(item);
    match item.contains('_') && item.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
        true => item.to_lower_camel_case(),
        false => item.to_owned(),
    }
}

/// Appends the rule of a member to its doc comment, unless the comment contains it.
pub(crate) fn with_rule(doc: &str, rule: Option<&str>) -> String {
    match rule {
        Some(rule) if doc.is_empty() => rule.to_owned(),
        Some(rule) if !doc.contains(rule.trim_end_matches('.')) => {
            let between = if doc.contains('\n') || !doc.ends_with(['.', '?', '!']) { "\n\n" } else { " " };
            format!("{doc}{between}{rule}")
        }
        Some(_) | None => doc.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_items_become_code_with_their_wire_names() {
        assert_eq!(
            plain("Arguments of [`save_onboarding`], see [`a::B`](x)."),
            "Arguments of `saveOnboarding`, see `B`."
        );
        assert_eq!(plain("open [`` and `x` [1]"), "open [`` and `x` [1]");
    }
}
