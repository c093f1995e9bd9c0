//! What a function is to the runtime: a type that carries its kind, arguments, result and registration.
//!
//! The attributes write the implementations beside the untouched function; a call names the type
//! (`ctx.run::<leave_meeting>(args)`), so rustc checks that the function exists, its kind, and its arguments.

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::codec::exact;
use convoke_core::answer::writer::Writer;
use convoke_core::error::Result;

/// What a call of a function may do.
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
    /// The name, as routes and tables of functions show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Query => "query",
            Kind::Mutation => "mutation",
            Kind::Action => "action",
        }
    }
}

/// Who may call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Everybody; the function decides.
    Public,
    /// A deploy key or an identity with the role `admin`; the function decides whose data.
    Admin,
    /// Other functions, the scheduler, and a deploy key with the scope `internal`.
    Internal,
}

impl Visibility {
    /// The name, as tables of functions show it.
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
    /// What a call of it may do.
    pub kind: Kind,
    /// Who may call it.
    pub visibility: Visibility,
    /// The doc comment, line breaks kept.
    pub doc: &'static str,
    /// Where it stands.
    pub file: &'static str,
    /// The line there.
    pub line: u32,
    /// When it runs by itself: cron expressions (seconds first if there are six fields).
    pub crons: &'static [&'static str],
    /// The name of the check that decides whether a caller may call it, before its body runs; none = the body decides.
    pub rights: Option<&'static str>,
    /// The rate class it is charged to; none = the one of its kind.
    pub rate: Option<&'static str>,
    /// How often the scheduler tries it; none = five times a mutation, once an action.
    pub tries: Option<u32>,
    /// Whether its results may be kept until something that they rest on is changed: a query's.
    pub cache: bool,
    /// As a live query, how often it is run again although nothing it read was changed; none = as the setting says, where
    /// its result grows old by itself.
    pub refresh: Option<Duration>,
    /// Whether it is the mutation that runs when an identity is first seen or its claims changed.
    pub identity_hook: bool,
    /// The JSON schema of its arguments.
    pub args_schema: fn(&mut SchemaGenerator) -> Schema,
    /// The JSON schema of its result.
    pub output_schema: fn(&mut SchemaGenerator) -> Schema,
}

/// What the attributes submit; collected at start.
pub struct Submitted(pub &'static FunctionDef);
inventory::collect!(Submitted);

/// Marks a function's kind in types.
pub struct IsQuery;
/// Marks a function's kind in types.
pub struct IsMutation;
/// Marks a function's kind in types.
pub struct IsAction;

/// A registered function as a type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a registered function",
    note = "put #[query], #[mutation] or #[action] above it"
)]
pub trait Function: Send + Sync + 'static {
    /// [`IsQuery`], [`IsMutation`] or [`IsAction`].
    type Kind;
    /// What it takes; `()` for none.
    type Args: Args;
    /// What it returns.
    type Output: Output;
    /// Its registration.
    const DEF: &'static FunctionDef;
}

/// The arguments of a function: a struct with `#[args]`, or `()`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a function",
    note = "put #[args] above the struct; a function without arguments takes the context alone"
)]
pub trait Args: DeserializeOwned + Serialize + JsonSchema + Clone + Send + 'static {}

/// What a function returns: anything that can be written as JSON and described by a schema.
///
/// It has methods instead of supertraits, so that rustc says the rule of this trait and not those of its parts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a function",
    label = "it cannot be written as JSON and described",
    note = "put #[value] above the struct, or return (), a number, a String, an Id, or an Option or Vec of them"
)]
pub trait Output: Send + 'static {
    /// Writes it as JSON.
    ///
    /// # Errors
    /// A part of it cannot be written, such as a map whose keys are no texts; an integer beyond ±(2^53 − 1) that its type
    /// does not declare.
    fn write_json(&self, out: &mut Writer) -> serde_json::Result<()>;

    /// Its JSON schema.
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

/// Takes the result apart: what `#[query]` and the others use to name a function's output type.
#[diagnostic::on_unimplemented(
    message = "a function returns `convoke::Result<T>`, not `{Self}`",
    note = "write `-> Result<T>` with convoke's `Result`"
)]
pub trait IsResult {
    /// The `T` of `Result<T>`.
    type Ok;

    /// The same, by its own name.
    ///
    /// # Errors
    /// Its own.
    fn into_result(self) -> Result<Self::Ok>;
}

impl<T> IsResult for Result<T> {
    type Ok = T;

    fn into_result(self) -> Self {
        self
    }
}

/// What a check returns that `rights = …` or `form = …` names.
#[diagnostic::on_unimplemented(
    message = "a check returns `convoke::Result<T>`, not `{Self}`",
    label = "this does not say why a call is rejected",
    note = "return `Ok` with what the function needs, or an error such as `Error::forbidden(…)`"
)]
pub trait IsVerdict {
    /// What the function receives.
    type Granted;

    /// The same, by its own name.
    ///
    /// # Errors
    /// Why the call is rejected.
    fn into_result(self) -> Result<Self::Granted>;
}

impl<T> IsVerdict for Result<T> {
    type Granted = T;

    fn into_result(self) -> Self {
        self
    }
}

/// Takes what a check returned.
///
/// # Errors
/// Why the call is rejected.
pub fn verdict<V: IsVerdict>(verdict: V) -> Result<V::Granted> {
    verdict.into_result()
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

/// The schema of a function's arguments: what the attributes store in a [`FunctionDef`].
pub fn args_schema<F: Function>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<F::Args>()
}

/// The schema of a function's result: what the attributes store in a [`FunctionDef`].
pub fn output_schema<F: Function>(generator: &mut SchemaGenerator) -> Schema {
    F::Output::schema(generator)
}
