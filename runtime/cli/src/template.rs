//! The files of a new program. They are real files in `templates/`, which the repository's tests compile and run.
//!
//! Two places in them are filled in: `{{name}}` and `{{convoke}}`, the dependency. Names with a dot at the beginning, and
//! `Cargo.toml`, have other names there, because Cargo and Git would follow them.

use crate::name::Name;

/// The kinds of programs.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Template {
    /// Functions and their tests
    Minimal,
    /// Functions, and a page in React with a live list and an optimistic update
    React,
}

/// A file: its path in the new program, and its text.
type File = (&'static str, &'static str);

/// Includes a file of `templates/`.
macro_rules! template {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/templates/", $path))
    };
}

/// Files of all programs.
const COMMON: &[File] = &[
    ("Cargo.toml", template!("minimal/manifest.toml")),
    (".cargo/config.toml", template!("minimal/cargo-config.toml")),
    (".dockerignore", template!("minimal/dockerignore")),
    ("Dockerfile", template!("minimal/Dockerfile")),
    ("src/main.rs", template!("minimal/src/main.rs")),
    ("src/books.rs", template!("minimal/src/books.rs")),
    ("src/tests.rs", template!("minimal/src/tests.rs")),
];

const MINIMAL: &[File] = &[
    (".github/workflows/ci.yml", template!("minimal/ci.yml")),
    (".gitignore", template!("minimal/gitignore")),
    ("AGENTS.md", template!("minimal/AGENTS.md")),
    ("README.md", template!("minimal/README.md")),
];

const REACT: &[File] = &[
    (".github/workflows/ci.yml", template!("react/ci.yml")),
    (".gitignore", template!("react/gitignore")),
    ("AGENTS.md", template!("react/AGENTS.md")),
    ("README.md", template!("react/README.md")),
    ("convoke.toml", template!("react/convoke.toml")),
    ("web/index.html", template!("react/web/index.html")),
    ("web/package.json", template!("react/web/package.json")),
    ("web/tsconfig.json", template!("react/web/tsconfig.json")),
    ("web/vite.config.ts", template!("react/web/vite.config.ts")),
    ("web/src/api.ts", template!("react/web/src/api.ts")),
    ("web/src/main.tsx", template!("react/web/src/main.tsx")),
    ("web/src/Shelf.tsx", template!("react/web/src/Shelf.tsx")),
];

impl Template {
    /// Returns the files of a program: each path with its text.
    pub(crate) fn files(self, name: &Name, dependency: &str) -> Vec<(&'static str, String)> {
        let own = match self {
            Self::Minimal => MINIMAL,
            Self::React => REACT,
        };
        let filled = |text: &str| text.replace("{{name}}", name.as_str()).replace("{{convoke}}", dependency);
        COMMON.iter().chain(own).map(|(path, text)| (*path, filled(text))).collect()
    }

    /// Returns true if the program has a page, which Node.js builds.
    pub(crate) fn has_page(self) -> bool {
        matches!(self, Self::React)
    }

    /// Returns the commands that the author runs next.
    pub(crate) fn next_steps(self, name: &Name) -> String {
        let page = match self {
            Self::Minimal => "",
            Self::React => "\n  cd web && npm install && npm run dev      in a second terminal: the page",
        };
        format!(
            "Next (the first build takes some minutes):\n  cd {name}\n  cargo run -- dev                          the \
             server on this machine{page}\n  cargo test                                the tests"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_place_is_filled_in() {
        let name: Name = "shelf".parse().unwrap();
        for template in [Template::Minimal, Template::React] {
            let files = template.files(&name, "convoke = \"0.2\"");
            let paths: BTreeSet<_> = files.iter().map(|(path, _)| path).collect();
            assert_eq!(paths.len(), files.len(), "a path occurs twice");
            for (path, text) in &files {
                // Expressions of the workflow file are `${{ … }}`.
                assert!(!text.replace("${{", "").contains("{{"), "{path}");
                assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{path}");
            }
            let manifest = &files.iter().find(|(path, _)| *path == "Cargo.toml").unwrap().1;
            assert!(
                manifest.contains("name = \"shelf\"\n") && manifest.contains("\nconvoke = \"0.2\"\n"),
                "{manifest}"
            );
        }
    }

    #[test]
    fn every_file_of_the_folder_is_in_a_template() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("templates")];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                // Build outputs of an author who tried a page here.
                if path.ends_with("node_modules") || path.ends_with("dist") {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                files += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                let is_included = [COMMON, MINIMAL, REACT].iter().any(|all| all.iter().any(|(_, one)| *one == text));
                assert!(is_included, "{} is in no template", path.display());
            }
        }
        assert_eq!(files, COMMON.len() + MINIMAL.len() + REACT.len());
    }
}
