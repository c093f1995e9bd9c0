//! The members of an archive and its table of contents.

use serde::{Deserialize, Serialize};

/// The first member: the table of contents.
pub const MANIFEST: &str = "manifest.json";
/// The second member.
pub const SCHEMA: &str = "schema.json";
/// The identifier of the format.
pub const FORMAT: &str = "convoke-export";
/// The written version of the format, and the newest supported one.
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
    /// The members with rows, in order.
    pub tables: Vec<TableMember>,
    /// Tables whose rows are not exported.
    pub left_out: Vec<String>,
    /// The number of members with contents of files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files: u64,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Member {
    /// Its path in the archive.
    pub file: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its SHA-256, in lower-case hexadecimal.
    pub sha256: String,
}

/// The member with the rows of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TableMember {
    /// The table.
    pub table: String,
    /// The number of rows.
    pub rows: u64,
    /// The member.
    #[serde(flatten)]
    pub member: Member,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The folder of the members with contents. The name of a member is the SHA-256 of the content.
pub const FILES: &str = "files/";

/// Returns the path of the member with the rows of a table.
pub fn rows_of(table: &str) -> String {
    format!("tables/{table}.jsonl")
}
