//! Two tables, folders filled with their rows, and archives of those.

use std::path::Path;
use std::sync::Arc;

use convoke::embed::Limits;
use convoke::store::table::Bytes;
use convoke::store::{DatabaseBuilder, Store, StoreOptions, Table, TableDef};
use convoke::{Id, table, value};
use convoke_calls::files::Folder;
use convoke_core::clock::{Clock, Millis, SystemClock};
use convoke_server::archive::{reader, writer};

#[value]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Colour {
    Red,
    Green,
}

#[table(name = "boxes", prefix = "box")]
#[index(by_name(name), unique)]
pub(crate) struct Crate {
    pub name: String,
    pub colour: Colour,
    pub weight: Option<f64>,
}

#[table(name = "labels", prefix = "label")]
#[index(by_crate(crate_id, position), unique)]
#[index(one_open(crate_id), unique, when(closed_at is null))]
pub(crate) struct Label {
    pub crate_id: Id<Crate>,
    pub position: i64,
    pub words: Vec<String>,
    pub image: Option<Bytes>,
    pub closed_at: Option<Millis>,
}

/// A runtime's own table, which leaves the installation like the others.
#[table(name = "_inspections", prefix = "inspection")]
pub(crate) struct Inspection {
    pub passed: bool,
}

/// One whose rows never leave.
#[table(name = "_deployKeys", prefix = "testkey")]
pub(crate) struct KeptBack {
    pub hash: String,
}

pub(crate) const TABLES: &[&TableDef] = &[Crate::DEF, Label::DEF, Inspection::DEF];

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::new())
}

/// A row with everything of it given.
pub(crate) fn add<T: Table>(builder: &dyn DatabaseBuilder, id: u128, time: i64, row: &T) {
    builder.insert(T::DEF, id, time, &row.encode()).unwrap();
}

/// Makes the folder's database again.
pub(crate) fn fill(folder: &Path, tables: &[&'static TableDef], fill: impl FnOnce(&dyn DatabaseBuilder)) {
    let installation = convoke::embed::default_engine().lock(folder, clock()).unwrap();
    let builder = installation.build(tables).unwrap();
    fill(&*builder);
    builder.finish(&[]).unwrap();
    installation.replace().unwrap();
}

/// The archive of a folder, through a store that serves it.
pub(crate) fn exported(folder: &Path, tables: &[&'static TableDef]) -> Vec<u8> {
    let store = Store::open(
        convoke::embed::default_engine(),
        StoreOptions::new(folder),
        &Limits::default(),
        clock(),
        tables.to_vec(),
    )
    .unwrap();
    let copy = store.snapshot(|_| {}).unwrap();
    let mut archive = Vec::new();
    writer::write(&*copy, store.tables(), None, &mut archive, &mut |_| {}).unwrap();
    assert_eq!(std::fs::read_dir(folder.join("tmp")).unwrap().count(), 0, "a snapshot left a file");
    store.close();
    archive
}

/// Takes an archive in.
pub(crate) fn imported(folder: &Path, tables: &[&'static TableDef], archive: &[u8]) -> Result<(), reader::ReadError> {
    let installation = convoke::embed::default_engine().lock(folder, clock()).unwrap();
    let builder = installation.build(tables)?;
    let rows = reader::read(archive, tables, &*builder, Some(&Folder::at(folder.join("files"))), &mut |_| {})?;
    builder.finish(&rows)?;
    installation.replace()?;
    Ok(())
}
