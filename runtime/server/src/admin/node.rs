//! The node that responds, if several nodes may serve the database: its own data is only a part of the whole.

use std::sync::Arc;

use serde::Serialize;

use super::Admin;
use convoke_store::Nodes;

/// The node that responds. Its JSON: `{"id":"00c0ffee","name":"71 on a.example","others":2}`.
#[derive(Clone, Debug, Serialize)]
pub struct AnsweringNode {
    /// A random number in hexadecimal, unlikely to be shared by another current or past node.
    pub id: String,
    /// The process id and the machine.
    pub name: Arc<str>,
    /// The number of other nodes that it knows.
    pub others: usize,
}

impl AnsweringNode {
    /// Returns this node; `None` if the engine allows only one node.
    pub fn of(admin: &Admin) -> Option<Self> {
        let nodes = admin.runtime.store().nodes();
        let others = nodes.count() - 1;
        match nodes {
            Nodes::Many { own, name, .. } => Some(Self { id: format!("{own:08x}"), name, others }),
            Nodes::Alone => None,
        }
    }
}
