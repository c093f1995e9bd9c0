//! Which node answers, where several may serve the database: what it knows of itself alone is not all there is.

use std::sync::Arc;

use serde::Serialize;

use super::Admin;
use convoke_store::Nodes;

/// The node that answers. Its JSON: `{"id":"00c0ffee","name":"71 on a.example","others":2}`.
#[derive(Clone, Debug, Serialize)]
pub struct AnsweringNode {
    /// Its number, a random one: no other node is likely to have it, nor one before it.
    pub id: String,
    /// Its process and machine.
    pub name: Arc<str>,
    /// How many others serve the database, as far as it knows.
    pub others: usize,
}

impl AnsweringNode {
    /// This one; `None` where it serves alone, as long as it holds the database.
    pub fn of(admin: &Admin) -> Option<Self> {
        let nodes = admin.runtime.store().nodes();
        let others = nodes.count() - 1;
        match nodes {
            Nodes::Many { own, name, .. } => Some(Self { id: format!("{own:08x}"), name, others }),
            Nodes::Alone => None,
        }
    }
}
