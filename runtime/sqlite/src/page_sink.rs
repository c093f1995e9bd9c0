//! Writes the pages of another database below the open snapshots of the readers.
//!
//! SQLite's table `sqlite_dbpage` passes them through its page cache into the log. So a reader keeps its state, and the
//! next reader finds all new pages or none.

use std::rc::Rc;
use std::sync::{Arc, mpsc};

use rusqlite::{OptionalExtension as _, params};
use tracing::warn;

use super::cache::Changed;
use super::connection::{Common, Connection, Purpose};
use super::failure::Opening as _;
use super::file::{count_pages, schema};
use super::queue::Whole;
use super::sql;
use super::threads::Shared;
use convoke_store::page_sink::PageSource;
use convoke_store::{OpenError, StoreError, TableDef};

/// The receiver of the pages. It writes them on the writer's thread.
pub(crate) struct PageSink {
    shared: Arc<Shared>,
    common: Common,
    tables: Arc<[&'static TableDef]>,
}

impl PageSink {
    /// Creates the receiver of an open database.
    pub(crate) fn new(shared: Arc<Shared>, common: Common, tables: Arc<[&'static TableDef]>) -> Self {
        Self { shared, common, tables }
    }
}

impl convoke_store::PageSink for PageSink {
    fn write(&self, source: PageSource) -> Result<(), StoreError> {
        let (shared, common, tables) = (self.shared.clone(), self.common.clone(), self.tables.clone());
        let (done, written) = mpsc::channel();
        let work = Box::new(move |_: &Rc<Connection>| {
            // The caller may be gone.
            let _ = done.send(write(&shared, &common, &tables, source).map_err(|error| match error {
                OpenError::Disk(reason) => StoreError::Disk(reason),
                error => StoreError::Engine(error.to_string()),
            }));
        });
        let closed = || StoreError::Closed("it is shutting down".to_owned());
        if !self.shared.queue.push_whole(Whole::Upkeep(work)) {
            return Err(closed());
        }
        written.recv().map_err(|_| closed())?
    }
}

/// Checks that this build of SQLite can write pages.
///
/// # Errors
/// [`OpenError::Engine`]: it cannot; errors of the engine.
pub(crate) fn require_pages(connection: &Connection) -> Result<(), OpenError> {
    let has = "SELECT EXISTS (SELECT 1 FROM pragma_compile_options WHERE compile_options = 'ENABLE_DBPAGE_VTAB')";
    if connection.sqlite.query_row(has, [], |row| row.get(0)).opening()? {
        return Ok(());
    }
    Err(OpenError::Engine(
        "this program cannot follow copies, because its SQLite was built without the table of pages; build it with \
         LIBSQLITE3_FLAGS=\"-DSQLITE_ENABLE_DBPAGE_VTAB\", as the .cargo/config.toml of `convoke new` does"
            .to_owned(),
    ))
}

/// Returns the difference that keeps a following database closed: it changes only with the database that it follows.
pub(crate) fn difference(connection: &Connection, tables: &[&'static TableDef]) -> Result<Option<String>, OpenError> {
    let inspected = schema::inspect(&connection.sqlite, tables)?
        .ok_or_else(|| OpenError::Engine("the copies are not those of a database of Convoke".to_owned()))?;
    let found = if inspected.refused.is_empty() { inspected.pending } else { inspected.refused };
    Ok((!found.is_empty()).then(|| {
        format!(
            "the copied database does not fit this program: {}; start the same release on the server that copies",
            found.join("; ")
        )
    }))
}

/// Writes the pages, and publishes that everything may have changed.
fn write(shared: &Shared, common: &Common, tables: &[&'static TableDef], source: PageSource) -> Result<(), OpenError> {
    // A connection keeps the parsed content of pages, and does not detect that they are written in this way.
    let connection = Connection::open(common, Purpose::Write)?;
    count_pages(&connection.sqlite);
    connection.run("BEGIN IMMEDIATE").opening()?;
    let former = recorded(&connection)?;
    if let Err(error) = write_pages(&connection.sqlite, source) {
        connection.run("ROLLBACK").opening()?;
        return Err(error);
    }
    let commit = || common.newest.change(Changed::Anything, || connection.run("COMMIT"));
    common.commits.change_everything(commit).opening()?;
    drop(connection);
    let connection = Connection::open(common, Purpose::Read)?;
    if recorded(&connection)? != former {
        let difference = difference(&connection, tables)?;
        if let Some(difference) = &difference {
            warn!("{difference}");
        }
        shared.gate.set_schema(difference);
    }
    Ok(())
}

/// Returns the recorded schema.
fn recorded(connection: &Connection) -> Result<(i64, String), OpenError> {
    connection.sqlite.query_row(sql::LAST_SCHEMA, [], |row| Ok((row.get(0)?, row.get(1)?))).opening()
}

fn write_pages(sqlite: &rusqlite::Connection, source: PageSource) -> Result<(), OpenError> {
    let former: u32 = sqlite.query_row("PRAGMA page_count", [], |row| row.get(0)).opening()?;
    let mut read = sqlite.prepare("SELECT data FROM sqlite_dbpage WHERE pgno = ?1").opening()?;
    let mut write = sqlite.prepare("INSERT INTO sqlite_dbpage (pgno, data) VALUES (?1, ?2)").opening()?;
    let mut greatest = former;
    let pages = source(&mut |number, content| {
        greatest = greatest.max(number);
        // A snapshot has every page, and few of them differ.
        let is_same = read.query_row([number], |row| Ok(row.get_ref(0)?.as_blob()? == content)).optional();
        if is_same.map_err(std::io::Error::other)? != Some(true) {
            write.execute(params![number, content]).map_err(std::io::Error::other)?;
        }
        Ok(())
    });
    let pages = pages.map_err(|error| OpenError::Engine(error.to_string()))?;
    if pages > greatest {
        // Pages at the end that are free have no content, but the file has their size.
        let bytes: u32 = sqlite.query_row("PRAGMA page_size", [], |row| row.get(0)).opening()?;
        write.execute(params![pages, vec![0_u8; bytes as usize]]).opening()?;
    }
    if pages < greatest {
        // Without content, this page and all after it are removed. It must be the last statement.
        write.execute(params![pages + 1, rusqlite::types::Null]).opening()?;
    }
    Ok(())
}
