//! Workflows as types and as data, and all workflows of a program by path and version.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::Future;
use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::context::WorkflowCtx;
use crate::codec::Format;
use crate::codec::decode::{self, Body};
use crate::function::Args;
use crate::workflow_declaration::WorkflowDef;
use convoke_core::error::{Error, Result};

/// A workflow as a type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a workflow",
    note = "put #[workflow] above an `async fn` that takes `ctx: &WorkflowCtx`"
)]
pub trait Workflow: Sized + 'static {
    /// The arguments.
    type Args: Args;
    /// The result.
    type Output: Serialize + DeserializeOwned + 'static;
    /// Its registration.
    const DEF: &'static WorkflowDef;

    /// Calls it.
    fn invoke(ctx: &WorkflowCtx, args: Self::Args) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// A begun call of a workflow, which returns its result as JSON.
pub(crate) type Begun = Pin<Box<dyn Future<Output = Result<String>> + Send>>;

/// A workflow with erased types, submitted by its attribute.
pub struct SubmittedWorkflow {
    def: &'static WorkflowDef,
    begin: fn(WorkflowCtx, &str) -> Result<Begun>,
}
inventory::collect!(SubmittedWorkflow);

impl SubmittedWorkflow {
    /// Erases the types of a workflow. Called in the constant that `#[workflow]` emits.
    pub const fn of<W: Workflow>() -> Self {
        Self { def: W::DEF, begin: begin::<W> }
    }
}

fn begin<W: Workflow>(ctx: WorkflowCtx, args: &str) -> Result<Begun> {
    let args: W::Args = decode::args(Body::Args(args, Format::Json))?;
    Ok(Box::pin(async move {
        let value = W::invoke(&ctx, args).await?;
        serde_json::to_string(&value).map_err(Error::internal)
    }))
}

/// One version of a workflow.
#[derive(Clone, Copy)]
pub(crate) struct Code {
    version: u32,
    is_retired: bool,
    pub begin: fn(WorkflowCtx, &str) -> Result<Begun>,
}

/// The workflows of a program.
#[derive(Default)]
pub struct Workflows(BTreeMap<String, Vec<Code>>);

impl Workflows {
    /// Collects the workflows that are linked into the program.
    ///
    /// # Errors
    /// Two of them have the same path and version, a retired one is not older than the current one, or one is at the
    /// root of its crate.
    pub fn collect() -> Result<Self, String> {
        let mut all: Vec<&SubmittedWorkflow> = inventory::iter::<SubmittedWorkflow>().collect();
        all.sort_unstable_by_key(|workflow| (workflow.def.file, workflow.def.line));
        let mut workflows: BTreeMap<String, Vec<Code>> = BTreeMap::new();
        let mut mistakes = String::new();
        for SubmittedWorkflow { def, begin } in all {
            let mut mistake = |text: &str| {
                let _ = writeln!(mistakes, "{}:{}: workflow `{}`: {text}", def.file, def.line, def.name);
            };
            let Some(path) = def.path() else {
                mistake("it is at the root of its crate; move it into a module, whose name becomes part of its path");
                continue;
            };
            let versions = workflows.entry(path).or_default();
            if versions.iter().any(|other| other.version == def.version) {
                mistake("another workflow has its path and version; set another `version = …`");
            }
            if !def.retired && versions.iter().any(|other| !other.is_retired) {
                mistake("a newer and an older version are both current; add `retired` to the older one");
            }
            versions.push(Code { version: def.version, is_retired: def.retired, begin: *begin });
        }
        if mistakes.is_empty() { Ok(Self(workflows)) } else { Err(mistakes.trim_end().to_owned()) }
    }

    /// Returns the code for runs of this version: the retired code of the version, or else the current code.
    pub(crate) fn find(&self, path: &str, version: u32) -> Option<Code> {
        let versions = self.0.get(path)?;
        let exact = versions.iter().find(|code| code.version == version);
        exact.or_else(|| versions.iter().find(|code| !code.is_retired && code.version >= version)).copied()
    }

    /// Returns true if the program has no workflow.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the paths of all workflows.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
