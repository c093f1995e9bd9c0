//! Files that comments name exist.

use std::collections::BTreeSet;

use regex_lite::Regex;

use crate::{files, root};

/// Files that are not in this repository: files of an installation or an author, and generated files.
const ELSEWHERE: [&str; 3] = ["src/convoke.rs", "examples/client/src/convoke.rs", "AGENTS.md"];

#[test]
fn comments_name_files_that_exist() {
    let root = root();
    let mut all = Vec::new();
    for ending in [".rs", ".md", ".toml", ".sh", ".py", ".ts", ".js", ".json", ".txt", ".yml"] {
        files(&root, ending, &mut all);
    }
    let paths: BTreeSet<String> =
        all.iter().map(|path| format!("/{}", path.strip_prefix(&root).unwrap().display())).collect();
    let name = Regex::new(r"[A-Za-z0-9_][A-Za-z0-9_./-]*\.(?:rs|md|sh|py)\b").unwrap();
    let mut missing = Vec::new();
    let mut seen = 0;
    for path in all.iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
        for (number, line) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
            let Some((_, comment)) = ["/// ", "//! ", "// "].iter().find_map(|mark| line.split_once(mark)) else {
                continue;
            };
            for file in name.find_iter(comment).map(|found| found.as_str()) {
                seen += 1;
                let file = file.trim_start_matches("../").trim_start_matches("./");
                let exists = paths.iter().any(|one| one.ends_with(&format!("/{file}")));
                if !exists && !ELSEWHERE.contains(&file) {
                    let place = path.strip_prefix(&root).unwrap().display();
                    missing.push(format!("{place}:{}: {file}", number + 1));
                }
            }
        }
    }
    assert!(seen > 3, "only {seen} names of files were seen");
    assert!(missing.is_empty(), "comments name files which do not exist:\n{}", missing.join("\n"));
}
