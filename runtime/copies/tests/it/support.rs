//! A store whose database is copied to a folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use convoke_copies::restore::{Moment, Restored, restore};
use convoke_copies::{BucketAccess, CopySettings, Place, Shipper, ShipperOptions};
use convoke_core::id::IdGenerator;
use convoke_core::limits::Limits;
use convoke_sqlite::Sqlite;
use convoke_store::conformance::support::{Account, Pending, clock, db, patient, reads, start};
use convoke_store::{
    Access, CopyAcknowledgement, DbMut, EngineFactory as _, HeldDisk, Id, Millis, Store, StoreError, StoreOptions,
    Table as _, Thoroughness,
};

/// The rows of a database: owner and balance.
pub(crate) type Rows = BTreeMap<String, i64>;

pub(crate) fn engine() -> Arc<Sqlite> {
    // Small enough that the log starts again often.
    Arc::new(Sqlite { checkpoint_bytes: 64 << 10, ..Sqlite::default() })
}

/// A store with its copies.
pub(crate) struct Copied {
    pub store: Store,
    pub shipper: Shipper,
    pub ids: Arc<IdGenerator>,
}

/// Settings of copies each 100 ms in a folder.
pub(crate) fn settings(place: &Path, more: &str) -> CopySettings {
    let text = format!("[copy]\nto = \"dir:{}\"\nevery = \"100ms\"\n{more}", place.display());
    CopySettings::of(&toml::from_str(&text).unwrap())
}

impl Copied {
    pub(crate) fn open(data: &Path, settings: &CopySettings) -> Self {
        Self::with(data, settings, &patient())
    }

    pub(crate) fn with(data: &Path, settings: &CopySettings, limits: &Limits) -> Self {
        let options = StoreOptions {
            disk: Arc::new(HeldDisk::default()),
            copied: settings.acknowledgement(),
            ..StoreOptions::new(data)
        };
        let store = Store::open(engine(), options, limits, clock(), vec![Account::DEF]).unwrap();
        let ids = Arc::new(IdGenerator::after(store.greatest_id()));
        let shipper = Shipper::start(ShipperOptions {
            feed: store.page_feed().unwrap(),
            settings: settings.clone(),
            access: Box::new(|_| Ok(BucketAccess::default())),
            files: Some(data.join("files")),
            scratch: data.join("copies.partial"),
            clock: clock(),
        });
        Self { store, shipper: shipper.unwrap(), ids }
    }

    pub(crate) fn start<R: Send + 'static>(
        &self,
        mut run: impl FnMut(&mut DbMut) -> Result<R, StoreError> + Send + 'static,
    ) -> Pending<R> {
        let ids = self.ids.clone();
        start(&self.store, move |transaction| run(&mut DbMut::new(transaction, reads(), ids.clone(), Millis(1_000))))
    }

    pub(crate) fn insert(&self, owner: &str, balance: i64) -> Result<Id<Account>, StoreError> {
        let owner = owner.to_owned();
        self.start(move |db| db.insert(Account { owner: owner.clone(), balance })).wait()
    }

    /// Waits until everything that is committed now is copied.
    pub(crate) fn wait(&self) {
        let now = clock().now();
        until("the copy", || self.shipper.status().state().copied_at.is_some_and(|at| at > now));
    }

    pub(crate) fn close(self) {
        self.store.close();
        self.shipper.finish();
    }
}

/// Waits for a condition, for a minute at most.
#[track_caller]
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn open_place(path: &Path) -> Place {
    Place::open(&format!("dir:{}", path.display()), &BucketAccess::default()).unwrap()
}

/// Restores a moment, checks every page and index, and returns the rows.
pub(crate) fn restored(place: &Path, moment: Moment) -> (Restored, Rows) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("restored.db");
    let restored = restore(&open_place(place), None, moment, &file, &mut |_, _| {}).unwrap();
    (restored, rows_of(&file))
}

/// Returns the rows of a database file, after a check of every page and index.
pub(crate) fn rows_of(file: &Path) -> Rows {
    let folder = tempfile::tempdir().unwrap();
    let installation = engine().lock(folder.path(), clock()).unwrap();
    let database = installation.take_in(file, &mut |_| {}).unwrap();
    database.require_whole(Thoroughness::Full).unwrap();
    installation.replace().unwrap();
    drop((database, installation));
    let store =
        Store::open(engine(), StoreOptions::new(folder.path()), &patient(), clock(), vec![Account::DEF]).unwrap();
    rows(&store)
}

pub(crate) fn rows(store: &Store) -> Rows {
    store
        .read_blocking(Access::Everyone, |reader| {
            let accounts = db(reader).scan::<Account>().take(1_000_000).unwrap();
            accounts.into_iter().map(|account| (account.owner.clone(), account.balance)).collect()
        })
        .unwrap()
}

/// Returns the files of a level of a generation in a folder.
pub(crate) fn files(place: &Path, generation: u32, level: u8) -> Vec<String> {
    let folder = place.join(format!("{generation:08}/ltx/{level}"));
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The mode in which a mutation waits for its copy.
pub(crate) const COPIED: &str = "acknowledge = \"copied\"";

#[test]
fn section_has_safe_defaults_and_rejects_what_cannot_work() {
    let settings = settings(Path::new("/backup"), "");
    assert_eq!(settings.acknowledgement(), Some(CopyAcknowledgement::Local));
    assert_eq!(CopySettings::default().acknowledgement(), None);
    let error = |text: &str| toml::from_str::<CopySettings>(text).unwrap_err().to_string();
    assert!(error("every = \"5ms\"").contains("at least 100ms"));
    assert!(error("keep = \"forever\"").contains("must be a time such as"));
    assert!(error("acknowledge = \"never\"").contains("local"));
    assert!(error("two = \"dir:/backup\"").contains("unknown field"));
}
