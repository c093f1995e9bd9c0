//! The checks of files: every content has its bytes, and every bytes have a row.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime};

use super::finding::Finding;
use crate::archive::space::human;
use crate::backup;
use convoke_calls::files::{Folder, StoredBytes};
use convoke_store::offline::everything;
use convoke_store::{ContentState, Reader, StoreError, StoredFile, Table as _, TableDef, ValueRef, file_fields};

/// Age at which bytes without a row are reported. Younger ones may be of an upload that is not complete.
const ORPHAN_AGE: Duration = Duration::from_secs(60 * 60);

const LOST: &str = "restore the folder of files from the newest backup: `convoke restore FILE` adds missing contents";
const SWEEP: &str = "they are removed a day after they were written; `convoke files sweep` removes older ones now";

/// A content in the database.
struct Known {
    id: u128,
    bytes: u64,
    references: i64,
    has_bytes: bool,
}

/// Checks the contents of a database against their folder; none if they are in a bucket. With `is_full`, it also compares
/// the hashes of all contents and the counted references.
pub fn look(reader: &dyn Reader, tables: &[&'static TableDef], folder: Option<&Folder>, is_full: bool) -> Vec<Finding> {
    let found = known(reader).map_err(|error| error.to_string()).and_then(|mut known| {
        let mut found = Vec::new();
        if let Some(folder) = folder {
            let orphans = compare(&mut known, folder).map_err(|error| error.to_string())?;
            found.push(bytes_of(&known, folder, is_full));
            found.extend(orphans);
        } else {
            let says = format!("{} contents are in a bucket, which is not compared", known.len());
            found.push(Finding::ok("contents", says));
        }
        if is_full {
            found.push(references(reader, tables, &known).map_err(|error| error.to_string())?);
        }
        Ok(found)
    });
    found.unwrap_or_else(|error| {
        let advice = "check the permissions of the folder of files and the findings on schema and integrity";
        vec![Finding::warning("contents", format!("they were not checked: {error}"), advice)]
    })
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
fn compare(known: &mut BTreeMap<String, Known>, folder: &Folder) -> std::io::Result<Option<Finding>> {
    #[expect(clippy::disallowed_methods, reason = "the file system does not use the clock of the runtime")]
    let now = SystemTime::now();
    let (mut orphans, mut orphan_bytes) = (0u64, 0u64);
    folder.contents(&mut |StoredBytes { hash, bytes, placed_at }| match known.get_mut(&hash) {
        Some(known) => known.has_bytes = known.bytes == bytes,
        None if now.duration_since(placed_at).is_ok_and(|age| age > ORPHAN_AGE) => {
            orphans += 1;
            orphan_bytes += bytes;
        }
        None => {}
    })?;
    let says = || format!("{orphans} contents ({}) have no row", human(orphan_bytes));
    Ok((orphans > 0).then(|| Finding::warning("contents", says(), SWEEP)))
}

fn bytes_of(known: &BTreeMap<String, Known>, folder: &Folder, is_full: bool) -> Finding {
    let lost: Vec<&String> = known.iter().filter(|(_, one)| !one.has_bytes).map(|(hash, _)| hash).collect();
    if let Some(first) = lost.first() {
        let says = format!("{} contents have no bytes or only a part of them, the first is {first}", lost.len());
        return Finding::problem("contents", says, LOST);
    }
    if is_full {
        let differs = |hash: &&String| {
            backup::measure(&folder.path_of(hash), &mut |_| {}).map_or(true, |(found, _)| found != **hash)
        };
        if let Some(wrong) = known.keys().find(differs) {
            let says = format!("the bytes of a content do not have its hash {wrong}");
            return Finding::problem("contents", says, LOST);
        }
    }
    let bytes: u64 = known.values().map(|one| one.bytes).sum();
    let how = if is_full { "with the right hash" } else { "of the right length (--full also compares hashes)" };
    Finding::ok("contents", format!("{} contents, {}, each {how}", known.len(), human(bytes)))
}

/// Compares the counted references with the rows.
fn references(
    reader: &dyn Reader,
    tables: &[&'static TableDef],
    known: &BTreeMap<String, Known>,
) -> Result<Finding, StoreError> {
    let mut counted: BTreeMap<u128, i64> = known.values().map(|one| (one.id, 0)).collect();
    let mut lost = 0u64;
    for table in tables {
        let places: Vec<usize> = file_fields::file_places(table).map(|(place, _)| place).collect();
        if places.is_empty() {
            continue;
        }
        reader.select(&everything(table), &mut |row| {
            for place in &places {
                if let ValueRef::Id(content) = row.value(*place)? {
                    match counted.get_mut(&content) {
                        Some(count) => *count += 1,
                        None => lost += 1,
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let wrong = known.values().filter(|one| counted.get(&one.id) != Some(&one.references)).count();
    Ok(match (lost, wrong) {
        (0, 0) => Finding::ok("references", "the rows refer to stored contents, and all references are counted"),
        (0, wrong) => Finding::problem(
            "references",
            format!("{wrong} contents have a wrong number of references"),
            "a number that is too low can remove a file too early: restore the newest backup with the right numbers",
        ),
        (lost, _) => Finding::problem("references", format!("{lost} fields refer to contents without a row"), LOST),
    })
}
