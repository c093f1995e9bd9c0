//! The thread that copies the changes of the database each second.

pub(crate) mod note;
mod session;
pub(crate) mod status;
mod upkeep;

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use tracing::{error, info, warn};

use crate::catalog::Generation;
use crate::contents::Contents;
use crate::error::CopyError;
use crate::place::{Access, Place};
use crate::settings::{Acknowledge, CopySettings};
use crate::thread_end::ends_within;
use convoke_core::clock::{Clock, Millis};
use convoke_store::page_feed::{FeedPoint, FeedSnapshot, Taken};
use convoke_store::{PageFeed, StoreError};
use note::CopyNote;
use session::{Encoded, Session};
use status::{CopyStatus, LOUD_AFTER};
use upkeep::Upkeep;

/// Interval at which the thread detects that it must end.
const STOP_CHECK: Duration = Duration::from_millis(100);
/// Pause after a failed attempt.
const RETRY: Duration = Duration::from_secs(1);
/// Pause after a failed snapshot, which reads the whole database.
const SNAPSHOT_RETRY: Duration = Duration::from_secs(30);
/// Reason of an unknown outcome.
const NOT_COPIED: &str = "it is committed on this machine, and the copy did not confirm it in time";
/// Longest wait of a mutation for its copy.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for the last copy at the end of a process.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);
/// Time between two checks for a later generation while nothing is committed.
const FENCE_CHECK: Duration = Duration::from_secs(10);
/// Time between two removals of old copies.
const REMOVE_EVERY: Duration = Duration::from_secs(3_600);

/// Arguments for copying a database.
pub struct ShipperOptions {
    /// The changed pages.
    pub feed: Arc<dyn PageFeed>,
    /// The settings.
    pub settings: CopySettings,
    /// Access to a bucket.
    pub access: Access,
    /// The folder of stored files, if they are on this machine.
    pub files: Option<PathBuf>,
    /// A temporary file on the disk of the database.
    pub scratch: PathBuf,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// The running copies of a database.
pub struct Shipper {
    status: Arc<CopyStatus>,
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
    clock: Arc<dyn Clock>,
}

impl Shipper {
    /// Starts the thread.
    ///
    /// # Errors
    /// Settings that cannot work, for the operator. A place that is not available is no error: the thread tries again.
    pub fn start(options: ShipperOptions) -> Result<Self, String> {
        let to = options.settings.to.clone().ok_or("copy.to is not set")?;
        Place::check(&to).map_err(|error| format!("copy.to: {error}"))?;
        (options.access)(&to)?;
        let status = Arc::new(CopyStatus::new(options.clock.now()));
        let stop = Arc::new(AtomicBool::new(false));
        let clock = options.clock.clone();
        if options.settings.acknowledge == Acknowledge::Copied {
            let (feed, stop) = (options.feed.clone(), stop.clone());
            let limit = move || limit_waits(&*feed, &stop);
            let thread = thread::Builder::new().name("convoke-copy-wait".to_owned()).spawn(limit);
            thread.map_err(|error| format!("no thread for the copies: {error}"))?;
        }
        let copying = Copying {
            options,
            to,
            status: status.clone(),
            stop: stop.clone(),
            open: None,
            contents: None,
            snapshot: None,
            snapshot_failed_at: None,
            unsent: None,
            stored: None,
            is_confirmed: false,
            removed_at: None,
            logged_at: None,
        };
        let thread = thread::Builder::new().name("convoke-copies".to_owned()).spawn(move || copying.run());
        let thread = Mutex::new(Some(thread.map_err(|error| format!("no thread for the copies: {error}"))?));
        Ok(Self { status, stop, thread, clock })
    }

    /// Returns the state of the copies.
    pub fn status(&self) -> &Arc<CopyStatus> {
        &self.status
    }

    /// Copies the last changes and ends the thread. The database is closed before. A place that does not respond does
    /// not prevent the end of the process.
    pub fn finish(&self) {
        self.stop.store(true, Relaxed);
        let Some(thread) = self.thread.lock().take() else { return };
        if !ends_within(&thread, FINISH_TIMEOUT, &*self.clock) {
            warn!("the place of the copies does not respond; the next start copies the last changes");
        }
    }
}

/// Ends the waits of mutations for their copy, also while the place does not respond.
fn limit_waits(feed: &dyn PageFeed, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        feed.give_up(ACKNOWLEDGE_TIMEOUT, NOT_COPIED);
        thread::sleep(STOP_CHECK);
    }
}

/// The state of the thread.
struct Copying {
    options: ShipperOptions,
    to: String,
    status: Arc<CopyStatus>,
    stop: Arc<AtomicBool>,
    open: Option<(Session, Upkeep)>,
    contents: Option<Contents>,
    /// A snapshot that is being made.
    snapshot: Option<SnapshotJob>,
    snapshot_failed_at: Option<Duration>,
    /// Changes that are not stored yet. They are kept until the place has them: no other copy of them exists.
    unsent: Option<Encoded>,
    /// The last point in the place.
    stored: Option<FeedPoint>,
    /// True if the feed knows that it is.
    is_confirmed: bool,
    removed_at: Option<Duration>,
    /// Time of the last log line about the current failure.
    logged_at: Option<Duration>,
}

/// A snapshot on a thread of its own. Changes are copied meanwhile.
struct SnapshotJob {
    /// Receives the snapshot's point before it is stored.
    receiver: mpsc::Receiver<FeedSnapshot>,
    point: Option<FeedSnapshot>,
    /// True once the changes after the point may be stored.
    is_placed: bool,
    /// The commit of the snapshot, if changes before it are missing.
    closes_gap: Option<u64>,
    thread: JoinHandle<Result<u64, StoreError>>,
}

impl Copying {
    fn run(mut self) {
        let mut fenced_at = Duration::ZERO;
        loop {
            let is_last = self.stop.load(Relaxed);
            let begun = self.options.clock.monotonic();
            let checks_fence = begun.saturating_sub(fenced_at) >= FENCE_CHECK;
            if checks_fence {
                fenced_at = begun;
            }
            let at = self.options.clock.now();
            let outcome = self.step(checks_fence || is_last);
            self.report(&outcome, at);
            if is_last {
                self.options.feed.give_up(Duration::ZERO, NOT_COPIED);
                break;
            }
            self.pause(begun, outcome.is_ok());
        }
    }

    /// Waits for the next copy.
    fn pause(&self, begun: Duration, is_well: bool) {
        let every = self.options.settings.every.duration();
        let every = if is_well { every } else { every.max(RETRY) };
        // While a snapshot is needed, no change can be confirmed.
        let confirms = is_well && self.open.as_ref().is_some_and(|(session, _)| !session.needs_snapshot);
        loop {
            let passed = self.options.clock.monotonic().saturating_sub(begun);
            let rest = every.saturating_sub(passed).min(STOP_CHECK);
            if rest.is_zero() || self.stop.load(Relaxed) {
                return;
            }
            if !confirms {
                thread::sleep(rest);
            } else if self.options.feed.wait(rest) {
                return;
            }
        }
    }

    /// Copies everything that was committed before it.
    fn step(&mut self, checks_fence: bool) -> Result<(), CopyError> {
        if self.open.is_none() {
            let access = (self.options.access)(&self.to).map_err(CopyError::Place)?;
            let place = Place::open(&self.to, &access).map_err(CopyError::Place)?;
            let session = Session::open(place, self.options.feed.resumed().as_ref(), self.options.clock.now())?;
            let upkeep = Upkeep::open(&session.generation(), self.options.clock.monotonic())?;
            let files = self.options.files.clone();
            self.contents = files.map(|folder| Contents::open(folder, &session.place)).transpose()?;
            info!("the database is copied to {}, generation {}", self.to, session.number);
            self.status.reached(session.number, session.numbering.last);
            self.open = Some((session, upkeep));
        }
        let Some((mut session, mut upkeep)) = self.open.take() else { return Ok(()) };
        let outcome = self.copy(&mut session, &mut upkeep, checks_fence);
        self.open = Some((session, upkeep));
        outcome
    }

    fn copy(&mut self, session: &mut Session, upkeep: &mut Upkeep, checks_fence: bool) -> Result<(), CopyError> {
        self.store(session, upkeep)?;
        let (now, monotonic) = (self.options.clock.now(), self.options.clock.monotonic());
        if self.snapshot.is_some() {
            // The snapshot counts when it is stored, so the contents come first.
            self.copy_contents(session)?;
        }
        self.follow_snapshot(session)?;
        let is_due =
            session.snapshot_at.is_none_or(|at| now.since(at) >= self.options.settings.snapshot_every.duration());
        let may_begin = self.snapshot.is_none()
            && self.snapshot_failed_at.is_none_or(|at| monotonic.saturating_sub(at) >= SNAPSHOT_RETRY);
        if may_begin && (session.needs_snapshot || is_due) {
            self.begin_snapshot(session)?;
        }
        // Before the snapshot has its point, the number of the next commit is not known.
        let awaits_point = session.needs_snapshot && self.snapshot.as_ref().is_none_or(|job| !job.is_placed);
        if !awaits_point {
            match self.options.feed.take(session.gaps) {
                Taken::Nothing(point) => {
                    self.stored = Some(point);
                    if checks_fence || !self.is_confirmed {
                        // The last step records that the closed file has everything.
                        self.confirm(session)?;
                    }
                }
                // The next step begins the snapshot.
                Taken::Gap => session.needs_snapshot = true,
                Taken::Changes(changes) => {
                    // All of these commits are older than this time.
                    let taken_at = self.options.clock.now();
                    let encoded = session.encode(&changes, taken_at).map_err(CopyError::of("the changes"));
                    // The changes are gone if they cannot be encoded.
                    session.needs_snapshot |= encoded.is_err();
                    self.unsent = encoded?;
                    self.store(session, upkeep)?;
                }
            }
        }
        self.keep_up(session, upkeep)
    }

    fn keep_up(&mut self, session: &Session, upkeep: &mut Upkeep) -> Result<(), CopyError> {
        let (now, monotonic) = (self.options.clock.now(), self.options.clock.monotonic());
        upkeep.run(&session.generation(), &self.options.scratch, monotonic)?;
        if self.removed_at.is_none_or(|at| monotonic.saturating_sub(at) >= REMOVE_EVERY) {
            self.removed_at = Some(monotonic);
            let keep = i64::try_from(self.options.settings.keep.duration().as_millis()).unwrap_or(i64::MAX);
            let oldest = Millis(now.0.saturating_sub(keep));
            let mut removed = upkeep::remove_old(&session.generation(), oldest)?;
            if let Some(contents) = &mut self.contents {
                removed += contents.remove_old(&session.place, oldest, now)?;
            }
            if removed > 0 {
                info!("removed {removed} files of old copies");
            }
        }
        Ok(())
    }

    /// Stores the changes that are not sent. If that fails, the next step tries again.
    fn store(&mut self, session: &mut Session, upkeep: &mut Upkeep) -> Result<(), CopyError> {
        if self.unsent.is_none() {
            return Ok(());
        }
        self.copy_contents(session)?;
        let Some(encoded) = &self.unsent else { return Ok(()) };
        let name = session.generation().name(&encoded.file);
        match session.place.put_new(&name, &encoded.bytes, encoded.at.0) {
            Ok(()) => {}
            // An attempt that seemed to fail may have stored it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !is_stored(session, &name, &encoded.bytes)? {
                    return Err(CopyError::TwoServers(self.to.clone()));
                }
            }
            Err(error) => return Err(CopyError::of(&name)(error)),
        }
        let Some(Encoded { file, point, .. }) = self.unsent.take() else { return Ok(()) };
        session.numbering.last = file.last;
        (self.stored, self.is_confirmed) = (Some(point), false);
        self.status.bytes.fetch_add(file.bytes, Relaxed);
        self.status.files.fetch_add(1, Relaxed);
        upkeep.stored(file);
        self.confirm(session)
    }

    /// Copies new contents of stored files.
    fn copy_contents(&mut self, session: &Session) -> Result<(), CopyError> {
        if let Some(contents) = &mut self.contents {
            let bytes = contents.copy(&session.place)?;
            self.status.bytes.fetch_add(bytes, Relaxed);
        }
        Ok(())
    }

    fn require_newest(&self, session: &Session) -> Result<(), CopyError> {
        if session.generation().is_succeeded()? { Err(CopyError::TakenOver(session.number + 1)) } else { Ok(()) }
    }

    /// Confirms the stored changes, if this server still owns the copies. A server that takes over after this check
    /// finds all confirmed changes.
    fn confirm(&mut self, session: &Session) -> Result<(), CopyError> {
        self.require_newest(session)?;
        if session.needs_snapshot {
            return Ok(());
        }
        let Some(point) = &self.stored else { return Ok(()) };
        self.is_confirmed = true;
        self.status.reached(session.number, session.numbering.last);
        let url = Some(session.place.url().to_owned());
        let note = CopyNote { url, generation: session.number, commit: session.numbering.last };
        if let Err(error) = self.options.feed.confirm(point, &note.text()) {
            warn!("the state of the copies cannot be recorded, so the next start makes a snapshot: {error}");
        }
        Ok(())
    }

    fn begin_snapshot(&mut self, session: &Session) -> Result<(), CopyError> {
        self.require_newest(session)?;
        let (feed, clock) = (self.options.feed.clone(), self.options.clock.clone());
        let (place, number, mut numbering) = (session.place.clone(), session.number, session.numbering);
        let (send, receiver) = mpsc::channel();
        let make = move || {
            let mut bytes = 0;
            feed.snapshot(&mut |path, snapshot| {
                let _ = send.send(snapshot.clone());
                let generation = Generation { place: &place, number };
                bytes = session::put_snapshot(&generation, path, numbering.commit_of(&snapshot.point), clock.now())?;
                Ok(())
            })?;
            Ok(bytes)
        };
        let thread = thread::Builder::new().name("convoke-snapshot".to_owned()).spawn(make);
        let thread = thread.map_err(|error| CopyError::Place(format!("no thread for a snapshot: {error}")))?;
        self.status.makes_snapshot(true);
        self.snapshot = Some(SnapshotJob { receiver, point: None, is_placed: false, closes_gap: None, thread });
        Ok(())
    }

    /// Follows the snapshot that is being made.
    fn follow_snapshot(&mut self, session: &mut Session) -> Result<(), CopyError> {
        let Some(job) = &mut self.snapshot else { return Ok(()) };
        // A finished thread has sent its point.
        let is_finished = job.thread.is_finished();
        if job.point.is_none() {
            job.point = job.receiver.try_recv().ok();
        }
        if let Some(snapshot) = job.point.as_ref().filter(|_| !job.is_placed) {
            if session.needs_snapshot || snapshot.gaps != session.gaps {
                session.needs_snapshot = true;
                let commit = session.numbering.commit_of(&snapshot.point);
                if commit > session.numbering.last {
                    session.generation().begin_gap(commit)?;
                    (session.numbering.last, job.closes_gap) = (commit, Some(commit));
                }
                session.gaps = snapshot.gaps;
                self.stored = Some(snapshot.point.clone());
            }
            job.is_placed = true;
        }
        if !is_finished {
            return Ok(());
        }
        let Some(job) = self.snapshot.take() else { return Ok(()) };
        self.status.makes_snapshot(false);
        let made = job.thread.join().unwrap_or_else(|_| Err(StoreError::Panicked("the snapshot".to_owned())));
        self.snapshot_failed_at = made.is_err().then(|| self.options.clock.monotonic());
        let bytes = made?;
        if let Some(commit) = job.closes_gap {
            session.generation().end_gap(commit)?;
        }
        session.snapshot_at = Some(self.options.clock.now());
        self.status.bytes.fetch_add(bytes, Relaxed);
        self.status.snapshots.fetch_add(1, Relaxed);
        info!("stored a snapshot of the database, {bytes} bytes");
        // A gap after its point needs another one.
        session.needs_snapshot = !job.is_placed;
        self.confirm(session)
    }

    /// Records the outcome of a step that began at this time.
    fn report(&mut self, outcome: &Result<(), CopyError>, at: Millis) {
        let now = self.options.clock.monotonic();
        let copied = self.stored.as_ref().map_or(0, |point| point.commits);
        let behind = self.options.feed.commits().saturating_sub(copied);
        match outcome {
            Ok(()) if self.open.as_ref().is_some_and(|(session, _)| session.needs_snapshot) => {
                self.status.waits_for_snapshot(behind);
            }
            Ok(()) => {
                if self.logged_at.take().is_some() {
                    info!("the database is copied again");
                }
                self.status.succeeded(at, behind);
            }
            Err(error) => {
                let is_first = self.status.failed(now, error.to_string(), behind);
                if is_first {
                    warn!("the database cannot be copied: {error}");
                    self.logged_at = Some(now);
                } else if self.logged_at.is_none_or(|at| now.saturating_sub(at) >= LOUD_AFTER) {
                    self.logged_at = Some(now);
                    error!("the database is still not copied: {error}");
                }
            }
        }
    }
}

/// Returns true if a file of the place has this content.
fn is_stored(session: &Session, name: &str, bytes: &[u8]) -> Result<bool, CopyError> {
    let mut stored = Vec::new();
    let read = session.place.get(name).and_then(|mut file| file.read_to_end(&mut stored));
    read.map_err(CopyError::of(name))?;
    Ok(stored == bytes)
}
