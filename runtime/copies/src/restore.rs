//! Makes a database file of copies.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::catalog::{CopyFile, Generation, SNAPSHOTS};
use crate::error::CopyError;
use crate::ltx::Decoder;
use crate::place::Place;
use crate::plan::plan;
use convoke_core::clock::Millis;
use convoke_store::private_file;

/// The state to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The newest copied state.
    Newest,
    /// The newest state that was copied at or before this time.
    At(Millis),
    /// The newest state at or before this commit.
    Commit(u64),
}

/// A restored state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Its generation.
    pub generation: u32,
    /// Its last commit.
    pub commit: u64,
    /// The time at which it was copied.
    pub at: Millis,
    /// Number of files.
    pub files: usize,
    /// Size of the database in bytes.
    pub bytes: u64,
}

/// Writes the database of a moment to the new file `to`. Each file is checked. `progress` receives the bytes of the
/// files so far, and of all files.
///
/// # Errors
/// Errors of the place and of the file system; missing or damaged files. The file `to` is then useless.
pub fn restore(
    place: &Place,
    generation: Option<u32>,
    moment: Moment,
    to: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Restored, CopyError> {
    let (generation, files, commit) = choose(place, generation, moment)?;
    let missing = || CopyError::Missing(format!("{} has no snapshot for this moment", place.url()));
    let plan = plan(&files, commit).ok_or_else(missing)?;
    if let Some(after) = plan.gap_before
        && !generation.has_gap(after - 1)?
    {
        return Err(CopyError::Missing(format!(
            "{}: the copies between commit {} and {after} of generation {} are missing; restore the state before with \
             --commit {}",
            place.url(),
            plan.reached,
            generation.number,
            plan.reached
        )));
    }
    let total = plan.files.iter().map(|file| file.bytes).sum();
    let named = || to.display().to_string();
    let mut out = private_file(to).map_err(CopyError::of(&named()))?;
    out.set_len(0).map_err(CopyError::of(&named()))?;
    let (mut done, mut bytes, mut at) = (0, 0, 0);
    for file in &plan.files {
        let name = generation.name(file);
        (bytes, at) = apply(place, &name, &mut out).map_err(CopyError::of(&name))?;
        done += file.bytes;
        progress(done, total);
    }
    out.sync_all().map_err(CopyError::of(&named()))?;
    let (generation, commit, files) = (generation.number, plan.reached, plan.files.len());
    Ok(Restored { generation, commit, at: Millis(at), files, bytes })
}

/// Writes the pages of a file into the database. Returns the size of the database and the time of the file.
fn apply(place: &Place, name: &str, out: &mut File) -> std::io::Result<(u64, i64)> {
    let mut decoder = Decoder::begin(BufReader::with_capacity(1 << 18, place.get(name)?))?;
    let header = decoder.header();
    let mut content = vec![0; header.page_bytes as usize];
    let mut to = BufWriter::with_capacity(1 << 18, &*out);
    let mut at = None;
    while let Some(number) = decoder.next(&mut content)? {
        let place = u64::from(number - 1) * u64::from(header.page_bytes);
        if at != Some(place) {
            to.seek(SeekFrom::Start(place))?;
        }
        to.write_all(&content)?;
        at = Some(place + u64::from(header.page_bytes));
    }
    to.flush()?;
    drop(to);
    let bytes = u64::from(header.database_pages) * u64::from(header.page_bytes);
    out.set_len(bytes)?;
    Ok((bytes, header.at))
}

/// Returns the generation of a moment, its files, and the newest commit to apply.
fn choose(
    place: &Place,
    generation: Option<u32>,
    moment: Moment,
) -> Result<(Generation<'_>, Vec<CopyFile>, u64), CopyError> {
    let mut generations = Generation::all(place)?;
    if let Some(number) = generation {
        generations.retain(|generation| generation.number == number);
    }
    if generations.is_empty() {
        return Err(CopyError::Missing(match generation {
            None => format!("{} has no copies", place.url()),
            Some(number) => format!("{} has no generation {number}; see `convoke copies list`", place.url()),
        }));
    }
    let mut newest = 0;
    // The newest generation may have begun without a complete snapshot yet.
    for generation in generations.into_iter().rev() {
        if let Moment::At(at) = moment
            && generation.about()?.begun_at > at.0
        {
            continue;
        }
        let files = generation.all_files()?;
        newest = files.iter().map(|file| file.last).chain([newest]).max().unwrap_or_default();
        let commit = match moment {
            Moment::Newest => Some(u64::MAX),
            Moment::Commit(commit) => (commit <= newest).then_some(commit),
            Moment::At(at) => newest_at(&generation, &files, at)?,
        };
        let has_snapshot = |commit: u64| files.iter().any(|file| file.level == SNAPSHOTS && file.last <= commit);
        if let Some(commit) = commit
            && has_snapshot(commit)
        {
            return Ok((generation, files, commit));
        }
    }
    Err(CopyError::Missing(match moment {
        Moment::Newest => format!("{} has no complete snapshot", place.url()),
        Moment::Commit(commit) if commit > newest => {
            format!("{} has no commit {commit}: the newest is {newest}", place.url())
        }
        Moment::Commit(commit) => format!("{} has no snapshot at or before commit {commit}", place.url()),
        Moment::At(at) => format!("{} has no copy from {} or before", place.url(), convoke_core::clock::stamp(at)),
    }))
}

/// Returns the last commit that was copied at or before a time.
fn newest_at(generation: &Generation<'_>, files: &[CopyFile], at: Millis) -> Result<Option<u64>, CopyError> {
    // The times grow with the commits, so a binary search reads few headers.
    let mut ends: Vec<&CopyFile> = files.iter().collect();
    ends.sort_unstable_by_key(|file| (file.last, file.level));
    ends.dedup_by_key(|file| file.last);
    let (mut low, mut high) = (0, ends.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if generation.header(ends[middle])?.at <= at.0 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low.checked_sub(1).map(|place| ends[place].last))
}
