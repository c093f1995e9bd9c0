//! Live connections of several nodes: their names, and the end of a connection of another node.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::hub::Hub;
use convoke_core::error::{Error, Result};
use convoke_store::{Nodes, StoreError};

/// The prefix of a request to end a connection; the number follows.
const END: &str = "end live connection ";
const ENDED: &str = "ended";
const GONE: &str = "gone";

/// The name of a connection: `7` on its own node, `00c0ffee-7` on any node of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionName {
    /// The number of the node, if it is named.
    pub node: Option<u32>,
    /// The connection's number on that node.
    pub number: u64,
}

impl fmt::Display for ConnectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(node) => write!(f, "{node:08x}-{}", self.number),
            None => self.number.fmt(f),
        }
    }
}

impl FromStr for ConnectionName {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        const WANTED: &str = "it must be the number of a connection, such as 7, or its id, such as 00c0ffee-7";
        let (node, number) = match text.split_once('-') {
            Some((node, number)) => (Some(u32::from_str_radix(node, 16).map_err(|_| WANTED)?), number),
            None => (None, text),
        };
        Ok(Self { node, number: number.parse().map_err(|_| WANTED)? })
    }
}

impl Hub {
    /// Ends a connection on any node. Its client receives an error and may reconnect. Returns true if the connection
    /// exists.
    ///
    /// # Errors
    /// `UNAVAILABLE` if the node of the connection does not respond within a few seconds.
    pub async fn end_anywhere(&self, name: ConnectionName) -> Result<bool> {
        let store = self.dispatcher.services().store().clone();
        let Some(node) = name.node.filter(|node| self.own_node() != Some(*node)) else {
            return Ok(self.end(name.number));
        };
        let request = format!("{END}{}", name.number);
        let asked = tokio::task::spawn_blocking(move || store.ask(node, &request)).await;
        match asked.map_err(|error| Error::internal(error.to_string()))? {
            Ok(answer) => Ok(answer.is_some_and(|answer| answer == ENDED)),
            Err(error @ StoreError::Unreachable(_)) => {
                Err(Error::unavailable("The node of this connection is unreachable; try again").caused_by(error))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the number of this node, if several nodes may serve the database.
    pub(super) fn own_node(&self) -> Option<u32> {
        match self.dispatcher.services().store().nodes() {
            Nodes::Many { own, .. } => Some(own),
            Nodes::Alone => None,
        }
    }

    /// Handles the requests of other nodes to end connections, from now on.
    pub(crate) fn answer_other_nodes(self: &Arc<Self>) {
        let hub = Arc::downgrade(self);
        self.dispatcher.services().store().answer_by(Box::new(move |request| {
            let number = request.strip_prefix(END).and_then(|number| number.parse().ok());
            let is_ended = number.zip(hub.upgrade()).is_some_and(|(number, hub)| hub.end(number));
            if is_ended { ENDED } else { GONE }.to_owned()
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_is_named_by_its_number_or_with_its_node() {
        for (text, node, number) in
            [("7", None, 7), ("00c0ffee-7", Some(0x00c0_ffee), 7), ("ffffffff-0", Some(u32::MAX), 0)]
        {
            let name: ConnectionName = text.parse().unwrap();
            assert_eq!((name, name.to_string()), (ConnectionName { node, number }, text.to_owned()));
        }
        for text in ["", "-7", "seven", "00c0ffee-", "00c0ffee-7-7", "100000000-7"] {
            assert!(text.parse::<ConnectionName>().is_err(), "{text}");
        }
    }
}
