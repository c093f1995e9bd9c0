//! The error codes of a function, parsed from the `# Errors` section of its docs.

use convoke_calls::function::Kind;
use convoke_core::error::Code;

/// An error code and its condition.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) code: Code,
    /// In Markdown, on one line.
    pub(super) when: String,
}

/// Errors of every call.
const OF_EVERY_CALL: &[(Code, &str)] = &[
    (Code::Unauthenticated, "The function needs an identity, and the call has no credentials."),
    (Code::Forbidden, "The caller has no right to do this."),
    (Code::InvalidArgument, "An argument is missing, unknown, of another type or out of bounds; `field` names it."),
    (Code::RateLimited, "Too many calls by this caller; retry after `retryAfterMs`."),
    (Code::Timeout, "The call exceeded its timeout and had no effect."),
    (Code::Unavailable, "Temporarily unavailable; retry."),
];

/// Errors of every mutation with an `Idempotency-Key`.
const OF_A_MUTATION: &[(Code, &str)] = &[
    (
        Code::Conflict,
        "An earlier call with this `Idempotency-Key` succeeded, and its result was too long to be recorded.",
    ),
    (Code::IdempotencyKeyReused, "The `Idempotency-Key` was used before with other arguments."),
];

/// Returns the errors of a function, in the order of [`Code::ALL`]: those of its docs, and those of every call.
pub(super) fn of(errors: &str, kind: Kind) -> Vec<Rejection> {
    let of_kind = if kind == Kind::Mutation { OF_A_MUTATION } else { &[] };
    let said = said(errors);
    let all = Code::ALL.iter().filter(|code| code.status() == 200);
    all.filter_map(|code| {
        let own: Vec<&str> =
            said.iter().filter(|refusal| refusal.code == *code).map(|refusal| &*refusal.when).collect();
        let usual = OF_EVERY_CALL.iter().chain(of_kind).find(|(usual, _)| usual == code).map(|(_, when)| *when);
        let when = match (own.is_empty(), usual) {
            (true, None) => return None,
            (true, Some(usual)) => usual.to_owned(),
            // The docs of the function add the values that it rejects beyond those of an invalid type.
            (false, Some(usual)) if *code == Code::InvalidArgument => format!("{usual} Also: {}", own.join(" ")),
            (false, _) => own.join(" "),
        };
        Some(Rejection { code: *code, when })
    })
    .collect()
}

/// Returns the items of the section that do not begin with a code. The document omits them.
pub(super) fn unread(errors: &str) -> Vec<String> {
    items(errors).into_iter().filter(|item| head(item).is_empty()).collect()
}

fn said(errors: &str) -> Vec<Rejection> {
    items(errors).iter().flat_map(|item| head(item)).collect()
}

/// Splits the section, which is a list (``- `CODE`: when``) or sentences (`` `CODE`: when. ``).
fn items(errors: &str) -> Vec<String> {
    if errors.starts_with("- ") {
        return errors.split("\n- ").map(|item| one_line(item.strip_prefix("- ").unwrap_or(item))).collect();
    }
    let errors = one_line(errors);
    if errors.is_empty() {
        return Vec::new();
    }
    let mut starts: Vec<usize> = errors.match_indices(". `").map(|(at, _)| at + 2).collect();
    starts.insert(0, 0);
    starts.push(errors.len());
    starts.windows(2).map(|pair| errors[pair[0]..pair[1]].trim().to_owned()).collect()
}

/// Parses an item. `` `A`, `B`: when `` has two errors; an item that does not begin with a code has none.
fn head(item: &str) -> Vec<Rejection> {
    let mut rest = item;
    let mut codes = Vec::new();
    while let Some((name, behind)) = rest.strip_prefix('`').and_then(|rest| rest.split_once('`'))
        && let Some(code) = Code::ALL.iter().find(|code| code.as_str() == name)
    {
        codes.push(*code);
        rest = behind.strip_prefix(", ").or_else(|| behind.strip_prefix(" or ")).unwrap_or(behind);
    }
    let when = sentence(rest.trim_start_matches(':').trim());
    codes.into_iter().map(|code| Rejection { code, when: when.clone() }).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Adds a capital and a full stop. A quotation keeps its beginning.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default();
    if !out.is_empty() && !out.ends_with('.') {
        out.push('.');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: Code, when: &str) -> Rejection {
        Rejection { code, when: when.to_owned() }
    }

    #[test]
    fn list_and_sentences_are_parsed() {
        let list = "- `NOT_FOUND`: there is\n  none, unlike `CONFLICT`.\n- `CONFLICT`, `TIMEOUT`: \"Twice\"";
        assert_eq!(
            said(list),
            [
                refusal(Code::NotFound, "There is none, unlike `CONFLICT`."),
                refusal(Code::Conflict, "\"Twice\"."),
                refusal(Code::Timeout, "\"Twice\"."),
            ]
        );
        assert_eq!(
            said("`FORBIDDEN`: not theirs. `NOT_FOUND`: gone;\n`count` says it."),
            [refusal(Code::Forbidden, "Not theirs."), refusal(Code::NotFound, "Gone; `count` says it.")]
        );
        assert_eq!(said("A failure of the store."), []);
        assert_eq!(unread("A failure of the store."), ["A failure of the store."]);
        assert_eq!(unread(list), [""; 0]);
    }

    #[test]
    fn docs_of_the_function_replace_the_common_text() {
        let all = of("- `FORBIDDEN`: no host.\n- `CONFLICT`: twice.", Kind::Query);
        let codes: Vec<&str> = all.iter().map(|refusal| refusal.code.as_str()).collect();
        let expected =
            ["UNAUTHENTICATED", "FORBIDDEN", "INVALID_ARGUMENT", "CONFLICT", "RATE_LIMITED", "TIMEOUT", "UNAVAILABLE"];
        assert_eq!(codes, expected);
        assert_eq!(all[1].when, "No host.");
    }
}
