//! Links: signed addresses of files, which expire, and which end with their row.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::depot::Depot;
use super::key::Purpose;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id;
use convoke_store::table::Meaning;
use convoke_store::{File, Place};

/// A link expires at a multiple of this part of its life, so that a query that runs again returns the same link for a
/// while.
const STEPS: i64 = 10;

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
    file: File,
    life: Duration,
    now: Millis,
    is_download: bool,
    name: Option<String>,
}

impl<'a> Link<'a> {
    pub(crate) fn new(depot: &'a Depot, file: &File, life: Duration, now: Millis) -> Self {
        Self { depot, file: *file, life, now, is_download: false, name: None }
    }

    /// Makes browsers save the file instead of showing it.
    pub fn download(self) -> Self {
        Self { is_download: true, ..self }
    }

    /// Sets the name under which browsers save the file.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Returns the address. It expires after at most the given life, and at least nine tenths of it. The address of a
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
        let target = Target {
            row: text_of(table.prefix, row),
            field: field.name.to_owned(),
            content: self.file.content().to_string(),
            expires_at: (!is_public).then(|| expiry(self.now, self.life)),
            is_download: self.is_download,
            name: self.name,
        };
        let content = serde_json::to_vec(&target).map_err(Error::internal)?;
        Ok(self.depot.url(&format!("/files/{}", self.depot.key()?.sign(Purpose::Link, &content))))
    }
}

/// Returns the time at which a link with this life expires.
fn expiry(now: Millis, life: Duration) -> Millis {
    let life = i64::try_from(life.as_millis()).unwrap_or(i64::MAX);
    let step = (life / STEPS).max(1);
    Millis((now.0 - now.0.rem_euclid(step)).saturating_add(life))
}

/// Returns an id with its prefix.
fn text_of(prefix: &str, bits: u128) -> String {
    format!("{prefix}_{}", String::from_utf8_lossy(&id::encode(bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_one_moment_are_equal_and_expire_in_time() {
        let life = Duration::from_secs(600);
        let first = expiry(Millis(1_000_000), life);
        assert_eq!(expiry(Millis(1_019_999), life), first);
        for now in (0..3_000_000).step_by(7_919).map(Millis) {
            let left = expiry(now, life).since(now);
            assert!(left <= life && left > life * 9 / 10, "{now}: {left:?}");
        }
        assert_eq!(expiry(Millis(5), Duration::ZERO), Millis(5));
    }
}
