//! The choice of files for a restore: a snapshot, and changes without a gap after it; or only the changes.

use crate::catalog::{CopyFile, SNAPSHOTS};

/// The files of a restore, in the order in which they are applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The files.
    pub files: Vec<CopyFile>,
    /// The commit that they reach.
    pub reached: u64,
    /// The first commit after a gap behind `reached`, if a file within the requested range cannot be applied.
    pub gap_before: Option<u64>,
}

/// Returns the files that lead to the newest state at or before `commit`; `None`: no snapshot is that old.
pub(crate) fn plan(files: &[CopyFile], commit: u64) -> Option<Plan> {
    let fits = |file: &&CopyFile| file.last <= commit;
    let snapshot = files.iter().filter(fits).filter(|file| file.level == SNAPSHOTS).max_by_key(|file| file.last)?;
    let (changes, reached) = changes_after(files, snapshot.last, commit);
    let mut chosen = vec![snapshot.clone()];
    chosen.extend(changes);
    let gap_before = files.iter().filter(fits).filter(|file| file.first > reached).map(|file| file.first).min();
    Some(Plan { files: chosen, reached, gap_before })
}

/// Returns the files that lead from a state to the newest one at or before `commit` without a gap, and the commit that
/// they reach.
pub(crate) fn changes_after(files: &[CopyFile], state: u64, commit: u64) -> (Vec<CopyFile>, u64) {
    let (mut chosen, mut reached) = (Vec::new(), state);
    loop {
        let next = files
            .iter()
            .filter(|file| file.level != SNAPSHOTS && file.last <= commit)
            .filter(|file| file.first <= reached + 1 && file.last > reached)
            // Of files that reach equally far, that of the highest level is the smallest.
            .max_by_key(|file| (file.last, file.level));
        let Some(next) = next else { return (chosen, reached) };
        reached = next.last;
        chosen.push(next.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(level: u8, first: u64, last: u64) -> CopyFile {
        CopyFile { level, first, last, bytes: 1 }
    }

    /// Level, first and last commit of a file.
    type Chosen = (u8, u64, u64);

    fn chosen(files: &[CopyFile], commit: u64) -> Option<(Vec<Chosen>, Option<u64>)> {
        let plan = plan(files, commit)?;
        Some((plan.files.iter().map(|file| (file.level, file.first, file.last)).collect(), plan.gap_before))
    }

    #[test]
    fn newest_snapshot_and_the_longest_files_after_it_are_chosen() {
        let files = [
            file(9, 1, 1),
            file(9, 1, 20),
            file(0, 2, 4),
            file(0, 5, 9),
            file(0, 10, 22),
            file(0, 23, 23),
            file(0, 24, 30),
            file(1, 2, 9),
            file(1, 10, 30),
        ];
        assert_eq!(chosen(&files, u64::MAX), Some((vec![(9, 1, 20), (1, 10, 30)], None)));
        assert_eq!(chosen(&files, 29), Some((vec![(9, 1, 20), (0, 10, 22), (0, 23, 23)], None)));
        assert_eq!(chosen(&files, 19), Some((vec![(9, 1, 1), (1, 2, 9)], None)));
        assert_eq!(chosen(&files, 8), Some((vec![(9, 1, 1), (0, 2, 4)], None)));
        assert_eq!(chosen(&files, 0), None);
    }

    #[test]
    fn gap_is_reported() {
        let files = [file(9, 1, 3), file(0, 4, 5), file(0, 7, 9)];
        assert_eq!(chosen(&files, u64::MAX), Some((vec![(9, 1, 3), (0, 4, 5)], Some(7))));
        assert_eq!(chosen(&files, 6), Some((vec![(9, 1, 3), (0, 4, 5)], None)));
    }
}
