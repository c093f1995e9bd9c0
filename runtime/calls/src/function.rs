//! Functions as types: each type carries a kind, arguments, a result and a registration.
//!
//! The attributes write the implementations beside the unchanged function. A call names the type
//! (`ctx.run::<leave_meeting>(args)`), so rustc checks that the function exists, its kind, and its arguments.

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::codec::exact;
use crate::route::definition::RouteDef;
use convoke_core::answer::writer::Writer;
use convoke_core::error::Result;

/// The kind of a function: it decides what a call may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Reads one snapshot.
    Query,
    /// Reads and writes one serializable transaction.
    Mutation,
    /// Works outside the database, and reaches it through queries and mutations.
    Action,
}

impl Kind {
    /// Returns the name, as in routes and tables of functions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Query => "query",
            Kind::Mutation => "mutation",
            Kind::Action => "action",
        }
    }
}

/// The callers that a function accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// All callers; the function decides.
    Public,
    /// A deploy key or an identity with the role `admin`. The function decides which data the caller may access.
    Admin,
    /// Other functions, the scheduler, and a deploy key with the scope `internal`.
    Internal,
}

impl Visibility {
    /// Returns the name, as in tables of functions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Visibility::Public => "public",
            Visibility::Admin => "admin",
            Visibility::Internal => "internal",
        }
    }
}

/// A registered function, as data.
pub struct FunctionDef {
    /// `module_path!()` of the function: the crate and its modules.
    pub module: &'static str,
    /// The function's name, in snake_case.
    pub name: &'static str,
    /// Kind.
    pub kind: Kind,
    /// Visibility.
    pub visibility: Visibility,
    /// The doc comment, with its line breaks.
    pub doc: &'static str,
    /// Source file.
    pub file: &'static str,
    /// Line in the source file.
    pub line: u32,
    /// Schedule: cron expressions (with six fields, the first is seconds).
    pub crons: &'static [&'static str],
    /// Name of the check of the caller's rights, which runs before the body. None: the body checks them.
    pub rights: Option<&'static str>,
    /// Rate class that is charged for it. None: the class of its kind.
    pub rate: Option<&'static str>,
    /// Number of attempts by the scheduler. None: five for a mutation, one for an action.
    pub tries: Option<u32>,
    /// True if the results of the query may be cached until a commit changes data that they depend on.
    pub cache: bool,
    /// Interval at which a live query runs again although its reads did not change. None: the interval of the setting,
    /// if the result changes with time.
    pub refresh: Option<Duration>,
    /// True if agents may call it as a tool of the Model Context Protocol. A tool is a public function.
    pub tool: bool,
    /// True if it is the mutation that runs for a new identity and for changed claims.
    pub identity_hook: bool,
    /// Its HTTP route. A function with a route has no other callers.
    pub route: Option<&'static RouteDef>,
    /// The JSON schema of its arguments.
    pub args_schema: fn(&mut SchemaGenerator) -> Schema,
    /// The JSON schema of its result.
    pub output_schema: fn(&mut SchemaGenerator) -> Schema,
}

/// A registration that an attribute submits. It is collected at start.
pub struct Submitted(pub &'static FunctionDef);
inventory::collect!(Submitted);

/// The kind of queries, as a type.
pub struct IsQuery;
/// The kind of mutations, as a type.
pub struct IsMutation;
/// The kind of actions, as a type.
pub struct IsAction;

/// A registered function as a type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a registered function",
    note = "put #[query], #[mutation] or #[action] above it"
)]
pub trait Function: Send + Sync + 'static {
    /// [`IsQuery`], [`IsMutation`] or [`IsAction`].
    type Kind;
    /// The arguments; `()` for none.
    type Args: Args;
    /// The result.
    type Output: Output;
    /// Its registration.
    const DEF: &'static FunctionDef;
}

/// The arguments of a function: a struct with `#[args]`, or `()`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a function",
    note = "put #[args] above the struct; a function without arguments takes only the context"
)]
pub trait Args: DeserializeOwned + Serialize + JsonSchema + Clone + Send + 'static {}

/// The result of a function: any type that has a JSON form and a schema.
///
/// The trait has methods instead of supertraits, so that rustc reports the rule of this trait and not those of its
/// parts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a function",
    label = "it has no JSON form or no schema",
    note = "put #[value] above the struct, or return (), a number, a String, an Id, or an Option or Vec of them"
)]
pub trait Output: Send + 'static {
    /// Writes it as JSON.
    ///
    /// # Errors
    /// A part cannot be written, such as a map whose keys are not strings, an integer beyond ±(2^53 − 1) whose type does
    /// not declare such integers, or a number that is not finite.
    fn write_json(&self, out: &mut Writer) -> serde_json::Result<()>;

    /// Returns its JSON schema.
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema + Send + 'static> Output for T {
    fn write_json(&self, out: &mut Writer) -> serde_json::Result<()> {
        exact::write(self, out)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

/// Splits a result type: `#[query]` and the other attributes name a function's output type with it.
#[diagnostic::on_unimplemented(
    message = "a function returns `convoke::Result<T>`, not `{Self}`",
    note = "write `-> Result<T>` with convoke's `Result`"
)]
pub trait IsResult {
    /// The `T` of `Result<T>`.
    type Ok;

    /// Returns the same result, with its type spelled out.
    ///
    /// # Errors
    /// The error of the result.
    fn into_result(self) -> Result<Self::Ok>;
}

impl<T> IsResult for Result<T> {
    type Ok = T;

    fn into_result(self) -> Self {
        self
    }
}

/// No arguments: an empty object on the wire.
#[convoke_macros::args(name = "NoArgs")]
#[derive(Copy, Default)]
pub struct NoArgs {}

impl From<()> for NoArgs {
    fn from((): ()) -> Self {
        Self {}
    }
}

/// Returns the schema of a function's arguments. The attributes store it in a [`FunctionDef`].
pub fn args_schema<F: Function>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<F::Args>()
}

/// Returns the schema of a function's result. The attributes store it in a [`FunctionDef`].
pub fn output_schema<F: Function>(generator: &mut SchemaGenerator) -> Schema {
    F::Output::schema(generator)
}
