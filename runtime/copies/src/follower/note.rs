//! The state of a following data folder between two processes: `follow.json`.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use convoke_store::write_private;

/// Name of the file in the data folder.
const NAME: &str = "follow.json";

/// The copies that a data folder follows, and its position in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowNote {
    /// URL of the place.
    pub url: String,
    /// The generation.
    pub generation: u32,
    /// A commit that the database contains. After a crash, the database may contain later ones too.
    pub commit: u64,
    /// The promotion, which ends the following.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted: Option<Promotion>,
}

/// A promotion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Promotion {
    /// The generation that the data folder continues.
    pub generation: u32,
    /// The note of its page feed ([`convoke_store::Installation::set_feed_note`]).
    pub feed_note: String,
    /// True if that note is set.
    pub is_set: bool,
}

impl FollowNote {
    fn path(data: &Path) -> PathBuf {
        data.join(NAME)
    }

    /// Reads the note of a data folder; `None`: it does not follow copies.
    ///
    /// # Errors
    /// Errors of the file system; a damaged file.
    pub fn read(data: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(Self::path(data)) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| {
                let path = Self::path(data);
                io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged: {error}", path.display()))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the note of a data folder.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(&self, data: &Path) -> io::Result<()> {
        write_private(&Self::path(data), &serde_json::to_vec_pretty(self)?)
    }
}
