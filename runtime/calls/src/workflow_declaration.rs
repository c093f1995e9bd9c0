//! Workflows as data, as their attributes declare them.

use crate::path::path_of;

/// A registered workflow, as data.
#[derive(Debug)]
pub struct WorkflowDef {
    /// `module_path!()` of the function.
    pub module: &'static str,
    /// Name of the function.
    pub name: &'static str,
    /// Version of its code.
    pub version: u32,
    /// True if it only ends the runs of its version.
    pub retired: bool,
    /// Source file.
    pub file: &'static str,
    /// Line in the source file.
    pub line: u32,
}

impl WorkflowDef {
    /// Returns the path of its runs. A retired version `follow_up_v1` continues the runs of `follow_up`.
    pub(crate) fn path(&self) -> Option<String> {
        let suffix = format!("_v{}", self.version);
        let name = if self.retired { self.name.strip_suffix(&*suffix).unwrap_or(self.name) } else { self.name };
        path_of(self.module, name)
    }
}

/// A declaration that an attribute submits.
pub struct DeclaredWorkflow(pub &'static WorkflowDef);
inventory::collect!(DeclaredWorkflow);
