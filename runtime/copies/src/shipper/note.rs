//! The state of the copies of a data folder between two processes.

use serde::{Deserialize, Serialize};

use crate::catalog::{About, Generation};
use crate::error::CopyError;
use crate::place::Place;
use convoke_core::clock::Millis;

/// The note of a data folder about its copies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopyNote {
    /// The place, if the note names it.
    #[serde(default)]
    pub url: Option<String>,
    /// The generation of the folder.
    pub generation: u32,
    /// The last copied commit; 0 before the first snapshot.
    pub commit: u64,
}

impl CopyNote {
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Begins the next generation of a place for a data folder. From now on, the former server can neither copy nor
/// acknowledge a mutation that waits for its copy. Returns the note of the data folder
/// ([`convoke_store::Installation::set_feed_note`]) and the generation.
///
/// # Errors
/// Errors of the place; a place without copies; another server takes over now.
pub fn take_over(place: &Place, now: Millis) -> Result<(String, u32), CopyError> {
    let newest = Generation::all(place)?.last().map(|generation| generation.number);
    let newest = newest.ok_or_else(|| {
        CopyError::Missing(format!("{} has no copies, so there is nothing to take over; start the server", place.url()))
    })?;
    let generation = newest + 1;
    let about = About { begun_at: now.0, follows: Some(newest) };
    match Generation::begin(place, generation, &about)? {
        Some(_) => Ok((CopyNote { url: Some(place.url().to_owned()), generation, commit: 0 }.text(), generation)),
        None => Err(CopyError::TakenOver(generation)),
    }
}
