//! The state of the copies of a data folder between two processes.

use serde::{Deserialize, Serialize};

use crate::CopyError;
use crate::catalog::Generation;
use crate::place::Place;

/// The note of a data folder about its copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum CopyNote {
    /// The folder makes the copies of a generation.
    #[serde(rename_all = "camelCase")]
    Copied {
        /// The generation.
        generation: u32,
        /// The last copied commit.
        commit: u64,
    },
    /// The operator has decided that the folder continues the copies of another one.
    #[serde(rename_all = "camelCase")]
    TakesOver {
        /// The newest generation at the time of the decision.
        generation: u32,
    },
}

impl CopyNote {
    pub(crate) fn text(self) -> String {
        serde_json::to_string(&self).unwrap_or_default()
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Returns the note of a data folder that continues the copies of a place.
///
/// # Errors
/// Errors of the place; a place without copies.
pub fn take_over(place: &Place) -> Result<(String, u32), CopyError> {
    let newest = Generation::all(place)?.last().map(|generation| generation.number);
    let generation = newest.ok_or_else(|| {
        CopyError::Missing(format!("{} has no copies, so there is nothing to take over; start the server", place.url()))
    })?;
    Ok((CopyNote::TakesOver { generation }.text(), generation))
}
