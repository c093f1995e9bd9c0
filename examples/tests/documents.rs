//! What the documents name exists.

use std::path::Path;

/// Every `path/in/backticks` of a document that looks like one of this repository.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|word| {
        let roots = ["runtime/", "macros/", "schema/", "functions/", "examples/", "deploy/", "docs/"];
        roots.iter().any(|root| word.starts_with(root)) && !word.contains(['*', ' ', '…', '\n'])
    })
}

#[test]
fn every_path_that_a_document_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for document in ["README.md", "ARCHITECTURE.md", "docs/operate.md", "docs/develop.md"] {
        let text = std::fs::read_to_string(root.join(document)).unwrap();
        let named: Vec<&str> = paths(&text).collect();
        assert!(named.len() > 1, "{document} names paths in backticks");
        for path in named {
            // README asks the reader to make this one.
            assert!(
                root.join(path).exists() || path == "functions/src/greetings.rs",
                "{document}: {path} is not there"
            );
        }
    }
}
