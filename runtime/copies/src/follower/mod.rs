//! The thread that applies the copies of another server to the database each second, and the promotion of a follower.

pub mod note;
pub mod status;
mod step;

use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use tracing::{error, info, warn};

use crate::contents::{self, ContentFolder};
use crate::error::CopyError;
use crate::ltx::Decoder;
use crate::place::{Access, Place};
use crate::restore::{Moment, Restored, restore};
use crate::shipper::note::take_over;
use crate::thread_end::ends_within;
use convoke_core::clock::{Clock, Millis};
use convoke_store::PageSink;
use note::{FollowNote, Promotion};
use status::FollowerStatus;
use step::Step;

/// Time between two looks for changes that are not in files of single seconds, such as a later generation.
const THOROUGH_EVERY: Duration = Duration::from_secs(10);
/// Shortest time between two fetches of stored files.
const CONTENTS_EVERY: Duration = Duration::from_secs(5);
/// Longest wait for the thread's end.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);
/// Time between two lines of the log about the same failure.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// Arguments for following copies.
pub struct FollowerOptions {
    /// Receives the pages.
    pub sink: Arc<dyn PageSink>,
    /// The data folder, whose database was restored from the place.
    pub data: PathBuf,
    /// Access to a bucket.
    pub access: Access,
    /// Folder of the stored files, if they are on this machine.
    pub files: Option<Box<dyn ContentFolder>>,
    /// Time between two looks at the place.
    pub every: Duration,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// The end of a promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// The generation that this server continues.
    pub generation: u32,
    /// The generation of the former server.
    pub former: u32,
    /// Its last commit, which this server has.
    pub commit: u64,
}

type Promote = mpsc::Sender<Result<Promoted, CopyError>>;

/// A running follower.
pub struct Follower {
    status: Arc<FollowerStatus>,
    /// None once the thread must end.
    requests: Mutex<Option<mpsc::Sender<Promote>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    clock: Arc<dyn Clock>,
}

/// Restores the newest state of a place to the new file `to`, for a data folder that follows it from then on. The caller
/// writes the returned note before it uses the file.
///
/// # Errors
/// As [`restore`].
pub fn fetch(
    place: &Place,
    to: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(FollowNote, Restored), CopyError> {
    let restored = restore(place, None, Moment::Newest, to, progress)?;
    let Restored { generation, commit, .. } = restored;
    Ok((FollowNote { url: place.url().to_owned(), generation, commit, promoted: None }, restored))
}

impl Follower {
    /// Starts the thread.
    ///
    /// # Errors
    /// Settings that cannot work, for the operator. A place that is not available is no error: the thread tries again.
    pub fn start(options: FollowerOptions, note: FollowNote) -> Result<Self, String> {
        Place::check(&note.url)?;
        (options.access)(&note.url)?;
        let (now, clock) = (options.clock.now(), options.clock.clone());
        let status = Arc::new(FollowerStatus::new(note.url.clone(), (note.generation, note.commit), now));
        let (requests, asked) = mpsc::channel();
        let following = Following {
            options,
            note,
            status: status.clone(),
            open: None,
            looked_at: None,
            contents_at: None,
            has_new_contents: true,
            logged_at: None,
        };
        let thread = thread::Builder::new().name("convoke-follower".to_owned()).spawn(move || following.run(&asked));
        let thread = Mutex::new(Some(thread.map_err(|error| format!("no thread for the copies: {error}"))?));
        Ok(Self { status, requests: Mutex::new(Some(requests)), thread, clock })
    }

    /// Returns its state.
    pub fn status(&self) -> &Arc<FollowerStatus> {
        &self.status
    }

    /// Begins the next generation, so that the former server can acknowledge nothing more that waits for its copy, then
    /// applies all of its copies. The thread ends, and the next process of the data folder is no follower. Blocks.
    ///
    /// # Errors
    /// Errors of the place. This server still follows, and the promotion can be repeated.
    pub fn promote(&self) -> Result<Promoted, CopyError> {
        let ended = || CopyError::Missing("this server no longer follows copies".to_owned());
        let (reply, promoted) = mpsc::channel();
        let requests = self.requests.lock().clone().ok_or_else(ended)?;
        requests.send(reply).map_err(|_| ended())?;
        drop(requests);
        promoted.recv().map_err(|_| ended())?
    }

    /// Ends the thread. A place that does not respond does not prevent the end of the process.
    pub fn finish(&self) {
        drop(self.requests.lock().take());
        let Some(thread) = self.thread.lock().take() else { return };
        if !ends_within(&thread, FINISH_TIMEOUT, &*self.clock) {
            warn!("the place of the copies does not respond; the next start continues to follow it");
        }
    }
}

struct Following {
    options: FollowerOptions,
    note: FollowNote,
    status: Arc<FollowerStatus>,
    open: Option<Place>,
    /// Time of the last thorough look.
    looked_at: Option<Duration>,
    contents_at: Option<Duration>,
    /// True if changes were applied after the last fetch of stored files.
    has_new_contents: bool,
    logged_at: Option<Duration>,
}

impl Following {
    fn run(mut self, requests: &mpsc::Receiver<Promote>) {
        loop {
            if let Err(error) = self.look() {
                self.fail(&error);
            }
            match requests.recv_timeout(self.options.every) {
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Ok(reply) => {
                    let promoted = self.promote();
                    let ends = promoted.is_ok();
                    // The caller may be gone; the note decides what the next process does.
                    let _ = reply.send(promoted);
                    if ends {
                        return;
                    }
                }
            }
        }
    }

    fn now(&self) -> Duration {
        self.options.clock.monotonic()
    }

    fn fail(&mut self, failure: &CopyError) {
        // A new connection may have the access of a changed secret.
        self.open = None;
        let now = self.now();
        let is_first = self.status.failed(now, failure.to_string());
        let is_due = self.logged_at.is_none_or(|logged_at| now.saturating_sub(logged_at) >= LOG_EVERY);
        if is_first || is_due {
            self.logged_at = Some(now);
            match self.status.problem(now) {
                Some(problem) => error!("{problem}"),
                None => warn!("the copies in {} cannot be followed: {failure}", self.note.url),
            }
        }
    }

    fn place(&mut self) -> Result<Place, CopyError> {
        match self.open.take() {
            Some(place) => Ok(place),
            None => {
                let access = (self.options.access)(&self.note.url).map_err(CopyError::Place)?;
                Place::open(&self.note.url, &access).map_err(CopyError::Place)
            }
        }
    }

    /// Applies everything that is in the place now.
    fn look(&mut self) -> Result<(), CopyError> {
        let now = self.now();
        let is_thorough = self.looked_at.is_none_or(|looked_at| now.saturating_sub(looked_at) >= THOROUGH_EVERY);
        let place = self.place()?;
        self.catch_up(&place, is_thorough)?;
        if is_thorough {
            self.looked_at = Some(now);
        }
        let is_due = self.contents_at.is_none_or(|fetched_at| now.saturating_sub(fetched_at) >= CONTENTS_EVERY);
        if self.has_new_contents && is_due {
            self.contents_at = Some(now);
            self.fetch_contents(&place)?;
        }
        self.open = Some(place);
        Ok(())
    }

    fn catch_up(&mut self, place: &Place, is_thorough: bool) -> Result<(), CopyError> {
        loop {
            let at = self.options.clock.now();
            match step::next(place, self.note.generation, self.note.commit, is_thorough)? {
                Some(step) => self.apply(place, &step)?,
                None => {
                    self.status.caught_up(at);
                    return Ok(());
                }
            }
        }
    }

    /// Applies files in one transaction. All files up to the newest one belong to it: after a crash, the database may
    /// already have some of their commits.
    fn apply(&mut self, place: &Place, step: &Step) -> Result<(), CopyError> {
        let generation = crate::catalog::Generation { place, number: step.generation };
        let mut opened = Vec::with_capacity(step.files.len());
        for file in &step.files {
            let name = generation.name(file);
            let decoder =
                place.get(&name).and_then(|content| Decoder::begin(BufReader::with_capacity(1 << 16, content)));
            opened.push((decoder.map_err(CopyError::of(&name))?, name));
        }
        let copied_at = Millis(opened.last().map_or(0, |(decoder, _)| decoder.header().at));
        self.options.sink.write(Box::new(move |receive| {
            let mut pages = 0;
            for (mut decoder, name) in opened {
                let header = decoder.header();
                let mut content = vec![0; header.page_bytes as usize];
                let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
                while let Some(number) = decoder.next(&mut content).map_err(named)? {
                    receive(number, &content)?;
                }
                pages = header.database_pages;
            }
            Ok(pages)
        }))?;
        if step.generation != self.note.generation {
            info!("following generation {}, which another server has begun", step.generation);
        }
        (self.note.generation, self.note.commit) = (step.generation, step.reached);
        self.has_new_contents = true;
        let bytes = step.files.iter().map(|file| file.bytes).sum();
        self.status.applied(step.generation, step.reached, copied_at, step.files.len() as u64, bytes);
        self.keep_note()
    }

    fn keep_note(&self) -> Result<(), CopyError> {
        self.note.write(&self.options.data).map_err(CopyError::of(&self.options.data.display().to_string()))
    }

    fn fetch_contents(&mut self, place: &Place) -> Result<(), CopyError> {
        if let Some(files) = &self.options.files {
            // The other contents and the rows are whole, so a promotion continues.
            let damaged = contents::fetch(place, &**files, &mut |_, _| {})?;
            if let Some(first) = damaged.first() {
                error!(
                    "{} stored files in the copies are damaged and not fetched, the first is {first}",
                    damaged.len()
                );
            }
        }
        self.has_new_contents = false;
        Ok(())
    }

    fn promote(&mut self) -> Result<Promoted, CopyError> {
        let place = self.place()?;
        let (feed_note, generation) = take_over(&place, self.options.clock.now())?;
        info!("generation {generation} is begun; reading the rest of generation {}", self.note.generation);
        self.catch_up(&place, true)?;
        self.fetch_contents(&place)?;
        self.note.promoted = Some(Promotion { generation, feed_note, is_set: false });
        if let Err(error) = self.keep_note() {
            self.note.promoted = None;
            return Err(error);
        }
        Ok(Promoted { generation, former: self.note.generation, commit: self.note.commit })
    }
}
