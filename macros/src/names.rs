//! Conversion of Rust names to names on the wire.

use heck::{ToKebabCase as _, ToLowerCamelCase as _, ToShoutySnakeCase as _, ToSnakeCase as _};
use syn::Ident;
use syn::ext::IdentExt as _;

/// The spelling of a list of names on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// `non-binary`
    Kebab,
    /// `nonBinary`
    Camel,
    /// `non_binary`
    Snake,
    /// `NON_BINARY`
    ScreamingSnake,
    /// `NonBinary`
    Pascal,
    /// `nonbinary`
    Lower,
}

impl Spelling {
    const ALL: [(&'static str, Spelling); 6] = [
        ("kebab-case", Spelling::Kebab),
        ("camelCase", Spelling::Camel),
        ("snake_case", Spelling::Snake),
        ("SCREAMING_SNAKE_CASE", Spelling::ScreamingSnake),
        ("PascalCase", Spelling::Pascal),
        ("lowercase", Spelling::Lower),
    ];

    /// Returns the spelling that `text` names, or an error with the known spellings.
    pub(crate) fn named(text: &str) -> Result<Self, String> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, spelling)| *spelling).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            format!("`rename_all` is one of {}", names.join(", "))
        })
    }

    /// Returns the wire name of a variant.
    pub(crate) fn of(self, variant: &Ident) -> String {
        let pascal = variant.unraw().to_string();
        match self {
            Spelling::Kebab => pascal.to_kebab_case(),
            Spelling::Snake => pascal.to_snake_case(),
            Spelling::ScreamingSnake => pascal.to_shouty_snake_case(),
            Spelling::Camel => pascal.to_lower_camel_case(),
            Spelling::Lower => pascal.to_lowercase(),
            Spelling::Pascal => pascal,
        }
    }
}

/// Returns the camelCase name of a field: `meetingId` for `meeting_id`, `type` for `r#type`.
pub(crate) fn camel(field: &Ident) -> String {
    field.unraw().to_string().to_lower_camel_case()
}

/// Returns true if `written` may be a misspelling of `name`: few letters differ.
pub(crate) fn near(name: &str, written: &str) -> bool {
    strsim::osa_distance(&name.to_lowercase(), &written.to_lowercase()) <= (name.len() / 4).max(1)
}

#[cfg(test)]
mod tests {
    use quote::format_ident;

    use super::*;

    #[test]
    fn variants_have_the_requested_spelling() {
        let name = format_ident!("PreferNotToSay");
        for (spelling, expected) in [
            (Spelling::Kebab, "prefer-not-to-say"),
            (Spelling::Camel, "preferNotToSay"),
            (Spelling::Snake, "prefer_not_to_say"),
            (Spelling::ScreamingSnake, "PREFER_NOT_TO_SAY"),
            (Spelling::Pascal, "PreferNotToSay"),
            (Spelling::Lower, "prefernottosay"),
        ] {
            assert_eq!(spelling.of(&name), expected);
        }
    }

    #[test]
    fn fields_are_camel_case() {
        for (field, expected) in [("meeting_id", "meetingId"), ("r#type", "type"), ("_id", "id"), ("p95", "p95")] {
            let field: Ident = syn::parse_str(field).unwrap();
            assert_eq!(camel(&field), expected);
        }
    }
}
