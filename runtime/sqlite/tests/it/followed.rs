//! A database that follows another one, page by page.

use std::fs;
use std::path::Path;
use std::sync::{Arc, mpsc};

use convoke_store::conformance::support::{Account, clock, db, open, patient, reads, start};
use convoke_store::page_feed::Taken;
use convoke_store::{
    Access, CopyAcknowledgement, DbMut, HeldDisk, Millis, PageSource, Store, StoreError, StoreOptions, Table as _,
    TableDef, Thoroughness,
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use super::{Blob, sqlite, tables};
use convoke_core::id::IdGenerator;

type Rows = Vec<(String, i64)>;

fn store(data: &Path, tables: Vec<&'static TableDef>, follows: bool) -> Store {
    let options = StoreOptions {
        disk: Arc::new(HeldDisk::default()),
        copied: (!follows).then_some(CopyAcknowledgement::Local),
        follows,
        ..StoreOptions::new(data)
    };
    Store::open(sqlite(), options, &patient(), clock(), tables).unwrap()
}

fn rows(store: &Store) -> Rows {
    store.read_blocking(Access::Everyone, |reader| rows_of(&db(reader))).unwrap()
}

fn rows_of(db: &convoke_store::Db) -> Rows {
    let accounts = db.scan::<Account>().take(100_000).unwrap();
    accounts.iter().map(|account| (account.owner.clone(), account.balance)).collect()
}

/// Passes all pages of a database file.
fn file(path: &Path) -> PageSource {
    let bytes = fs::read(path).unwrap();
    Box::new(move |receive| {
        let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
        let mut number = 0;
        for content in bytes.chunks(page) {
            number += 1;
            receive(number, content)?;
        }
        Ok(number)
    })
}

/// A database, and one that follows it.
struct Followed {
    first: Store,
    ids: Arc<IdGenerator>,
    gaps: u64,
    follower: Store,
    folder: tempfile::TempDir,
}

impl Followed {
    fn begin() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let first = store(&folder.path().join("first"), tables(), false);
        let ids = Arc::new(IdGenerator::after(0));
        let data = folder.path().join("follower");
        fs::create_dir(&data).unwrap();
        let snapshot = first.page_feed().unwrap().snapshot(&mut |path, _| {
            fs::copy(path, folder.path().join("snapshot.db"))?;
            fs::copy(path, data.join("convoke.db")).map(drop)
        });
        let follower = store(&data, tables(), true);
        Self { first, ids, gaps: snapshot.unwrap().gaps, follower, folder }
    }

    fn change(&self, mut run: impl FnMut(&mut DbMut) -> Result<(), StoreError> + Send + 'static) {
        let ids = self.ids.clone();
        let run = start(&self.first, move |rows| run(&mut DbMut::new(rows, reads(), ids.clone(), Millis(1_000))));
        run.wait().unwrap();
    }

    fn follow(&self) {
        if let Taken::Changes(changes) = self.first.page_feed().unwrap().take(self.gaps) {
            let source: PageSource = Box::new(move |receive| {
                for (number, content) in &changes.pages {
                    receive(*number, content)?;
                }
                Ok(changes.database_pages)
            });
            self.follower.page_sink().unwrap().write(source).unwrap();
        }
    }
}

#[test]
fn follower_has_the_rows_after_each_write_and_a_reader_keeps_its_own() {
    let mut random = StdRng::seed_from_u64(7);
    let followed = Followed::begin();
    for round in 0..60 {
        let (seed, before) = (random.random::<u64>(), rows(&followed.follower));
        followed.change(move |db| {
            let mut random = StdRng::seed_from_u64(seed);
            for number in 0..random.random_range(1..40) {
                open(db, &format!("{round}-{number}"), random.random_range(200..900))?;
            }
            for account in db.scan::<Account>().take(random.random_range(1..60))?.iter().step_by(2) {
                db.delete(account.id())?;
            }
            db.insert(Blob { bytes: convoke_store::table::Bytes(vec![1; random.random_range(0..9_000)]) }).map(drop)
        });
        // A snapshot that is open during the write, and read before and after it.
        let ((opened, is_open), (end, may_end)) = (mpsc::channel(), mpsc::channel::<()>());
        let kept = std::thread::scope(|scope| {
            let follower = &followed.follower;
            let reader = scope.spawn(move || {
                let held = (opened, may_end);
                let read = move |reader| {
                    let (opened, may_end) = &held;
                    let db = db(reader);
                    let former = rows_of(&db);
                    opened.send(()).unwrap_or_default();
                    let _ = may_end.recv();
                    (former, rows_of(&db))
                };
                follower.read_blocking(Access::Everyone, read).unwrap()
            });
            is_open.recv().unwrap();
            followed.follow();
            assert_eq!(rows(follower), rows(&followed.first));
            drop(end);
            reader.join().unwrap()
        });
        assert_eq!(kept, (before.clone(), before));
    }
    // The snapshot of the beginning is smaller.
    assert!(!rows(&followed.follower).is_empty());
    let snapshot = followed.folder.path().join("snapshot.db");
    followed.follower.page_sink().unwrap().write(file(&snapshot)).unwrap();
    assert_eq!(rows(&followed.follower), []);
    let Followed { follower, folder, .. } = followed;
    follower.close();
    drop(follower);
    let data = folder.path().join("follower");
    assert_eq!(fs::metadata(data.join("convoke.db")).unwrap().len(), fs::metadata(snapshot).unwrap().len());
    let installation = sqlite().lock(&data, clock()).unwrap();
    installation.database().unwrap().unwrap().require_whole(Thoroughness::Full).unwrap();
}

#[test]
fn failed_write_changes_nothing() {
    let followed = Followed::begin();
    followed.change(|db| open(db, "ada", 200).map(drop));
    followed.follow();
    let sink = followed.follower.page_sink().unwrap();
    let snapshot = fs::read(followed.folder.path().join("snapshot.db")).unwrap();
    let cut: PageSource = Box::new(move |receive| {
        receive(1, &snapshot[..1_024])?;
        Err(std::io::Error::other("it is cut off"))
    });
    assert!(sink.write(cut).unwrap_err().to_string().contains("it is cut off"));
    let other_size: PageSource = Box::new(|receive| receive(1, &[0; 512]).map(|()| 1));
    assert!(sink.write(other_size).unwrap_err().to_string().contains("bad page value"));
    assert_eq!(rows(&followed.follower), rows(&followed.first));
}

#[test]
fn follower_rejects_writes_and_a_schema_that_its_program_lacks() {
    let followed = Followed::begin();
    let ids = followed.ids.clone();
    let write = start(&followed.follower, move |rows| {
        open(&mut DbMut::new(rows, reads(), ids.clone(), Millis(1_000)), "ada", 1)
    });
    assert!(matches!(write.wait(), Err(StoreError::NotWritable(reason)) if reason.contains("answers queries only")));
    let Followed { first, follower, folder, .. } = followed;
    for store in [first, follower] {
        store.close();
    }
    // The copied database lacks a table of this program until the other server adds it.
    let data = folder.path().join("later");
    fs::create_dir(&data).unwrap();
    {
        let first = store(&folder.path().join("accounts"), vec![Account::DEF], false);
        first.page_feed().unwrap().snapshot(&mut |path, _| fs::copy(path, data.join("convoke.db")).map(drop)).unwrap();
    }
    let later = store(&data, tables(), true);
    let refused = later.read_blocking(Access::Everyone, |_| ()).unwrap_err().to_string();
    assert!(refused.contains("start the same release on the server that copies"), "{refused}");
    later.page_sink().unwrap().write(file(&folder.path().join("snapshot.db"))).unwrap();
    assert_eq!(rows(&later), []);
}
