//! All functions by path, and the checks of their registration at start.

use std::fmt::Write as _;
use std::ops::{Deref, Index, IndexMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use rustc_hash::FxHashMap;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use crate::codec::convex_json::BytesWithin;
use crate::codec::secret_fields::SecretFields;
use crate::declarations;
use crate::function::{FunctionDef, Kind, Submitted, Visibility};
use crate::path::path_of;
use crate::route::request::RouteRequest;
use crate::route_table;
use crate::workflow_declaration::DeclaredWorkflow;
use convoke_core::rate_classes::RateClass;
use convoke_store::LatencyClass;

/// The registered functions.
pub struct Registry {
    by_path: FxHashMap<Arc<str>, Registered>,
    /// The same functions by module and name. Not by the definition's address: a constant may have more than one
    /// address.
    by_name: FxHashMap<(&'static str, &'static str), Registered>,
    /// Paths in order.
    paths: Vec<Arc<str>>,
    identity_hook: Option<Registered>,
}

/// Module of the queries of runs.
const WORKFLOWS: &str = "convoke_calls::workflows";

/// A longer path is not a misspelling of a function, and a comparison with all paths would be expensive.
const MISSPELT_BYTES_MAX: usize = 200;

/// One function under its path. Clones share it.
#[derive(Clone)]
pub struct Registered(Arc<Shared>);

/// The data that clones of a [`Registered`] share. One reference count covers all of it, since every call on every
/// thread changes that count.
pub struct Shared {
    /// `module/path/functionName`.
    pub path: Arc<str>,
    /// The function.
    pub def: &'static FunctionDef,
    /// Latency of recent calls. It decides where the next call runs.
    pub(crate) latency: LatencyClass,
    /// Index among the functions: see [`PerFunction`].
    place: usize,
    /// Calls by other functions. They are part of the calls of those functions.
    nested: AtomicU64,
    /// Positions of bytes in its results, computed on the first request that needs them.
    bytes_within: OnceLock<Option<BytesWithin>>,
    /// Secret arguments, computed when an operator first sees a call of the function.
    secret_fields: OnceLock<SecretFields>,
    /// Schemas of the parameters of a route, computed on its first request.
    parameter_schemas: OnceLock<Arc<[Value]>>,
}

impl Registered {
    /// Returns its index among the functions. It is the same as long as the process runs.
    pub(crate) fn place(&self) -> usize {
        self.0.place
    }
}

impl Deref for Registered {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// One value per function: a lookup is one step in a list.
pub(crate) struct PerFunction<T>(Box<[T]>);

impl<T> Index<&Registered> for PerFunction<T> {
    type Output = T;

    fn index(&self, function: &Registered) -> &T {
        &self.0[function.place]
    }
}

impl<T> IndexMut<&Registered> for PerFunction<T> {
    fn index_mut(&mut self, function: &Registered) -> &mut T {
        &mut self.0[function.place]
    }
}

/// Reason why a program's functions cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// No function is linked in.
    #[error(
        "no functions are registered.\nCargo links only crates that the program names: write `use functions as _;` (with your \
         crate's name) in main.rs, and put #[query], #[mutation] or #[action] above a function in a module of it."
    )]
    Empty,
    /// The mistakes, each with its file and line.
    #[error("{0}")]
    Mistakes(String),
}

impl Registry {
    /// Collects every function that is linked into the program.
    ///
    /// # Errors
    /// There is no function; two functions have the same path; a function is at the root of a crate; there are two
    /// identity hooks; a rate class is unknown; two types have the same name in clients; a default breaks the rule of
    /// its type.
    pub fn collect() -> Result<Self, RegistryError> {
        // A program without workflows has no queries of their runs.
        let has_workflows = inventory::iter::<DeclaredWorkflow>().next().is_some();
        let own = |def: &&FunctionDef| has_workflows || def.module != WORKFLOWS;
        let registry = Self::of(inventory::iter::<Submitted>().map(|submitted| submitted.0).filter(own))?;
        match declarations::mistakes() {
            mistakes if mistakes.is_empty() => Ok(registry),
            mistakes => Err(RegistryError::Mistakes(mistakes.join("\n"))),
        }
    }

    pub(crate) fn of(entries: impl IntoIterator<Item = &'static FunctionDef>) -> Result<Self, RegistryError> {
        let mut registry = Self {
            by_path: FxHashMap::default(),
            by_name: FxHashMap::default(),
            paths: Vec::new(),
            identity_hook: None,
        };
        let mut entries: Vec<&'static FunctionDef> = entries.into_iter().collect();
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
        for mistake in route_table::mistakes(registry.by_path.values().map(|function| function.def)) {
            let _ = writeln!(mistakes, "{mistake}");
        }
        if !mistakes.is_empty() {
            return Err(RegistryError::Mistakes(mistakes.trim_end().to_owned()));
        }
        registry.paths = registry.by_path.keys().cloned().collect();
        registry.paths.sort();
        Ok(registry)
    }

    /// Returns a function for examples: a public query without arguments, else a public query, else any public
    /// function.
    pub fn example(&self) -> Option<&Registered> {
        let public = || self.all().filter(|function| function.is_public());
        let queries = || public().filter(|function| function.kind() == Kind::Query);
        let easiest = queries().find(|function| function.needs_no_arguments());
        easiest.or_else(|| queries().next()).or_else(|| public().next())
    }

    fn add(&mut self, entry: &'static FunctionDef) -> Result<(), String> {
        let Some(path) = path_of(entry.module, entry.name) else {
            return Err(format!(
                "`{}` is at the root of its crate; move it into a module, whose name becomes part of its path",
                entry.name
            ));
        };
        if entry.tool {
            check_tool_name(&path)?;
        }
        if let Some(class) = entry.rate {
            check_rate(class).map_err(|mistake| format!("`{path}`: {mistake}"))?;
        }
        let place = |first: &Registered| format!("{}:{}", first.def.file, first.def.line);
        let path: Arc<str> = path.into();
        if let Some(first) = self.by_path.get(&path) {
            return Err(format!("a second function `{path}`; the first is at {}", place(first)));
        }
        let registered = Registered(Arc::new(Shared {
            path: path.clone(),
            def: entry,
            latency: LatencyClass::default(),
            place: self.by_path.len(),
            nested: AtomicU64::new(0),
            bytes_within: OnceLock::new(),
            secret_fields: OnceLock::new(),
            parameter_schemas: OnceLock::new(),
        }));
        self.by_name.insert((entry.module, entry.name), registered.clone());
        self.by_path.insert(path, registered.clone());
        match &self.identity_hook {
            Some(first) if entry.identity_hook => {
                Err(format!("a second identity hook; the first is at {}", place(first)))
            }
            _ if entry.identity_hook => {
                self.identity_hook = Some(registered);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns the function at a path, with any visibility.
    pub fn get(&self, path: &str) -> Option<&Registered> {
        self.by_path.get(path)
    }

    /// Returns all routes, by the path of their functions.
    pub fn routes(&self) -> impl Iterator<Item = &Registered> {
        self.all().filter(|function| function.def.route.is_some())
    }

    /// Returns the route of a method and a path, and the decoded values of the path's parameters, for requests in process.
    pub fn route(&self, method: &Method, path: &str) -> Option<(&Registered, Vec<(&'static str, String)>)> {
        let (def, values) = route_table::find(self.routes().map(|function| function.def), method, path)?;
        Some((self.of_def(def)?, values))
    }

    /// Returns the tool with this name, as [`Registered::flat_name`] makes it.
    pub fn tool(&self, name: &str) -> Option<&Registered> {
        // A name with a slash would be a second name of the same tool.
        let path = (!name.contains('/')).then(|| name.replace('_', "/"))?;
        self.get(&path).filter(|function| function.def.tool)
    }

    /// Returns all tools, by path.
    pub fn tools(&self) -> impl Iterator<Item = &Registered> {
        self.all().filter(|function| function.def.tool)
    }

    /// Returns a function by its definition.
    pub(crate) fn of_def(&self, def: &'static FunctionDef) -> Option<&Registered> {
        self.by_name.get(&(def.module, def.name))
    }

    /// Returns all functions, by path.
    pub fn all(&self) -> impl Iterator<Item = &Registered> {
        self.paths.iter().filter_map(|path| self.by_path.get(path))
    }

    /// Builds a value for each function.
    pub(crate) fn per_function<T>(&self, mut make: impl FnMut(&Registered) -> T) -> PerFunction<T> {
        let mut all: Vec<&Registered> = self.by_path.values().collect();
        all.sort_unstable_by_key(|function| function.place);
        PerFunction(all.into_iter().map(&mut make).collect())
    }

    /// Returns the mutation that runs for a new identity and for changed claims.
    pub(crate) fn identity_hook(&self) -> Option<&Registered> {
        self.identity_hook.as_ref()
    }

    /// Returns true if there is an identity hook, so that new identities are recorded as users.
    pub fn records_users(&self) -> bool {
        self.identity_hook.is_some()
    }

    /// Returns the public path that is nearest to an unknown one, if it is a likely misspelling.
    pub fn nearest(&self, path: &str) -> Option<&str> {
        if path.len() > MISSPELT_BYTES_MAX {
            return None;
        }
        let tail = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let distance_max = (tail(path).len() / 3).max(2);
        self.all()
            .filter(|function| function.is_public())
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

/// Checks that a path fits into the name of a tool: 1 to 128 ASCII letters, digits and underscores, as clients of the
/// Model Context Protocol accept them.
fn check_tool_name(path: &str) -> Result<(), String> {
    const CHARS_MAX: usize = 128;
    match path.is_ascii() && path.len() <= CHARS_MAX {
        true => Ok(()),
        false => Err(format!(
            "`{path}` cannot be a tool: its path must have at most {CHARS_MAX} characters, all of them ASCII; rename it, or \
             remove `tool`"
        )),
    }
}

/// Checks that the program has a class of calls. A misspelt class would leave the calls of the function without a limit.
fn check_rate(class: &str) -> Result<(), String> {
    let known: Vec<&str> = RateClass::all().iter().map(|class| class.name).collect();
    match known.contains(&class) {
        true => Ok(()),
        false => Err(format!(
            "`rate = {class:?}` names no class of calls; there are {}; `convoke::rate_class!({class:?}, 120, per 60 s)` \
             declares another",
            known.join(", ")
        )),
    }
}

/// Shows its path.
impl std::fmt::Debug for Registered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path)
    }
}

impl Registered {
    /// Returns true if it is a migration: an admin mutation in a module `migrations`, at any depth.
    pub fn is_migration(&self) -> bool {
        self.def.visibility == Visibility::Admin
            && self.kind() == Kind::Mutation
            && self.path.rsplit_once('/').is_some_and(|(folder, _)| folder.split('/').any(|part| part == "migrations"))
    }

    /// Returns true if a caller from outside may name it. A route is reached by its own path only.
    pub fn is_callable_from_outside(&self) -> bool {
        self.def.visibility != Visibility::Internal && self.def.route.is_none()
    }

    /// Returns true if any caller from outside may name it.
    pub fn is_public(&self) -> bool {
        self.def.visibility == Visibility::Public && self.is_callable_from_outside()
    }

    /// Returns the first sentence of its doc comment, on one line. Links become plain code.
    pub fn summary(&self) -> String {
        let paragraph = self.def.doc.trim().split("\n\n").next().unwrap_or_default();
        let line = paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let end = line.find(". ").map_or(line.len(), |stop| stop + 1);
        line[..end].replace("[`", "`").replace("`]", "`")
    }

    /// Returns its name as a tool and as an operation of OpenAPI: its path with `_` in place of `/`. A path is in
    /// camelCase and has no underscore, so different functions have different names.
    pub fn flat_name(&self) -> String {
        self.path.replace('/', "_")
    }

    /// Counts a call that another function made.
    pub(crate) fn count_nested(&self) {
        self.nested.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of calls by other functions. They are part of the calls of those functions.
    pub fn nested(&self) -> u64 {
        self.nested.load(Ordering::Relaxed)
    }

    /// Returns its kind.
    pub fn kind(&self) -> Kind {
        self.def.kind
    }

    /// Returns the positions of bytes in its results, if there are any.
    pub(crate) fn bytes_within(&self) -> Option<&BytesWithin> {
        self.bytes_within.get_or_init(|| BytesWithin::the_result_of(self.def.output_schema)).as_ref()
    }

    /// Returns its secret arguments.
    pub(crate) fn secret_fields(&self) -> &SecretFields {
        self.secret_fields.get_or_init(|| SecretFields::of(&self.arguments_schema()))
    }

    /// Returns a request of its route. `path_values` are the decoded values of the parameters in the path.
    pub fn route_request(
        &self,
        method: Method,
        uri: Uri,
        headers: HeaderMap,
        body: Bytes,
        path_values: Vec<(&'static str, String)>,
    ) -> RouteRequest {
        RouteRequest::new(method, uri, headers, body, path_values, Arc::clone(self.parameter_schemas()))
    }

    /// Returns the schemas of the parameters of a route, in their order.
    fn parameter_schemas(&self) -> &Arc<[Value]> {
        self.parameter_schemas.get_or_init(|| {
            let parameters = self.def.route.map_or(&[][..], |route| route.parameters);
            parameters.iter().map(|parameter| inlined(parameter.schema)).collect()
        })
    }

    /// Returns true if `{}` is enough to call it: no argument is required.
    pub fn needs_no_arguments(&self) -> bool {
        self.arguments_schema().get("required").is_none()
    }

    /// Returns arguments that fit the schema: the author's example, or generated values for the required ones.
    pub fn example_arguments(&self) -> Value {
        example(&self.arguments_schema(), "args")
    }

    fn arguments_schema(&self) -> Value {
        inlined(self.def.args_schema)
    }
}

/// Returns a schema without references: behind a reference, members would be invisible.
fn inlined(schema: fn(&mut SchemaGenerator) -> Schema) -> Value {
    let settings =
        schemars::generate::SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    schema(&mut settings.into_generator()).to_value()
}

/// Returns a value that fits a schema, as far as types, bounds and lists of words say. The text example is its `name`.
fn example(schema: &Value, name: &str) -> Value {
    if let Some(value) = ["const", "default"].iter().find_map(|key| schema.get(key)) {
        return value.clone();
    }
    if let Some(value) = ["enum", "examples"].iter().find_map(|key| schema.get(key)?.get(0)) {
        return value.clone();
    }
    if let Some(one) = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.get(0)) {
        return example(one, name);
    }
    let kind = schema.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    match kind {
        Some("object") => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let member = |name: &Value| {
                let name = name.as_str()?;
                Some((name.to_owned(), example(schema.get("properties")?.get(name)?, name)))
            };
            Value::Object(required.filter_map(member).collect())
        }
        Some("array") => {
            let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            (0..least).map(|_| schema.get("items").map_or(Value::Null, |items| example(items, name))).collect()
        }
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        Some("boolean") => true.into(),
        Some("string") => name.into(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::route::definition::RouteDef;

    fn entry(module: &'static str, name: &'static str, line: u32) -> FunctionDef {
        FunctionDef {
            module,
            name,
            kind: Kind::Mutation,
            visibility: Visibility::Public,
            doc: "",
            file: "src/a.rs",
            line,
            crons: &[],
            rights: None,
            rate: None,
            tries: None,
            identity_hook: false,
            cache: false,
            refresh: None,
            tool: false,
            route: None,
            args_schema: |generator| generator.subschema_for::<()>(),
            output_schema: |generator| generator.subschema_for::<()>(),
        }
    }

    fn collected(entries: Vec<FunctionDef>) -> Result<Registry, String> {
        let entries = entries.into_iter().map(|entry| &*Box::leak(Box::new(entry)));
        Registry::of(entries).map_err(|error| error.to_string())
    }

    #[test]
    fn path_is_the_modules_below_the_crate_in_camel_case() {
        let registry = collected(vec![entry("app::web_rtc::r#match", "leave_the_room", 1)]).unwrap();
        let found = registry.get("webRtc/match/leaveTheRoom").unwrap();
        assert_eq!(registry.of_def(found.def).unwrap().path, found.path);
        assert!(registry.get("webRtc/match/leave_the_room").is_none());
    }

    #[test]
    fn missing_functions_error_says_how_to_link_a_crate() {
        assert!(collected(vec![]).err().unwrap().contains("use functions as _;"));
    }

    #[test]
    fn all_mistakes_are_reported_each_with_its_location() {
        let hook = |line| FunctionDef {
            identity_hook: true,
            cache: false,
            refresh: None,
            ..entry("app::hooks", if line == 5 { "one" } else { "two" }, line)
        };
        let told = collected(vec![
            entry("app::a", "do_it", 1),
            entry("app::a", "doIt", 2),
            entry("app", "at_the_root", 3),
            entry("app::b", "fine", 4),
            hook(5),
            hook(6),
        ]);
        assert_eq!(
            told.err().unwrap(),
            "src/a.rs:2: a second function `a/doIt`; the first is at src/a.rs:1\n\
             src/a.rs:3: `at_the_root` is at the root of its crate; move it into a module, whose name becomes part of its path\n\
             src/a.rs:6: a second identity hook; the first is at src/a.rs:5"
        );
    }

    #[test]
    fn routes_that_one_request_could_match_are_mistakes_with_both_places() {
        let route = |method, path| {
            &*Box::leak(Box::new(RouteDef {
                method,
                path,
                verify: None,
                once: None,
                body_bytes_max: None,
                timeout: None,
                cors: false,
                parameters: &[],
            }))
        };
        let routed = |line, method, path| FunctionDef {
            route: Some(route(method, path)),
            ..entry("app::pages", ["a", "b", "c", "d", "e"][line as usize - 1], line)
        };
        let told = collected(vec![
            routed(1, "GET", "/pages/{page}"),
            routed(2, "GET", "/pages/new"),
            routed(3, "POST", "/pages/{name}"),
            routed(4, "GET", "/files/{name}.txt"),
            routed(5, "POST", "/files/{*rest}"),
        ]);
        let told = told.err().unwrap();
        let mistakes: Vec<&str> = told.lines().collect();
        assert_eq!(
            mistakes[0],
            "src/a.rs:2: the route GET /pages/new and the route GET /pages/{page} at src/a.rs:1 could match the same \
             request; change one of the paths"
        );
        assert!(
            mistakes[1].starts_with("src/a.rs:5: the path of the route POST /files/{*rest} cannot be used:"),
            "{told}"
        );
        assert_eq!(mistakes.len(), 2);
    }

    #[test]
    fn tool_is_found_by_its_name_only() {
        let tool = FunctionDef { tool: true, ..entry("app::web_rtc::rooms", "leave_the_room", 1) };
        let registry = collected(vec![tool, entry("app::web_rtc::rooms", "enter", 2)]).unwrap();
        let names: Vec<String> = registry.tools().map(Registered::flat_name).collect();
        assert_eq!(names, ["webRtc_rooms_leaveTheRoom"]);
        assert_eq!(&*registry.tool("webRtc_rooms_leaveTheRoom").unwrap().path, "webRtc/rooms/leaveTheRoom");
        for other in ["webRtc/rooms/leaveTheRoom", "webRtc_rooms/leaveTheRoom", "webRtc_rooms_enter", "_", ""] {
            assert!(registry.tool(other).is_none(), "{other}");
        }
    }

    #[test]
    fn path_that_is_no_tool_name_is_a_mistake() {
        let told = collected(vec![FunctionDef { tool: true, ..entry("app::münze", "wirf", 1) }]);
        assert_eq!(
            told.err().unwrap(),
            "src/a.rs:1: `münze/wirf` cannot be a tool: its path must have at most 128 characters, all of them ASCII; \
             rename it, or remove `tool`"
        );
    }

    #[test]
    fn unknown_rate_class_is_a_mistake_that_names_the_known_ones() {
        let limited = |rate| FunctionDef { rate: Some(rate), ..entry("app::a", "call", 1) };
        assert!(collected(vec![limited("write")]).is_ok());
        assert_eq!(
            collected(vec![limited("nope")]).err().unwrap(),
            "src/a.rs:1: `a/call`: `rate = \"nope\"` names no class of calls; there are read, write; \
             `convoke::rate_class!(\"nope\", 120, per 60 s)` declares another"
        );
    }

    #[test]
    fn nearest_path_is_public_and_near() {
        let hidden = |visibility, name| FunctionDef { visibility, ..entry("app::users", name, 2) };
        let registry = collected(vec![
            entry("app::users", "leave_meeting", 1),
            hidden(Visibility::Internal, "purge"),
            hidden(Visibility::Admin, "export"),
        ])
        .unwrap();
        assert_eq!(registry.nearest("users/leaveMeting"), Some("users/leaveMeeting"));
        assert_eq!(registry.nearest("user/leavemeeting"), Some("users/leaveMeeting"));
        for far in ["users/purg", "users/expor", "somewhere/else", "", &"users/leaveMeeting".repeat(100_000)] {
            assert_eq!(registry.nearest(far), None);
        }
    }

    #[test]
    fn example_has_the_required_members_within_their_bounds() {
        let schema = json!({
            "type": "object", "required": ["name", "age", "kind", "tags", "place"],
            "properties": {
                "name": { "type": "string" }, "age": { "type": "integer", "minimum": 13 }, "left": { "type": "string" },
                "kind": { "enum": ["a", "b"] }, "tags": { "type": "array", "items": { "type": "string" }, "minItems": 1 },
                "place": { "anyOf": [{ "type": "object", "required": [] }, { "type": "null" }] },
            },
        });
        let example = example(&schema, "args");
        assert_eq!(example, json!({ "name": "name", "age": 13, "kind": "a", "tags": ["tags"], "place": {} }));
    }
}
