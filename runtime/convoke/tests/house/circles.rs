//! No circular dependencies between the files of a crate: a reader of one file of a circle needs all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use syn::visit::Visit;

use crate::{files, root};

/// The path of a module in its crate, as segments.
pub(crate) type ModulePath = Vec<String>;

/// A module with a file of its own.
#[derive(Default)]
pub(crate) struct Module {
    /// Names of items that the file defines.
    items: BTreeSet<String>,
    /// Names that the file re-exports or imports, with their paths.
    imports: BTreeMap<String, ModulePath>,
    /// Modules whose names the file re-exports or imports all of.
    globs: Vec<ModulePath>,
    /// Every path that the file writes out, with the number of inline modules around it.
    paths: Vec<ModulePath>,
}

/// Reads a file. Paths in inline modules lose the `super` that leaves these modules.
struct Reader<'m> {
    module: &'m mut Module,
    inline_depth: usize,
}

fn is_of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("cfg") && list.tokens.to_string().contains("test")
    })
}

impl Reader<'_> {
    fn add(&mut self, mut path: ModulePath) {
        if self.inline_depth > 0 {
            let ups = path.iter().take_while(|segment| *segment == "super").count();
            if ups == 0 && path.first().is_none_or(|first| first != "crate") {
                return;
            }
            path.drain(..ups.min(self.inline_depth));
            if ups > 0 && ups <= self.inline_depth {
                path.insert(0, "self".to_owned());
            }
        }
        self.module.paths.push(path);
    }

    fn import(&mut self, prefix: &ModulePath, tree: &syn::UseTree) {
        let with = |name: &dyn ToString| {
            let mut path = prefix.clone();
            path.push(name.to_string());
            path
        };
        match tree {
            syn::UseTree::Path(path) => self.import(&with(&path.ident), &path.tree),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(prefix, tree)),
            syn::UseTree::Name(name) if name.ident == "self" => self.bind(prefix.last().cloned(), prefix.clone()),
            syn::UseTree::Name(name) => self.bind(Some(name.ident.to_string()), with(&name.ident)),
            syn::UseTree::Rename(rename) => self.bind(Some(rename.rename.to_string()), with(&rename.ident)),
            syn::UseTree::Glob(_) => {
                self.module.globs.push(prefix.clone());
                self.add(prefix.clone());
            }
        }
    }

    fn bind(&mut self, name: Option<String>, path: ModulePath) {
        if self.inline_depth == 0 {
            self.module.imports.extend(name.map(|name| (name, path.clone())));
        }
        self.add(path);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let (attributes, name) = match item {
            syn::Item::Const(one) => (&one.attrs, Some(&one.ident)),
            syn::Item::Enum(one) => (&one.attrs, Some(&one.ident)),
            syn::Item::Fn(one) => (&one.attrs, Some(&one.sig.ident)),
            syn::Item::Static(one) => (&one.attrs, Some(&one.ident)),
            syn::Item::Struct(one) => (&one.attrs, Some(&one.ident)),
            syn::Item::Trait(one) => (&one.attrs, Some(&one.ident)),
            syn::Item::Type(one) => (&one.attrs, Some(&one.ident)),
            syn::Item::Mod(one) => (&one.attrs, None),
            syn::Item::Impl(one) => (&one.attrs, None),
            syn::Item::Macro(one) => (&one.attrs, one.ident.as_ref()),
            syn::Item::Use(one) => (&one.attrs, None),
            _ => return syn::visit::visit_item(self, item),
        };
        if is_of_tests(attributes) {
            return;
        }
        if self.inline_depth == 0 {
            self.module.items.extend(name.map(ToString::to_string));
        }
        syn::visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.inline_depth += 1;
        syn::visit::visit_item_mod(self, item);
        self.inline_depth -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&Vec::new(), &item.tree);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.add(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }
}

/// Returns the modules of a crate by their paths.
pub(crate) struct Crate(BTreeMap<ModulePath, Module>);

impl Crate {
    pub(crate) fn read(source: &Path) -> Self {
        let mut all = Vec::new();
        files(source, ".rs", &mut all);
        let mut modules = BTreeMap::new();
        for path in all {
            let inside = path.strip_prefix(source).unwrap();
            let mut segments: Vec<String> =
                inside.components().map(|part| part.as_os_str().to_str().unwrap().to_owned()).collect();
            let last = segments.pop().unwrap();
            match last.trim_end_matches(".rs") {
                "lib" | "mod" => {}
                // A program beside a library, which uses it from outside.
                "main" | "build" if segments.is_empty() => continue,
                "tests" => continue,
                name => segments.push(name.to_owned()),
            }
            let file = syn::parse_file(&std::fs::read_to_string(&path).unwrap());
            let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let mut module = Module::default();
            Reader { module: &mut module, inline_depth: 0 }.visit_file(&file);
            modules.insert(segments, module);
        }
        Self(modules)
    }

    /// Returns the module that defines the item of a path, as seen from a module; `None` for another crate.
    fn definer(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<ModulePath> {
        const DEPTH_MAX: usize = 16;
        if depth > DEPTH_MAX {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let mut at = from.clone();
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                at.pop()?;
                let mut rest = rest;
                while rest.first().is_some_and(|segment| segment == "super") {
                    at.pop()?;
                    rest = &rest[1..];
                }
                return self.walk(at, rest, depth);
            }
            _ => {
                at.push(first.clone());
                if !self.0.contains_key(&at) {
                    // A name in scope: its import is an arrow already.
                    return None;
                }
            }
        }
        self.walk(at, rest, depth)
    }

    fn walk(&self, at: ModulePath, path: &[String], depth: usize) -> Option<ModulePath> {
        let Some((name, rest)) = path.split_first() else { return Some(at) };
        let mut inner = at.clone();
        inner.push(name.clone());
        if self.0.contains_key(&inner) {
            return self.walk(inner, rest, depth);
        }
        let module = self.0.get(&at)?;
        if module.items.contains(name) {
            return Some(at);
        }
        if let Some(target) = module.imports.get(name) {
            let full: Vec<String> = target.iter().chain(rest).cloned().collect();
            return self.definer(&at, &full, depth + 1);
        }
        for glob in &module.globs {
            let full: Vec<String> = glob.iter().chain(path).cloned().collect();
            if let Some(found) = self.definer(&at, &full, depth + 1)
                && self.0.get(&found).is_some_and(|module| module.items.contains(name))
            {
                return Some(found);
            }
        }
        // An item of another crate, if there are names of such; else of an inline module or of a macro.
        let is_foreign = |glob: &ModulePath| self.definer(&at, glob, depth + 1).is_none();
        (!module.globs.iter().any(is_foreign)).then_some(at)
    }

    /// Returns each module with the modules that it uses.
    pub(crate) fn arrows(&self) -> DiGraphMap<&ModulePath, ()> {
        let mut graph = DiGraphMap::new();
        for (from, module) in &self.0 {
            for path in &module.paths {
                let Some(to) = self.definer(from, path, 0) else { continue };
                if let Some((to, _)) = self.0.get_key_value(&to)
                    && to != from
                {
                    graph.add_edge(from, to, ());
                }
            }
        }
        graph
    }
}

/// Returns the name of a module's file below `src`.
fn file_of(source: &Path, module: &[String]) -> String {
    let joined = module.join("/");
    let candidates = [format!("{joined}.rs"), format!("{joined}/mod.rs"), "lib.rs".to_owned()];
    candidates.into_iter().find(|name| source.join(name.trim_start_matches('/')).is_file()).unwrap_or(joined)
}

/// Returns the circles of a crate. Each is a list of files with the files of the circle that they use.
fn circles(source: &Path) -> Vec<BTreeMap<String, Vec<String>>> {
    let read = Crate::read(source);
    let graph = read.arrows();
    let knots = tarjan_scc(&graph).into_iter().filter(|knot| knot.len() > 1);
    let described = knots.map(|knot| {
        let uses = |from: &ModulePath| {
            let mut to: Vec<String> =
                graph.neighbors(from).filter(|to| knot.contains(to)).map(|to| file_of(source, to)).collect();
            to.sort();
            to
        };
        knot.iter().map(|module| (file_of(source, module), uses(module))).collect()
    });
    let mut all: Vec<BTreeMap<String, Vec<String>>> = described.collect();
    all.sort();
    all
}

/// Returns the folders of source code of all crates.
fn sources() -> Vec<PathBuf> {
    let mut manifests = Vec::new();
    files(&root(), "Cargo.toml", &mut manifests);
    let sources = manifests.iter().map(|manifest| manifest.with_file_name("src"));
    let mut sources: Vec<PathBuf> = sources.filter(|source| source.join("lib.rs").is_file()).collect();
    sources.sort();
    sources
}

#[test]
fn files_have_no_circular_uses() {
    let mut found = String::new();
    let sources = sources();
    assert!(sources.len() > 10, "only {} crates were read", sources.len());
    for source in sources {
        for circle in circles(&source) {
            let _ = writeln!(found, "{}:", source.strip_prefix(root()).unwrap().display());
            circle.iter().for_each(|(from, to)| _ = writeln!(found, "  {from} -> {}", to.join(", ")));
        }
    }
    assert!(found.is_empty(), "files with circular dependencies:\n{found}");
}

#[test]
fn circle_is_found_through_a_re_export() {
    let folder = tempfile::TempDir::new().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod room;\nmod yard;\npub use room::Table;\n#[cfg(test)]\nuse room::Chair;");
    write("room/mod.rs", "mod chair;\nmod table;\npub use chair::Chair;\npub use table::*;");
    write("room/chair.rs", "pub struct Chair(crate::Table);");
    write("room/table.rs", "use super::Chair;\npub struct Table(Option<Box<Chair>>);");
    write("yard.rs", "use crate::{Table, room::Chair};\nstruct Yard(Table, Chair);");
    let found = circles(folder.path());
    let names: Vec<Vec<&String>> = found.iter().map(|circle| circle.keys().collect()).collect();
    assert_eq!(names, [["room/chair.rs", "room/table.rs"]]);
    write("room/table.rs", "#[cfg(test)]\nuse super::Chair;\npub struct Table;");
    assert_eq!(circles(folder.path()).len(), 0);
}
