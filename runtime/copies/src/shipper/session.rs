//! The generation that a server copies to, and its numbers of commits.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _};
use std::path::Path;
use std::sync::Arc;

use crate::catalog::{About, CopyFile, Generation, SNAPSHOTS};
use crate::error::CopyError;
use crate::ltx::{Encoder, Header};
use crate::place::Place;
use crate::shipper::note::CopyNote;
use convoke_core::clock::Millis;
use convoke_store::page_feed::{FeedPoint, PageChanges, Resumed};

/// The generation that this server copies to.
pub(super) struct Session {
    pub place: Arc<Place>,
    pub number: u32,
    pub numbering: Numbering,
    /// Number of gaps of the feed before the last snapshot.
    pub gaps: u64,
    /// True if only a snapshot can continue the copies.
    pub needs_snapshot: bool,
    /// Time of the newest snapshot.
    pub snapshot_at: Option<Millis>,
}

/// The numbers of commits in a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbering {
    /// Number of a commit = this + commits of the feed; none until a snapshot decides it.
    base: Option<i64>,
    /// The last commit of the place.
    pub last: u64,
}

impl Numbering {
    /// Returns the number of the last commit of a point. The first snapshot decides the numbers.
    pub(super) fn commit_of(&mut self, point: &FeedPoint) -> u64 {
        let commits = i64::try_from(point.commits).unwrap_or(i64::MAX);
        let base = *self.base.get_or_insert((self.last + 1).cast_signed() - commits);
        (base + commits).unsigned_abs()
    }
}

/// Changes that are ready to be stored.
pub(super) struct Encoded {
    pub file: CopyFile,
    pub bytes: Vec<u8>,
    pub at: Millis,
    pub point: FeedPoint,
}

impl Session {
    /// Finds or begins the generation of a data folder.
    ///
    /// # Errors
    /// [`CopyError::TakenOver`], [`CopyError::Foreign`]; errors of the place.
    pub(super) fn open(place: Place, resumed: Option<&Resumed>, now: Millis) -> Result<Self, CopyError> {
        let newest = Generation::all(&place)?.last().map(|generation| generation.number);
        let note = resumed.and_then(|resumed| CopyNote::parse(&resumed.note));
        match (note, newest) {
            (Some(note), None) if note.url.as_deref() == Some(place.url()) => {
                return Err(CopyError::Emptied(place.url().to_owned()));
            }
            (_, None) => {}
            (Some(note), Some(newest)) if note.generation == newest => {
                let is_complete = resumed.is_some_and(|resumed| resumed.is_complete);
                return Self::resume(place, newest, is_complete.then_some(note.commit));
            }
            (Some(note), Some(newest)) if note.generation < newest => return Err(CopyError::TakenOver(newest)),
            (_, Some(generation)) => return Err(CopyError::Foreign { url: place.url().to_owned(), generation }),
        }
        let number = 1;
        if Generation::begin(&place, number, &About { begun_at: now.0, follows: None })?.is_none() {
            return Err(CopyError::TwoServers(place.url().to_owned()));
        }
        let numbering = Numbering { base: None, last: 0 };
        Ok(Self { place: Arc::new(place), number, numbering, gaps: 0, needs_snapshot: true, snapshot_at: None })
    }

    fn resume(place: Place, number: u32, confirmed: Option<u64>) -> Result<Self, CopyError> {
        let generation = Generation { place: &place, number };
        generation.remove_partial()?;
        let files = generation.all_files()?;
        let last = files.iter().map(|file| file.last).max().unwrap_or(0);
        let newest_snapshot = files.iter().filter(|file| file.level == SNAPSHOTS).max_by_key(|file| file.last);
        let snapshot_at =
            newest_snapshot.map(|file| generation.header(file)).transpose()?.map(|header| Millis(header.at));
        // After a crash between a stored file and its confirmation, a snapshot is certain to be right.
        let is_complete = confirmed == Some(last) && snapshot_at.is_some();
        let base = is_complete.then(|| last.cast_signed());
        let numbering = Numbering { base, last };
        Ok(Self { place: Arc::new(place), number, numbering, gaps: 0, needs_snapshot: !is_complete, snapshot_at })
    }

    pub(super) fn generation(&self) -> Generation<'_> {
        Generation { place: &self.place, number: self.number }
    }

    /// Encodes the changes after the last stored commit; `None`: a snapshot has them already.
    pub(super) fn encode(&mut self, changes: &PageChanges, now: Millis) -> io::Result<Option<Encoded>> {
        let (first, last) = (self.numbering.last + 1, self.numbering.commit_of(&changes.point));
        if last < first {
            return Ok(None);
        }
        let (page_bytes, database_pages) = (changes.page_bytes, changes.database_pages);
        let mut encoder = Encoder::begin(Vec::new(), Header { page_bytes, database_pages, first, last, at: now.0 })?;
        for (number, content) in &changes.pages {
            encoder.page(*number, content)?;
        }
        let bytes = encoder.finish()?;
        let file = CopyFile { level: 0, first, last, bytes: bytes.len() as u64 };
        Ok(Some(Encoded { file, bytes, at: now, point: changes.point.clone() }))
    }
}

/// Stores a snapshot: the database file at `from`, of this commit. Returns the bytes of the stored file.
pub(super) fn put_snapshot(generation: &Generation<'_>, from: &Path, commit: u64, now: Millis) -> io::Result<u64> {
    let packed = from.with_extension("ltx");
    let put = || {
        encode_database(from, &packed, commit, now)?;
        let bytes = std::fs::metadata(&packed)?.len();
        let file = CopyFile { level: SNAPSHOTS, first: 1, last: commit, bytes };
        generation.place.put_file(&generation.name(&file), &packed, now.0)?;
        Ok(bytes)
    };
    let stored = put();
    let _ = std::fs::remove_file(&packed);
    stored
}

fn encode_database(from: &Path, to: &Path, commit: u64, now: Millis) -> io::Result<()> {
    let mut file = File::open(from)?;
    let mut start = [0; 18];
    file.read_exact(&mut start)?;
    // SQLite writes 65,536 as 1.
    let page_bytes = match u16::from_be_bytes([start[16], start[17]]) {
        1 => 65_536,
        bytes => u32::from(bytes),
    };
    let database_pages = u32::try_from(file.metadata()?.len() / u64::from(page_bytes)).map_err(io::Error::other)?;
    file.rewind()?;
    let mut from = BufReader::with_capacity(1 << 18, file);
    let to = convoke_store::private_file(to)?;
    to.set_len(0)?;
    let header = Header { page_bytes, database_pages, first: 1, last: commit, at: now.0 };
    let mut encoder = Encoder::begin(BufWriter::with_capacity(1 << 18, to), header)?;
    let mut content = vec![0; page_bytes as usize];
    for number in 1..=database_pages {
        from.read_exact(&mut content)?;
        encoder.page(number, &content)?;
    }
    encoder.finish().map(drop)
}
