//! The checks of files: every content has its bytes, and every bytes have a row.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime};

use super::finding::Finding;
use crate::archive::space::human;
use convoke_calls::files::{Storage, StoredBytes};
use convoke_core::counted::counted;
use convoke_store::offline::everything;
use convoke_store::{ContentState, Reader, StoreError, StoredFile, Table as _, TableDef, ValueRef, file_fields};

/// Age at which bytes without a row are reported. Younger ones may be of an upload that is not complete.
const ORPHAN_AGE: Duration = Duration::from_secs(60 * 60);

const LOST: &str = "copy these contents from the folder FILE.files of a backup on another disk to the folder of files, under the \
                    same names. `convoke restore FILE` does that too, and takes all rows back to the time of the backup";
const LOST_OBJECTS: &str = "restore these objects in the bucket from its versions or from a copy of the bucket";
const SWEEP: &str = "they are removed a day after they were written; `convoke files sweep` removes older ones now";

/// A content in the database.
struct Known {
    id: u128,
    bytes: u64,
    references: i64,
    has_bytes: bool,
}

/// Checks the contents of a database against the storage of their bytes. With `is_full`, it also compares the hashes of
/// all contents and the counted references.
pub async fn look(reader: &dyn Reader, tables: &[&'static TableDef], storage: &Storage, is_full: bool) -> Vec<Finding> {
    compared(reader, tables, storage, is_full).await.unwrap_or_else(|error| vec![unchecked(error)])
}

/// Returns the finding about a storage that cannot be read.
pub fn unchecked(error: impl Display) -> Finding {
    let advice = "check files.url or the folder of files, the access to it, and the findings on schema and integrity";
    Finding::warning("contents", format!("they were not checked: {error}"), advice)
}

async fn compared(
    reader: &dyn Reader,
    tables: &[&'static TableDef],
    storage: &Storage,
    is_full: bool,
) -> Result<Vec<Finding>, String> {
    let mut known = known(reader).map_err(|error| error.to_string())?;
    // The storage is read after the rows: bytes are there before their row.
    let stored = storage.contents(|_| true).await.map_err(|error| error.to_string())?;
    let orphans = compare(&mut known, stored);
    let mut found = vec![bytes_of(&known, storage, is_full).await];
    found.extend(orphans);
    if is_full {
        found.push(references(reader, tables, &known).map_err(|error| error.to_string())?);
    }
    Ok(found)
}

fn known(reader: &dyn Reader) -> Result<BTreeMap<String, Known>, StoreError> {
    let mut known = BTreeMap::new();
    reader.select(&everything(StoredFile::DEF), &mut |row| {
        let file = StoredFile::decode(row)?;
        if file.state == ContentState::Stored {
            let bytes = u64::try_from(file.bytes).unwrap_or(0);
            let one = Known { id: row.id()?, bytes, references: file.references, has_bytes: false };
            known.insert(file.hash, one);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(known)
}

/// Notes which contents have their bytes. Returns the finding about bytes without a row.
fn compare(known: &mut BTreeMap<String, Known>, stored: Vec<StoredBytes>) -> Option<Finding> {
    #[expect(clippy::disallowed_methods, reason = "the file system does not use the clock of the runtime")]
    let now = SystemTime::now();
    let (mut orphans, mut orphan_bytes) = (0u64, 0u64);
    for StoredBytes { hash, bytes, placed_at } in stored {
        match known.get_mut(&hash) {
            Some(known) => known.has_bytes = known.bytes == bytes,
            None if now.duration_since(placed_at).is_ok_and(|age| age > ORPHAN_AGE) => {
                orphans += 1;
                orphan_bytes += bytes;
            }
            None => {}
        }
    }
    let says = || format!("{} ({}) without a row", counted(orphans, "content"), human(orphan_bytes));
    (orphans > 0).then(|| Finding::warning("contents", says(), SWEEP))
}

async fn bytes_of(known: &BTreeMap<String, Known>, storage: &Storage, is_full: bool) -> Finding {
    let advice = if storage.local().is_some() { LOST } else { LOST_OBJECTS };
    let lost: Vec<&String> = known.iter().filter(|(_, one)| !one.has_bytes).map(|(hash, _)| hash).collect();
    if let Some(first) = lost.first() {
        let lost = counted(lost.len(), "content");
        let says = format!("{lost} without bytes or with only a part of them; the first is {first}");
        return Finding::problem("contents", says, advice);
    }
    if is_full {
        for (hash, one) in known {
            match storage.hash_of(hash, one.bytes).await {
                Ok(found) if found == *hash => {}
                Ok(_) => {
                    let says = format!("the bytes of a content do not have its hash {hash}");
                    return Finding::problem("contents", says, advice);
                }
                Err(error) => {
                    let says = format!("the content {hash} cannot be read: {error}");
                    return Finding::problem("contents", says, advice);
                }
            }
        }
    }
    let bytes: u64 = known.values().map(|one| one.bytes).sum();
    let how = if is_full { "with the right hash" } else { "of the right length (--full also compares hashes)" };
    Finding::ok("contents", format!("{}, {}, each {how}", counted(known.len(), "content"), human(bytes)))
}

/// Compares the counted references with the rows.
fn references(
    reader: &dyn Reader,
    tables: &[&'static TableDef],
    known: &BTreeMap<String, Known>,
) -> Result<Finding, StoreError> {
    let mut found: BTreeMap<u128, i64> = known.values().map(|one| (one.id, 0)).collect();
    let mut lost = 0u64;
    for table in tables {
        let places: Vec<usize> = file_fields::file_places(table).map(|(place, _)| place).collect();
        if places.is_empty() {
            continue;
        }
        reader.select(&everything(table), &mut |row| {
            for place in &places {
                if let ValueRef::Id(content) = row.value(*place)? {
                    match found.get_mut(&content) {
                        Some(count) => *count += 1,
                        None => lost += 1,
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let wrong = known.values().filter(|one| found.get(&one.id) != Some(&one.references)).count();
    Ok(match (lost, wrong) {
        (0, 0) => Finding::ok("references", "the rows refer to stored contents, and all references are counted"),
        (0, wrong) => Finding::problem(
            "references",
            format!("{} with a wrong number of references", counted(wrong, "content")),
            "a number that is too low can remove a file too early: restore the newest backup with the right numbers",
        ),
        (lost, _) => {
            let lost = counted(lost, "reference");
            Finding::problem("references", format!("{lost} to contents without a row"), LOST)
        }
    })
}
