//! The changed pages of an embedded database, for continuous copies of its file.
//!
//! An engine that keeps its rows in one file of pages may be opened with a feed. The feed collects the pages that
//! commits have changed, and gives the newest content of each to its single consumer. A page cannot be overwritten in
//! the engine's log before the feed has read it. The feed never blocks a commit: if its consumer is too slow, the feed
//! drops its pages and reports it, and the consumer continues with a new snapshot of the whole file.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::error::StoreError;

/// The changed pages of an open database. It has one consumer.
pub trait PageFeed: Send + Sync + 'static {
    /// Returns the state of the feed in the previous process, if there was one.
    fn resumed(&self) -> Option<Resumed>;

    /// Takes the changes since the last call, if the consumer knows all gaps before them. `gaps` is the number of gaps
    /// up to its last snapshot ([`FeedSnapshot::gaps`]); 0 before. Blocks for reading from the disk of the database.
    fn take(&self, gaps: u64) -> Taken;

    /// Records that the changes up to a point are copied. `note` is returned by [`PageFeed::resumed`] in the next
    /// process.
    ///
    /// # Errors
    /// Errors of the file system. The next process then may need a new snapshot.
    fn confirm(&self, point: &FeedPoint, note: &str) -> io::Result<()>;

    /// Returns the number of commits since the feed was opened.
    fn commits(&self) -> u64;

    /// Waits until a mutation waits for its copy ([`CopyAcknowledgement::Copied`]), at most for this time. Returns
    /// true if one waits.
    fn wait(&self, longest: Duration) -> bool;

    /// Completes all mutations that have waited longer than this for their copy. Their outcome is unknown to the
    /// caller: they are committed and not copied.
    fn give_up(&self, after: Duration, reason: &str);

    /// Copies the whole database while it is in use, and passes the file to `receive`, which may move or read it.
    /// The changes after it follow without a gap.
    ///
    /// # Errors
    /// [`StoreError::Engine`]: the copy cannot be made, or `receive` fails; [`StoreError::Closed`].
    fn snapshot(&self, receive: &mut Receive<'_>) -> Result<FeedSnapshot, StoreError>;
}

/// Receives the file of a snapshot.
pub type Receive<'a> = dyn FnMut(&Path, &FeedSnapshot) -> io::Result<()> + 'a;

/// The state of a feed in the previous process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// The last confirmed note.
    pub note: String,
    /// True if the feed has all changes since that note.
    pub is_complete: bool,
}

/// The result of [`PageFeed::take`].
#[derive(Debug)]
pub enum Taken {
    /// Nothing was committed after this point.
    Nothing(FeedPoint),
    /// The changed pages.
    Changes(PageChanges),
    /// Changes were dropped or missed since the consumer's last snapshot: it needs a new one.
    Gap,
}

/// The pages that some commits have changed.
#[derive(Debug)]
pub struct PageChanges {
    /// The newest content of each changed page, by number. The first page has number 1.
    pub pages: BTreeMap<u32, Box<[u8]>>,
    /// Size of the database in pages.
    pub database_pages: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Position after these changes.
    pub point: FeedPoint,
}

/// A position in a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedPoint {
    /// Number of commits up to it, since the feed was opened.
    pub commits: u64,
    /// Position in the engine's log, in the engine's format.
    pub log: String,
}

/// A copy of the whole database at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedSnapshot {
    /// The commits that the copy contains.
    pub point: FeedPoint,
    /// Number of gaps before the copy.
    pub gaps: u64,
}

/// The time at which a mutation of a copied database gets its response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyAcknowledgement {
    /// When it is on the local disk.
    #[default]
    Local,
    /// When the copy has it too.
    Copied,
}
