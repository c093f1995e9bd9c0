//! Quotas: the stored bytes per identity.

use convoke_macros::table;

use convoke_core::error::{Error, Result};
use convoke_store::DbMut;

/// The bytes of the contents that an identity uploaded first.
#[table(name = "_fileUsage", prefix = "fileusage")]
#[index(by_owner(owner), unique)]
pub struct FileUsage {
    /// The identity, as `issuer|subject`.
    pub owner: String,
    /// The bytes.
    pub bytes: i64,
}

/// Adds the bytes of a new content to the usage of its owner.
///
/// # Errors
/// `RATE_LIMITED`: the owner would have more than `bytes_max` (0 = no limit).
pub(crate) fn add(db: &mut DbMut, owner: &str, bytes: i64, bytes_max: u64) -> Result<()> {
    let row = db.query(FileUsage::by_owner).eq(owner).unique()?;
    let total = row.as_ref().map_or(0, |row| row.bytes).saturating_add(bytes);
    if bytes_max > 0 && u64::try_from(total).unwrap_or(0) > bytes_max {
        return Err(Error::rate_limited(format!(
            "Your files would have {total} bytes, and at most {bytes_max} are allowed; remove files first"
        )));
    }
    match row {
        Some(row) => drop(db.patch_doc(row, |row| row.bytes = total)?),
        None => drop(db.insert(FileUsage { owner: owner.to_owned(), bytes: total })?),
    }
    Ok(())
}

/// Subtracts the bytes of a removed content.
pub(crate) fn subtract(db: &mut DbMut, owner: &str, bytes: i64) -> Result<()> {
    let Some(row) = db.query(FileUsage::by_owner).eq(owner).unique()? else { return Ok(()) };
    let left = row.bytes - bytes;
    if left > 0 {
        db.patch_doc(row, |row| row.bytes = left)?;
    } else {
        db.delete(row.id())?;
    }
    Ok(())
}
