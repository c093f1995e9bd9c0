//! The next files for a follower.

use crate::catalog::{CopyFile, Generation};
use crate::error::CopyError;
use crate::place::Place;
use crate::plan::{changes_after, plan};

/// Files that lead from one state to a later one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Generation of the files.
    pub generation: u32,
    /// The files in their order.
    pub files: Vec<CopyFile>,
    /// The commit that they reach.
    pub reached: u64,
}

/// Returns the files after a commit of a generation, or those of a later generation; `None`: the place has none. Changes
/// that are not in files of single seconds are found only if `is_thorough`.
pub(super) fn next(place: &Place, generation: u32, commit: u64, is_thorough: bool) -> Result<Option<Step>, CopyError> {
    let own = Generation { place, number: generation };
    if is_thorough {
        // First: after a crash, the database may already have a later generation.
        for later in Generation::all(place)?.into_iter().rev().take_while(|later| later.number > generation) {
            if let Some(step) = from_snapshot(later.number, &later.all_files()?) {
                return Ok(Some(step));
            }
        }
    }
    let newest = own.files_from(commit + 1)?;
    if let Some(step) = changes(generation, &newest, commit) {
        return Ok(Some(step));
    }
    if newest.is_empty() && !is_thorough {
        return Ok(None);
    }
    let files = own.all_files()?;
    if let Some(step) = changes(generation, &files, commit) {
        return Ok(Some(step));
    }
    // After a gap, only a snapshot leads to the changes.
    Ok(from_snapshot(generation, &files).filter(|step| step.reached > commit))
}

fn changes(generation: u32, files: &[CopyFile], commit: u64) -> Option<Step> {
    let (files, reached) = changes_after(files, commit, u64::MAX);
    (reached > commit).then_some(Step { generation, files, reached })
}

fn from_snapshot(generation: u32, files: &[CopyFile]) -> Option<Step> {
    let plan = plan(files, u64::MAX)?;
    Some(Step { generation, files: plan.files, reached: plan.reached })
}
