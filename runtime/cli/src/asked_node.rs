//! The node that was asked, where several serve one database: what it tells of itself is not all there is.

use serde::Deserialize;

/// See [`convoke_server::admin::node::AnsweringNode`].
#[derive(Deserialize)]
pub(crate) struct AskedNode {
    id: String,
    name: String,
    others: usize,
}

impl AskedNode {
    /// Says whose `what` they are, where there are others.
    pub(crate) fn tell(&self, what: &str) {
        let Self { id, name, others } = self;
        match others {
            0 => {}
            1 => eprintln!("convoke: {what} of node {id} ({name}); 1 other node serves"),
            _ => eprintln!("convoke: {what} of node {id} ({name}); {others} other nodes serve"),
        }
    }
}
