//! The name of a new program: a name that Cargo and rustc accept for a crate.

use std::fmt;
use std::str::FromStr;

/// Longest name, in characters. The package registry accepts no longer one.
const CHARS_MAX: usize = 64;

/// Keywords of Rust, also reserved ones: a crate's name is an identifier.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Names of crates and build folders that a program's own name would hide.
const TAKEN: &[&str] = &[
    "alloc",
    "build",
    "convoke",
    "core",
    "deps",
    "examples",
    "incremental",
    "proc-macro",
    "proc_macro",
    "std",
    "test",
];

/// A valid name of a crate.
#[derive(Clone, Debug)]
pub(crate) struct Name(String);

impl Name {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(['/', '\\']) {
            return Err("give a name, not a path: change to the folder that will contain the program".to_owned());
        }
        if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err("the name of a crate begins with a letter, such as `shelf`".to_owned());
        }
        if let Some(c) = text.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_')) {
            return Err(format!("the name of a crate has letters, digits, `-` and `_` only, so remove {c:?}"));
        }
        if text.len() > CHARS_MAX {
            return Err(format!("the name of a crate has at most {CHARS_MAX} characters (got {})", text.len()));
        }
        if KEYWORDS.contains(&text) {
            return Err(format!("`{text}` is a keyword of Rust; choose another name, such as `my-{text}`"));
        }
        if TAKEN.contains(&text) {
            return Err(format!("`{text}` is a name that Cargo uses; choose another name, such as `my-{text}`"));
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_crates_are_accepted_and_others_say_what_to_do() {
        let longest = "a".repeat(CHARS_MAX);
        for name in ["shelf", "my-shelf", "Shelf_2", &longest] {
            assert!(name.parse::<Name>().is_ok(), "{name}");
        }
        let too_long = "a".repeat(CHARS_MAX + 1);
        for (name, advice) in [
            ("", "begins with a letter"),
            ("2shelf", "begins with a letter"),
            ("-shelf", "begins with a letter"),
            ("../shelf", "not a path"),
            ("my shelf", "remove ' '"),
            ("étagère", "begins with a letter"),
            ("caf\u{e9}", "remove 'é'"),
            ("match", "`my-match`"),
            ("convoke", "`my-convoke`"),
            (too_long.as_str(), "at most 64 characters (got 65)"),
        ] {
            let error = name.parse::<Name>().map(|name| name.to_string()).unwrap_err();
            assert!(error.contains(advice), "{name}: {error}");
        }
    }
}
