//! Merges of many small files, and the removal of old ones.

use std::collections::VecDeque;
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::Duration;

use crate::catalog::{CopyFile, Generation, SNAPSHOTS};
use crate::error::CopyError;
use crate::merge::merge;
use convoke_core::clock::Millis;

/// Time between two merges, by the level that they make.
const MERGE_EVERY: [(u8, Duration); 2] = [(1, Duration::from_secs(60)), (2, Duration::from_secs(3_600))];
/// Most bytes of the files of one merge; more would take too much memory and time.
const MERGE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Time for which the files of each second are kept after they were merged.
const SECONDS_KEPT: Duration = Duration::from_secs(86_400);

/// The upkeep of a generation.
pub(super) struct Upkeep {
    /// Files that are not merged yet, by level.
    unmerged: [VecDeque<CopyFile>; 2],
    merged_at: [Duration; 2],
    /// Merged files of level 0, with the time of their merge.
    seconds: VecDeque<(Duration, CopyFile)>,
}

impl Upkeep {
    /// Lists the files of a generation.
    pub(super) fn open(generation: &Generation<'_>, now: Duration) -> Result<Self, CopyError> {
        let mut upkeep = Self { unmerged: Default::default(), merged_at: [now; 2], seconds: VecDeque::new() };
        for (place, (level, _)) in MERGE_EVERY.into_iter().enumerate() {
            let done = generation.files(level)?.iter().map(|file| file.last).max().unwrap_or(0);
            for file in generation.files(level - 1)? {
                if file.last > done {
                    upkeep.unmerged[place].push_back(file);
                } else if level == 1 {
                    upkeep.seconds.push_back((now, file));
                }
            }
        }
        Ok(upkeep)
    }

    /// Records a stored file of level 0.
    pub(super) fn stored(&mut self, file: CopyFile) {
        self.unmerged[0].push_back(file);
    }

    /// Makes the merges that are due, with a temporary file in `scratch`, and removes merged files that are old.
    ///
    /// # Errors
    /// Errors of the place and of the temporary file. The next call tries again.
    pub(super) fn run(&mut self, generation: &Generation<'_>, scratch: &Path, now: Duration) -> Result<(), CopyError> {
        for (place, (level, every)) in MERGE_EVERY.into_iter().enumerate() {
            if now.saturating_sub(self.merged_at[place]) >= every {
                self.merged_at[place] = now;
                self.merge(generation, place, level, scratch, now)?;
            }
        }
        while let Some((since, file)) = self.seconds.front()
            && now.saturating_sub(*since) >= SECONDS_KEPT
        {
            let name = generation.name(file);
            generation.place.remove(&name).map_err(CopyError::of(&name))?;
            self.seconds.pop_front();
        }
        Ok(())
    }

    fn merge(
        &mut self,
        generation: &Generation<'_>,
        place: usize,
        level: u8,
        scratch: &Path,
        now: Duration,
    ) -> Result<(), CopyError> {
        loop {
            let waiting = &self.unmerged[place];
            let inputs = consecutive(waiting);
            // A single file waits for more, unless a gap follows it.
            if inputs.is_empty() || (inputs.len() == 1 && waiting.len() == 1) {
                return Ok(());
            }
            let file = if inputs.len() > 1 { Some(merged(generation, &inputs, level, scratch)?) } else { None };
            self.unmerged[place].drain(..inputs.len());
            if let Some(file) = file {
                if let Some(next) = self.unmerged.get_mut(place + 1) {
                    next.push_back(file);
                }
                if level == 1 {
                    self.seconds.extend(inputs.into_iter().map(|file| (now, file)));
                }
            }
        }
    }
}

/// Returns the first files without a gap between them, within the limit of a merge.
fn consecutive(waiting: &VecDeque<CopyFile>) -> Vec<CopyFile> {
    let (mut bytes, mut next) = (0, None);
    let fits = move |file: &&CopyFile| {
        let is_next = next.is_none_or(|next| file.first == next);
        let is_small = next.is_none() || bytes + file.bytes <= MERGE_BYTES_MAX;
        (bytes, next) = (bytes + file.bytes, Some(file.last + 1));
        is_next && is_small
    };
    waiting.iter().take_while(fits).cloned().collect()
}

/// Stores the merge of consecutive files.
fn merged(generation: &Generation<'_>, inputs: &[CopyFile], level: u8, scratch: &Path) -> Result<CopyFile, CopyError> {
    let mut files = Vec::with_capacity(inputs.len());
    for input in inputs {
        let name = generation.name(input);
        files.push(generation.place.get(&name).map_err(CopyError::of(&name))?);
    }
    let named = scratch.display().to_string();
    let make = || {
        let to = convoke_store::private_file(scratch)?;
        to.set_len(0)?;
        let header = merge(files, BufWriter::new(to))?;
        Ok::<_, io::Error>((header, std::fs::metadata(scratch)?.len()))
    };
    let made = make().map_err(CopyError::of(&named));
    let stored = made.and_then(|(header, bytes)| {
        let file = CopyFile { level, first: header.first, last: header.last, bytes };
        let name = generation.name(&file);
        generation.place.put_file(&name, scratch, header.at).map_err(CopyError::of(&name))?;
        Ok(file)
    });
    let _ = std::fs::remove_file(scratch);
    stored
}

/// Removes the copies that only serve moments before `oldest`: files before the newest snapshot that is at least that
/// old, and former generations without a later file.
pub(super) fn remove_old(current: &Generation<'_>, oldest: Millis) -> Result<usize, CopyError> {
    let mut removed = 0;
    for generation in Generation::all(current.place)? {
        let files = generation.all_files()?;
        let end = files.iter().max_by_key(|file| file.last);
        let is_over = generation.number < current.number
            && end.map(|end| generation.header(end)).transpose()?.is_none_or(|header| header.at < oldest.0);
        let mut border = None;
        for snapshot in files.iter().filter(|file| file.level == SNAPSHOTS) {
            if generation.header(snapshot)?.at <= oldest.0 {
                border = border.max(Some(snapshot.last));
            }
        }
        let is_old = |file: &&CopyFile| {
            let before = border.is_some_and(|border| match file.level {
                SNAPSHOTS => file.last < border,
                _ => file.last <= border,
            });
            is_over || before
        };
        // The newest changes go first, so that no rest looks complete.
        let mut old: Vec<&CopyFile> = files.iter().filter(is_old).collect();
        old.sort_unstable_by_key(|file| (file.level == SNAPSHOTS, std::cmp::Reverse(file.last)));
        for file in old {
            let name = generation.name(file);
            generation.place.remove(&name).map_err(CopyError::of(&name))?;
            removed += 1;
        }
    }
    Ok(removed)
}
