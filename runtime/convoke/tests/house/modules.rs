//! No circular dependencies between the top modules of a crate: a reader of one module needs no other one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use crate::circles::Crate;
use crate::root;

/// The crates to which the rule applies. In `schema`, columns of tables are values, and values hold ids of tables. In
/// `store`, commits, queries and the transaction use each other.
const CRATES: [&str; 8] = [
    "runtime/core",
    "runtime/calls",
    "runtime/http",
    "runtime/server",
    "runtime/codegen",
    "macros",
    "functions",
    "functions/reading",
];

/// Returns the circles between the top modules of a crate, each as the uses from file to file.
fn circles(source: &Path) -> Vec<BTreeSet<String>> {
    let read = Crate::read(source);
    let mut rooms = DiGraphMap::<&str, ()>::new();
    let files: Vec<_> = read.arrows().all_edges().map(|(from, to, ())| (from, to)).collect();
    for (from, to) in &files {
        // `lib.rs` names every module.
        if let (Some(from), Some(to)) = (from.first(), to.first())
            && from != to
        {
            rooms.add_edge(from.as_str(), to.as_str(), ());
        }
    }
    let knots = tarjan_scc(&rooms).into_iter().filter(|knot| knot.len() > 1);
    let within = |knot: &[&str], (from, to): &(&Vec<String>, &Vec<String>)| {
        let room = |module: &[String]| module.first().is_some_and(|first| knot.contains(&first.as_str()));
        room(from) && room(to) && from.first() != to.first()
    };
    knots
        .map(|knot| {
            let arrows = files.iter().filter(|arrow| within(&knot, arrow));
            arrows.map(|(from, to)| format!("{} -> {}", from.join("::"), to.join("::"))).collect()
        })
        .collect()
}

#[test]
fn modules_have_no_circular_uses() {
    let mut found = String::new();
    for one in CRATES {
        for circle in circles(&root().join(one).join("src")) {
            let _ = writeln!(found, "{one}:");
            circle.iter().for_each(|arrow| _ = writeln!(found, "  {arrow}"));
        }
    }
    assert!(found.is_empty(), "modules with circular dependencies:\n{found}");
}

#[test]
fn circle_of_rooms_without_a_circle_of_files_is_found() {
    let folder = tempfile::TempDir::new().unwrap();
    for (name, text) in [
        ("lib.rs", "mod kitchen;\nmod hall;"),
        ("kitchen/mod.rs", "pub mod stove;\npub mod sink;"),
        ("kitchen/stove.rs", "use crate::hall::Lamp;"),
        ("kitchen/sink.rs", "pub struct Sink;"),
        ("hall.rs", "use crate::kitchen::sink::Sink;\npub struct Lamp;"),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let expected = ["hall -> kitchen::sink", "kitchen::stove -> hall"].map(str::to_owned);
    assert_eq!(circles(folder.path()), [BTreeSet::from(expected)]);
}
