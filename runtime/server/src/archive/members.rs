//! What an archive's members are called, and its table of contents.

use serde::{Deserialize, Serialize};

/// The first member: the table of contents.
pub const MANIFEST: &str = "manifest.json";
/// The second member.
pub const SCHEMA: &str = "schema.json";
/// What an archive says it is.
pub const FORMAT: &str = "convoke-export";
/// The version of the format that is written, and the newest that is read.
pub const VERSION: u32 = 1;

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The version of the program that wrote it.
    pub program: String,
    /// `schema.json`.
    pub schema: Member,
    /// The members with rows, in their order.
    pub tables: Vec<TableMember>,
    /// Tables whose rows stay in the installation they are of.
    pub left_out: Vec<String>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Member {
    /// Its path in the archive.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in lower-case hexadecimal.
    pub sha256: String,
}

/// The rows of one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TableMember {
    /// The table.
    pub table: String,
    /// Lines in it.
    pub rows: u64,
    /// The member.
    #[serde(flatten)]
    pub member: Member,
}

/// Where the rows of a table stand.
pub fn rows_of(table: &str) -> String {
    format!("tables/{table}.jsonl")
}
