//! The node that responded, if several nodes serve one database: what it lists covers that node only.

use serde::Deserialize;

/// See [`convoke_server::admin::node::AnsweringNode`].
#[derive(Deserialize)]
pub(crate) struct AskedNode {
    id: String,
    name: String,
    others: usize,
}

impl AskedNode {
    /// Prints which node the list `what` is from, if there are other nodes.
    pub(crate) fn tell(&self, what: &str) {
        let Self { id, name, others } = self;
        match others {
            0 => {}
            1 => note!("convoke: {what} of node {id} ({name}); 1 other node serves"),
            _ => note!("convoke: {what} of node {id} ({name}); {others} other nodes serve"),
        }
    }
}
