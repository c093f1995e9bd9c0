//! The files of a place: `<generation>/ltx/<level>/<first commit>-<last commit>.ltx`.
//!
//! A generation is the history of one installation. A server that takes over the copies of another one begins the next
//! generation, and from then on the former server finds that its generation is not the newest. The file
//! `generation.json` is created only once, so that only one server begins a generation. A file `gap-<commit>.json` exists
//! while the snapshot of that commit is stored: only the snapshot leads to the changes after it.

use serde::{Deserialize, Serialize};

use crate::error::CopyError;
use crate::ltx::{HEADER_BYTES, Header};
use crate::place::Place;

/// Level of the snapshots.
pub(crate) const SNAPSHOTS: u8 = 9;
/// Levels of the changes: each second, each minute, each hour.
pub(crate) const CHANGES: [u8; 3] = [0, 1, 2];

/// The content of `generation.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct About {
    /// Its beginning in milliseconds since 1970.
    pub begun_at: i64,
    /// The generation that it continues.
    #[serde(default)]
    pub follows: Option<u32>,
}

/// A file of a generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyFile {
    /// Its level.
    pub level: u8,
    /// Its first commit.
    pub first: u64,
    /// Its last commit.
    pub last: u64,
    /// Its size.
    pub bytes: u64,
}

impl CopyFile {
    fn parse(level: u8, name: &str, bytes: u64) -> Option<Self> {
        let (first, last) = name.strip_suffix(".ltx")?.split_once('-')?;
        let number = |text: &str| (text.len() == 16).then(|| u64::from_str_radix(text, 16).ok()).flatten();
        Some(Self { level, first: number(first)?, last: number(last)?, bytes })
    }
}

/// A generation of a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generation<'p> {
    /// Its place.
    pub place: &'p Place,
    /// Its number.
    pub number: u32,
}

impl<'p> Generation<'p> {
    /// Returns the generations of a place, oldest first.
    pub(crate) fn all(place: &'p Place) -> Result<Vec<Self>, CopyError> {
        let folders = place.folders().map_err(CopyError::of(place.url()))?;
        let number = |name: &String| (name.len() == 8).then(|| name.parse::<u32>().ok()).flatten();
        let mut numbers: Vec<u32> = folders.iter().filter_map(number).collect();
        numbers.sort_unstable();
        let mut generations = Vec::new();
        for number in numbers {
            let generation = Self { place, number };
            if place.exists(&generation.marker()).map_err(CopyError::of(&generation.marker()))? {
                generations.push(generation);
            }
        }
        Ok(generations)
    }

    /// Begins a generation; `None`: it exists already.
    pub(crate) fn begin(place: &'p Place, number: u32, about: &About) -> Result<Option<Self>, CopyError> {
        let generation = Self { place, number };
        let text = serde_json::to_vec_pretty(about).unwrap_or_default();
        match place.put_new(&generation.marker(), &text, about.begun_at) {
            Ok(()) => Ok(Some(generation)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(CopyError::of(&generation.marker())(error)),
        }
    }

    /// Returns true if a later generation exists.
    pub(crate) fn is_succeeded(&self) -> Result<bool, CopyError> {
        let next = Self { place: self.place, number: self.number + 1 }.marker();
        self.place.exists(&next).map_err(CopyError::of(&next))
    }

    fn marker(&self) -> String {
        format!("{:08}/generation.json", self.number)
    }

    fn gap(&self, snapshot: u64) -> String {
        format!("{:08}/gap-{snapshot:016x}.json", self.number)
    }

    /// Records that the changes after a commit need a snapshot of it, which is not stored yet.
    pub(crate) fn begin_gap(&self, snapshot: u64) -> Result<(), CopyError> {
        let name = self.gap(snapshot);
        match self.place.put_new(&name, b"{}", 0) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(CopyError::of(&name)(error)),
            _ => Ok(()),
        }
    }

    /// Records that the snapshot of a commit is stored.
    pub(crate) fn end_gap(&self, snapshot: u64) -> Result<(), CopyError> {
        let name = self.gap(snapshot);
        self.place.remove(&name).map_err(CopyError::of(&name))
    }

    /// Returns true if the snapshot of a commit was begun and not stored, so that later changes cannot be restored.
    pub(crate) fn has_gap(&self, snapshot: u64) -> Result<bool, CopyError> {
        let name = self.gap(snapshot);
        self.place.exists(&name).map_err(CopyError::of(&name))
    }

    /// Returns its description.
    pub(crate) fn about(&self) -> Result<About, CopyError> {
        let name = self.marker();
        let read = || {
            let file = self.place.get(&name)?;
            serde_json::from_reader(std::io::BufReader::new(file)).map_err(std::io::Error::other)
        };
        read().map_err(CopyError::of(&name))
    }

    fn folder(&self, level: u8) -> String {
        format!("{:08}/{}", self.number, self.place.level(level))
    }

    /// Returns the name of a file in its place.
    pub(crate) fn name(&self, file: &CopyFile) -> String {
        format!("{}/{:016x}-{:016x}.ltx", self.folder(file.level), file.first, file.last)
    }

    /// Returns the files of a level, by their first and last commits.
    pub(crate) fn files(&self, level: u8) -> Result<Vec<CopyFile>, CopyError> {
        let folder = self.folder(level);
        let files = self.place.files(&folder).map_err(CopyError::of(&folder))?;
        Ok(files.iter().filter_map(|file| CopyFile::parse(level, &file.name, file.bytes)).collect())
    }

    /// Returns the files of single seconds whose first commit is this one or later.
    pub(crate) fn files_from(&self, first: u64) -> Result<Vec<CopyFile>, CopyError> {
        let level = CHANGES[0];
        let folder = self.folder(level);
        let files = self.place.files_from(&folder, &format!("{first:016x}")).map_err(CopyError::of(&folder))?;
        Ok(files.iter().filter_map(|file| CopyFile::parse(level, &file.name, file.bytes)).collect())
    }

    /// Returns the files of all levels.
    pub(crate) fn all_files(&self) -> Result<Vec<CopyFile>, CopyError> {
        let mut files = self.files(SNAPSHOTS)?;
        for level in CHANGES {
            files.extend(self.files(level)?);
        }
        Ok(files)
    }

    /// Removes files that a former process has not completed.
    pub(crate) fn remove_partial(&self) -> Result<(), CopyError> {
        for level in CHANGES.into_iter().chain([SNAPSHOTS]) {
            let folder = self.folder(level);
            self.place.remove_partial(&folder).map_err(CopyError::of(&folder))?;
        }
        Ok(())
    }

    /// Reads the header of a file.
    ///
    /// # Errors
    /// Errors of the place; a damaged header.
    pub(crate) fn header(&self, file: &CopyFile) -> Result<Header, CopyError> {
        let name = self.name(file);
        let read = || {
            let bytes = self.place.get_start(&name, HEADER_BYTES)?;
            let bytes: &[u8; HEADER_BYTES] =
                bytes.as_slice().try_into().map_err(|_| std::io::Error::other("it is incomplete"))?;
            Header::parse(bytes)
        };
        read().map_err(CopyError::of(&name))
    }
}
