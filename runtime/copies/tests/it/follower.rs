//! Databases that follow the copies of another one: always one of its states, also after crashes, gaps and a take-over.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use convoke_copies::follower::fetch;
use convoke_copies::follower::note::FollowNote;
use convoke_copies::restore::Moment;
use convoke_copies::{BucketAccess, Follower, FollowerOptions};
use convoke_store::conformance::support::{Account, clock, patient};
use convoke_store::{EngineFactory as _, HeldDisk, Store, StoreError, StoreOptions, Table as _, Thoroughness};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tempfile::TempDir;

use crate::moments::Change;
use crate::support::{COPIED, Copied, Rows, engine, files, open_place, restored, rows, settings, until};

/// Time between two looks at the place.
pub(crate) const EVERY: Duration = Duration::from_millis(20);

/// A data folder that follows the copies in `place`.
pub(crate) struct Followed {
    data: PathBuf,
    store: Store,
    follower: Follower,
}

impl Followed {
    /// Restores the newest state, and follows from there.
    pub(crate) fn begin(data: &Path, place: &Path, every: Duration) -> Self {
        let installation = engine().lock(data, clock()).unwrap();
        let file = data.join("fetched.db");
        let (note, _) = fetch(&open_place(place), &file, &mut |_, _| {}).unwrap();
        note.write(data).unwrap();
        installation.take_in(&file, &mut |_| {}).unwrap();
        installation.replace().unwrap();
        drop(installation);
        Self::resume(data, every)
    }

    pub(crate) fn resume(data: &Path, every: Duration) -> Self {
        let store = open(data);
        let options = FollowerOptions {
            sink: store.page_sink().unwrap(),
            data: data.to_owned(),
            access: Box::new(|_| Ok(BucketAccess::default())),
            files: None,
            every,
            clock: clock(),
        };
        let follower = Follower::start(options, FollowNote::read(data).unwrap().unwrap()).unwrap();
        Self { data: data.to_owned(), store, follower }
    }

    pub(crate) fn rows(&self) -> Rows {
        rows(&self.store)
    }

    /// Waits until the follower has caught up with the present state of the place.
    pub(crate) fn wait(&self) {
        let now = clock().now();
        until("the follower", || self.follower.status().state().caught_up_at.is_some_and(|at| at > now));
    }

    /// Ends the process, and checks every page and index.
    pub(crate) fn close(self) -> FollowNote {
        self.store.close();
        self.follower.finish();
        drop(self.store);
        let installation = engine().lock(&self.data, clock()).unwrap();
        installation.database().unwrap().unwrap().require_whole(Thoroughness::Full).unwrap();
        FollowNote::read(&self.data).unwrap().unwrap()
    }
}

/// Opens the database of a follower.
pub(crate) fn open(data: &Path) -> Store {
    let options = StoreOptions { disk: Arc::new(HeldDisk::default()), follows: true, ..StoreOptions::new(data) };
    Store::open(engine(), options, &patient(), clock(), vec![Account::DEF]).unwrap()
}

struct Folders {
    folder: TempDir,
    place: PathBuf,
}

impl Folders {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("place");
        fs::create_dir(&place).unwrap();
        Self { folder, place }
    }

    fn of(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn server(&self, more: &str) -> Copied {
        let copied = Copied::open(&self.of("first"), &settings(&self.place, more));
        copied.wait();
        copied
    }
}

#[test]
fn follower_reaches_every_state_also_after_a_restart_with_an_old_note() {
    let folders = Folders::new();
    let server = folders.server(COPIED);
    let mut followed = Followed::begin(&folders.of("second"), &folders.place, EVERY);
    let mut random = StdRng::seed_from_u64(34);
    let mut old_note = None;
    for round in 0..120 {
        Change::random(&mut random).run(&server).unwrap();
        if round % 10 == 0 {
            followed.wait();
            assert_eq!(followed.rows(), rows(&server.store), "round {round}");
        }
        if round % 30 == 5 {
            let note = followed.close();
            // A crash can lose the newest note, but not the pages.
            old_note.get_or_insert(note).write(&folders.of("second")).unwrap();
            followed = Followed::resume(&folders.of("second"), EVERY);
        }
    }
    followed.wait();
    assert_eq!(followed.rows(), rows(&server.store));
    let state = followed.follower.status().state();
    assert_eq!((state.generation, state.commit), (1, server.shipper.status().state().commit));
    followed.close();
    server.close();
}

#[test]
fn follower_goes_on_from_a_snapshot_after_a_gap_and_after_a_take_over() {
    let folders = Folders::new();
    let server = folders.server("");
    let followed = Followed::begin(&folders.of("second"), &folders.place, EVERY);
    server.insert("before the gap", 1).unwrap();
    server.wait();
    followed.wait();
    let kept = followed.rows();
    followed.close();
    // The server loses its position and the files after that of the follower.
    server.insert("in the gap", 2).unwrap();
    server.wait();
    let last = files(&folders.place, 1, 0).last().unwrap().clone();
    server.close();
    fs::remove_file(folders.of("first").join("copy.json")).ok();
    fs::remove_file(folders.place.join("00000001/ltx/0").join(last)).unwrap();
    for merged in ["1", "2"] {
        let _ = fs::remove_dir_all(folders.place.join("00000001/ltx").join(merged));
    }
    let followed = Followed::resume(&folders.of("second"), EVERY);
    assert_eq!(followed.rows(), kept);
    let (note, _) = convoke_copies::take_over(&open_place(&folders.place), clock().now()).unwrap();
    let installation = engine().lock(&folders.of("first"), clock()).unwrap();
    installation.set_feed_note(&note).unwrap();
    drop(installation);
    let server = folders.server("");
    server.insert("after the gap", 3).unwrap();
    server.wait();
    until("the later generation", || followed.follower.status().state().generation == 2);
    followed.wait();
    assert_eq!(followed.rows(), rows(&server.store));
    assert_eq!(followed.rows().len(), kept.len() + 2);
    followed.close();
    server.close();
}

#[test]
fn promotion_loses_nothing_that_was_acknowledged() {
    let folders = Folders::new();
    let former = Arc::new(folders.server(COPIED));
    // The rest of the copies is left to the promotion.
    let followed = Followed::begin(&folders.of("second"), &folders.place, Duration::from_secs(600));
    let (ends, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (former, ends, count) = (former.clone(), ends.clone(), acknowledged.clone());
            std::thread::spawn(move || {
                let mut acknowledged = Vec::new();
                for number in 0.. {
                    let owner = format!("{writer}-{number}");
                    match former.insert(&owner, 300) {
                        Ok(_) => {
                            acknowledged.push(owner);
                            count.fetch_add(1, Relaxed);
                        }
                        Err(StoreError::CommitUnknown(_)) => break,
                        Err(error) => panic!("{error}"),
                    }
                    if ends.load(Relaxed) {
                        break;
                    }
                }
                acknowledged
            })
        })
        .collect();
    until("the acknowledgements", || acknowledged.load(Relaxed) >= 20);
    let promoted = followed.follower.promote().unwrap();
    assert_eq!((promoted.generation, promoted.former), (2, 1));
    let found = followed.rows();
    std::thread::sleep(Duration::from_millis(300));
    ends.store(true, Relaxed);
    let acknowledged: Vec<String> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
    assert!(!acknowledged.is_empty());
    let lost: Vec<_> = acknowledged.iter().filter(|owner| !found.contains_key(*owner)).collect();
    assert!(lost.is_empty(), "{lost:?} of {}", acknowledged.len());
    assert!(followed.follower.promote().unwrap_err().to_string().contains("no longer follows"));

    // The next process of the data folder writes, and continues the copies.
    let note = followed.close();
    let promotion = note.promoted.unwrap();
    let installation = engine().lock(&folders.of("second"), clock()).unwrap();
    installation.set_feed_note(&promotion.feed_note).unwrap();
    drop(installation);
    let next = Copied::open(&folders.of("second"), &settings(&folders.place, COPIED));
    next.wait();
    next.insert("after the promotion", 300).unwrap();
    let expected = rows(&next.store);
    next.close();
    let (newest, found) = restored(&folders.place, Moment::Newest);
    assert_eq!((newest.generation, found), (2, expected));
    Arc::into_inner(former).unwrap().close();
}
