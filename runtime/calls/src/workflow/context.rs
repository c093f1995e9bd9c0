//! The context of a workflow. It has steps only, so that a replay of the code always takes the same path.

use std::sync::Arc;

use parking_lot::Mutex;

use super::replay::Replay;
use crate::function::FunctionDef;
use crate::rows::run::Run;
use convoke_core::id::Id;

/// The context of a workflow: steps, which are recorded in its journal.
///
/// It has no database, clock, randomness, HTTP client or settings, because the code of a workflow runs again at each
/// step and must take the same path. A step is a call of a function that has them: `ctx.run::<f>(args).await?`.
#[derive(Clone)]
pub struct WorkflowCtx(pub(super) Arc<Mutex<Replay>>);

impl WorkflowCtx {
    pub(crate) fn new(replay: Replay) -> Self {
        Self(Arc::new(Mutex::new(replay)))
    }

    /// Returns true if the run was started by this version of the workflow or a newer one: `if ctx.since(2) { … }` in
    /// `#[workflow(version = 2)]`.
    pub fn since(&self, version: u32) -> bool {
        self.0.lock().version >= version
    }

    /// Returns the id of the run.
    pub fn id(&self) -> Id<Run> {
        self.0.lock().run
    }

    pub(super) fn path_of(&self, def: &'static FunctionDef) -> String {
        self.0.lock().services.path_of(def).to_owned()
    }

    pub(super) fn next_position(&self) -> u32 {
        self.0.lock().next_position()
    }
}
