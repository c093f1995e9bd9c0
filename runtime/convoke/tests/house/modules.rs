//! No circle between the modules at the top of a crate: who reads one from its folder's name has to read no second.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use regex_lite::Regex;

use crate::{files, root};

/// The crates that are made of rooms. `http` is one room of many files; in `schema` a table's columns are values, and
/// values hold the ids of tables.
const CRATES: [&str; 6] = ["runtime/core", "runtime/calls", "runtime/server", "runtime/codegen", "macros", "functions"];

/// Which modules at the top of a crate a file of it names: `crate::a`, `crate::{a, b::C}`, and `super` as far up.
fn named(text: &str, depth: usize) -> BTreeSet<String> {
    // What tests of a file need is no arrow of the house.
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let up = vec!["super"; depth].join("::");
    let top = if depth == 0 { "crate".to_owned() } else { format!("(?:crate|{up})") };
    let single = Regex::new(&format!(r"(?:^|[^:$\w]){top}::([a-z_][a-z0-9_]*)")).unwrap();
    let group = Regex::new(&format!(r"(?s)(?:^|[^:$\w]){top}::\{{(.*?)\}};")).unwrap();
    let member = Regex::new(r"(?:^|,)\s*([a-z_][a-z0-9_]*)").unwrap();
    let mut found: BTreeSet<String> = single.captures_iter(&code).map(|found| found[1].to_owned()).collect();
    for list in group.captures_iter(&code) {
        // The braces within one name what lies in a module, and are no modules at the top.
        let flat = Regex::new(r"(?s)\{.*?\}").unwrap().replace_all(&list[1], "").into_owned();
        found.extend(member.captures_iter(&flat).map(|one| one[1].to_owned()));
    }
    found
}

/// Each module at the top of a crate with those that it names.
fn arrows(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut all = Vec::new();
    files(source, ".rs", &mut all);
    let mut arrows = BTreeMap::<String, BTreeSet<String>>::new();
    for path in all {
        let inside = path.strip_prefix(source).unwrap();
        let parts: Vec<_> = inside.components().map(|part| part.as_os_str().to_str().unwrap()).collect();
        let module = parts[0].trim_end_matches(".rs").to_owned();
        if matches!(&*module, "lib" | "main" | "__private" | "attributes") {
            continue;
        }
        let is_file_of_a_folder = parts.len() > 1 && parts.last() != Some(&"mod.rs");
        let depth = parts.len() - usize::from(!is_file_of_a_folder && parts.len() > 1);
        arrows.entry(module).or_default().extend(named(&std::fs::read_to_string(&path).unwrap(), depth));
    }
    let modules: BTreeSet<String> = arrows.keys().cloned().collect();
    for (module, named) in &mut arrows {
        named.retain(|one| one != module && modules.contains(one));
    }
    arrows
}

/// The circles of a crate, each as the arrows that make it.
fn circles(arrows: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut graph = DiGraphMap::<&str, ()>::new();
    for (from, to) in arrows.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to))) {
        graph.add_edge(from, to, ());
    }
    let within = |knot: &[&str]| {
        let inside = |one: &&String| knot.contains(&one.as_str());
        let lines = knot.iter().map(|from| {
            let to: Vec<_> = arrows[*from].iter().filter(inside).map(String::as_str).collect();
            format!("  {from} -> {}", to.join(", "))
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    tarjan_scc(&graph).iter().filter(|knot| knot.len() > 1).map(|knot| within(knot)).collect()
}

#[test]
fn no_modules_know_each_other_in_a_circle() {
    let mut found = Vec::new();
    for one in CRATES {
        let arrows = arrows(&root().join(one).join("src"));
        assert!(!arrows.is_empty(), "{one} has no modules");
        found.extend(circles(&arrows).iter().map(|circle| format!("{one}:\n{circle}")));
    }
    assert!(found.is_empty(), "modules that know each other in a circle:\n{}", found.join("\n"));
}

#[test]
fn a_circle_is_found() {
    let text = "use crate::{a::B, c};\nuse super::super::d;\n// crate::e\nfn f() { crate::g::h() }\n#[cfg(test)]\nuse crate::i;";
    let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(named(text, 2), all(&["a", "c", "d", "g"]));

    let ring =
        BTreeMap::from([("a".to_owned(), all(&["b"])), ("b".to_owned(), all(&["c"])), ("c".to_owned(), all(&["a"]))]);
    assert_eq!(circles(&ring).len(), 1);
    let line = BTreeMap::from([("a".to_owned(), all(&["b"])), ("b".to_owned(), all(&[]))]);
    assert_eq!(circles(&line).len(), 0);
}
