//! An overview of the copies of a place.

use crate::catalog::{CopyFile, Generation, SNAPSHOTS};
use crate::error::CopyError;
use crate::place::Place;
use convoke_core::clock::Millis;

/// A generation of copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerationSurvey {
    /// Its number.
    pub number: u32,
    /// The generation that it continues.
    pub follows: Option<u32>,
    /// Its beginning.
    pub begun_at: Millis,
    /// Its snapshots, oldest first.
    pub snapshots: Vec<Copied>,
    /// The newest state; none without a snapshot.
    pub newest: Option<Copied>,
    /// Number of its files.
    pub files: usize,
    /// Bytes of its files.
    pub bytes: u64,
}

/// A copied state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Its last commit.
    pub commit: u64,
    /// The time at which it was copied.
    pub at: Millis,
    /// Bytes of its file.
    pub bytes: u64,
}

/// Returns the generations of a place, oldest first.
///
/// # Errors
/// Errors of the place; damaged headers.
pub fn survey(place: &Place) -> Result<Vec<GenerationSurvey>, CopyError> {
    Generation::all(place)?.iter().map(survey_of).collect()
}

fn survey_of(generation: &Generation<'_>) -> Result<GenerationSurvey, CopyError> {
    let (about, files) = (generation.about()?, generation.all_files()?);
    let copied = |file: &CopyFile| {
        let at = Millis(generation.header(file)?.at);
        Ok::<_, CopyError>(Copied { commit: file.last, at, bytes: file.bytes })
    };
    let mut snapshots = Vec::new();
    for file in files.iter().filter(|file| file.level == SNAPSHOTS) {
        snapshots.push(copied(file)?);
    }
    let newest = match files.iter().max_by_key(|file| (file.last, std::cmp::Reverse(file.level))) {
        Some(newest) if !snapshots.is_empty() => Some(copied(newest)?),
        _ => None,
    };
    Ok(GenerationSurvey {
        number: generation.number,
        follows: about.follows,
        begun_at: Millis(about.begun_at),
        snapshots,
        newest,
        files: files.len(),
        bytes: files.iter().map(|file| file.bytes).sum(),
    })
}
