//! Paths and functions in the documents exist.

use std::path::Path;

/// Returns every `path/in/backticks` of a document that looks like a path of this repository.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|word| {
        let roots = ["runtime/", "macros/", "schema/", "functions/", "examples/", "deploy/", "docs/"];
        roots.iter().any(|root| word.starts_with(root)) && !word.contains(['*', ' ', '…', '\n'])
    })
}

#[test]
fn every_path_in_a_document_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut documents = vec![root.join("README.md"), root.join("CONTRIBUTING.md"), root.join("ARCHITECTURE.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                documents.push(path);
            }
        }
    }
    let mut named = 0;
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap();
        for path in paths(&text) {
            named += 1;
            assert!(root.join(path).exists(), "{}: {path} is not there", document.display());
        }
    }
    assert!(named > 100, "the documents name {named} paths in backticks");
}

#[test]
fn readme_functions_are_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let tested = std::fs::read_to_string(root.join("examples/tests/in_process.rs")).unwrap();
    let tested: Vec<&str> = tested.lines().map(str::trim).collect();
    let block = readme.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(block.lines().count() > 30, "{block}");
    for line in block.lines().map(str::trim) {
        assert!(tested.contains(&line), "`{line}` is not in examples/tests/in_process.rs");
    }
}
