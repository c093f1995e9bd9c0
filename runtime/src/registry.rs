//! Every function by its path, and every mistake in that, found at start.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::function::{Entry, Kind, Submitted, Visibility};

/// The registered functions.
pub struct Registry {
    by_path: HashMap<Arc<str>, Registered>,
    /// Paths in order.
    paths: Vec<Arc<str>>,
    identity_hook: Option<&'static Entry>,
}

/// One function under its path.
#[derive(Clone)]
pub struct Registered {
    /// `module/path/functionName`.
    pub path: Arc<str>,
    /// The function.
    pub entry: &'static Entry,
    /// How long it took lately: where its next call runs.
    pub(crate) pace: Arc<crate::store::FunctionPace>,
    /// Its calls that are not in the table of performance yet.
    pub(crate) recorder: Arc<crate::performance::recorder::Recorder>,
}

/// Why a program's functions cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// No function is linked in.
    #[error(
        "no functions are registered.\nA crate that is not named is not linked: write `use functions as _;` (with your \
         crate's name) in main.rs, and put #[query], #[mutation] or #[action] above a function in a module of it."
    )]
    Empty,
    /// The mistakes, each with file and line.
    #[error("{0}")]
    Mistakes(String),
}

impl Registry {
    /// Collects every function that is linked into the program.
    ///
    /// # Errors
    /// No function; two of one path; one at a crate's root; two identity hooks.
    pub fn collect() -> Result<Self, RegistryError> {
        Self::of(inventory::iter::<Submitted>().map(|submitted| submitted.0))
    }

    fn of(entries: impl IntoIterator<Item = &'static Entry>) -> Result<Self, RegistryError> {
        let mut registry = Self { by_path: HashMap::new(), paths: Vec::new(), identity_hook: None };
        let mut entries: Vec<&'static Entry> = entries.into_iter().collect();
        if entries.is_empty() {
            return Err(RegistryError::Empty);
        }
        entries.sort_by_key(|entry| (entry.file, entry.line));
        let mut mistakes = String::new();
        for entry in entries {
            if let Err(mistake) = registry.add(entry) {
                let _ = writeln!(mistakes, "{}:{}: {mistake}", entry.file, entry.line);
            }
        }
        if !mistakes.is_empty() {
            return Err(RegistryError::Mistakes(mistakes.trim_end().to_owned()));
        }
        registry.paths = registry.by_path.keys().cloned().collect();
        registry.paths.sort();
        Ok(registry)
    }

    fn add(&mut self, entry: &'static Entry) -> Result<(), String> {
        let Some(path) = path_of(entry) else {
            return Err(format!(
                "`{}` stands at the root of its crate; move it into a module, which becomes its path",
                entry.name
            ));
        };
        if entry.identity_hook
            && let Some(first) = self.identity_hook.replace(entry)
        {
            return Err(format!("a second identity hook; the first is at {}:{}", first.file, first.line));
        }
        let path: Arc<str> = path.into();
        let registered = Registered { path: path.clone(), entry, pace: Arc::default(), recorder: Arc::default() };
        match self.by_path.insert(path.clone(), registered) {
            None => Ok(()),
            Some(first) => {
                Err(format!("a second function `{path}`; the first is at {}:{}", first.entry.file, first.entry.line))
            }
        }
    }

    /// The function at a path, whatever its visibility.
    pub fn get(&self, path: &str) -> Option<&Registered> {
        self.by_path.get(path)
    }

    /// A function that was named by its type.
    pub(crate) fn of_entry(&self, entry: &'static Entry) -> Option<&Registered> {
        self.by_path.get(path_of(entry)?.as_str())
    }

    /// All functions, by path.
    pub fn all(&self) -> impl Iterator<Item = &Registered> {
        self.paths.iter().filter_map(|path| self.by_path.get(path))
    }

    /// The mutation that runs when an identity is first seen or its claims changed.
    pub(crate) fn identity_hook(&self) -> Option<&Registered> {
        self.of_entry(self.identity_hook?)
    }

    /// The public path nearest to one that is not there, if it is near enough to have been meant.
    pub fn nearest(&self, path: &str) -> Option<&str> {
        let tail = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let distance_max = (tail(path).len() / 3).max(2);
        self.all()
            .filter(|function| function.entry.visibility != Visibility::Internal)
            .map(|function| {
                let distance = match tail(&function.path) == tail(path) {
                    true => 1,
                    false => strsim::osa_distance(&function.path.to_lowercase(), &path.to_lowercase()),
                };
                (distance, &*function.path)
            })
            .min()
            .filter(|(distance, _)| *distance <= distance_max)
            .map(|(_, path)| path)
    }
}

/// The path of a function: its modules below the crate and its name, in camelCase.
fn path_of(entry: &Entry) -> Option<String> {
    let (_, modules) = entry.module.split_once("::")?;
    let mut path = String::with_capacity(modules.len() + entry.name.len());
    for module in modules.split("::") {
        camel_case(module, &mut path);
        path.push('/');
    }
    camel_case(entry.name, &mut path);
    Some(path)
}

fn camel_case(snake: &str, out: &mut String) {
    let mut upper = false;
    for c in snake.trim_start_matches("r#").chars() {
        match c {
            '_' => upper = true,
            c if upper => {
                out.extend(c.to_uppercase());
                upper = false;
            }
            c => out.push(c),
        }
    }
}

impl Registered {
    /// Whether a caller from outside may name it.
    pub fn is_callable_from_outside(&self) -> bool {
        self.entry.visibility != Visibility::Internal
    }

    /// The first line of its doc comment.
    pub fn summary(&self) -> &'static str {
        self.entry.doc.trim().lines().next().unwrap_or_default().trim()
    }

    /// What a call of it may do.
    pub fn kind(&self) -> Kind {
        self.entry.kind
    }

    /// Whether `{}` is enough to call it: no argument is required.
    pub fn needs_no_arguments(&self) -> bool {
        // Inlined, since a reference would hide what is required behind it.
        let settings =
            schemars::generate::SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let schema = (self.entry.args_schema)(&mut settings.into_generator());
        schema.get("required").and_then(|required| required.as_array()).is_none_or(Vec::is_empty)
    }
}
