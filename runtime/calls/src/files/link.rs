//! Links: signed addresses of files, which expire, and which end with their row.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::depot::Depot;
use super::key::Purpose;
use crate::inputs::{Inputs, UsedInputs};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id;
use convoke_store::table::Meaning;
use convoke_store::{File, Place};

/// A link changes after this part of its life, so that a query that runs again returns the same link for a while.
const STEPS: i64 = 3;

/// The content of a link's token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Target {
    /// The id of the row, with the prefix of its table.
    #[serde(rename = "r")]
    pub row: String,
    /// The field.
    #[serde(rename = "f")]
    pub field: String,
    /// The id of the content, with its prefix.
    #[serde(rename = "c")]
    pub content: String,
    /// The time at which the link expires; none for a public file.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
    /// True if browsers save the file instead of showing it.
    #[serde(rename = "d", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_download: bool,
    /// The name under which browsers save the file.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A link to a file of a row.
#[must_use = "`url` returns the address"]
pub struct Link<'a> {
    depot: &'a Depot,
    inputs: &'a UsedInputs,
    file: File,
    life: Duration,
    now: Millis,
    is_download: bool,
    name: Option<String>,
}

impl<'a> Link<'a> {
    pub(crate) fn new(depot: &'a Depot, inputs: &'a UsedInputs, file: &File, life: Duration, now: Millis) -> Self {
        Self { depot, inputs, file: *file, life, now, is_download: false, name: None }
    }

    /// Makes browsers save the file instead of showing it.
    pub fn download(self) -> Self {
        Self { is_download: true, ..self }
    }

    /// Sets the name under which browsers save the file.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Returns the address. It expires after at most the given life, and at least two thirds of it. The address of a
    /// public file does not expire.
    ///
    /// # Errors
    /// `INTERNAL`: the file was not read from a row, or the key of the installation cannot be read.
    pub fn url(self) -> Result<String> {
        let Place { table, row, field } = self.file.place().ok_or_else(|| {
            Error::internal("a link needs a file that was read from a row; read the row after its insert")
        })?;
        let field = &table.fields[field];
        let is_public = matches!(field.meaning, Meaning::File(rule) if rule.is_public);
        let expires_at = (!is_public).then(|| {
            let Window { changes_at, expires_at } = window(self.now, self.life);
            self.inputs.record_until(changes_at);
            expires_at
        });
        if !self.depot.has_url() {
            self.inputs.record(Inputs::UNANNOUNCED);
        }
        let target = Target {
            row: text_of(table.prefix, row),
            field: field.name.to_owned(),
            content: self.file.content().to_string(),
            expires_at,
            is_download: self.is_download,
            name: self.name,
        };
        let content = serde_json::to_vec(&target).map_err(Error::internal)?;
        Ok(self.depot.url(&format!("/files/{}", self.depot.key()?.sign(Purpose::Link, &content))))
    }
}

/// The times of a link.
struct Window {
    /// From this time on, the same function returns another link.
    changes_at: Millis,
    expires_at: Millis,
}

/// Returns the times of a link with this life.
fn window(now: Millis, life: Duration) -> Window {
    let life = i64::try_from(life.as_millis()).unwrap_or(i64::MAX);
    let step = (life / STEPS).max(1);
    let begins_at = now.0 - now.0.rem_euclid(step);
    Window { changes_at: Millis(begins_at.saturating_add(step)), expires_at: Millis(begins_at.saturating_add(life)) }
}

/// Returns an id with its prefix.
fn text_of(prefix: &str, bits: u128) -> String {
    format!("{prefix}_{}", String::from_utf8_lossy(&id::encode(bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_stays_the_same_until_it_changes_and_expires_in_time() {
        let life = Duration::from_secs(600);
        for now in (0..3_000_000).step_by(7_919).map(Millis) {
            let Window { changes_at, expires_at } = window(now, life);
            assert!(changes_at > now);
            assert_eq!(window(Millis(changes_at.0 - 1), life).expires_at, expires_at);
            assert!(window(changes_at, life).expires_at > expires_at);
            let left = expires_at.since(now);
            assert!(left <= life && left > life * 2 / 3, "{now}: {left:?}");
        }
        assert_eq!(window(Millis(5), Duration::ZERO).expires_at, Millis(5));
    }
}
