//! Migrations: admin mutations that convert the rows of a table in batches, and continue where they stopped.
//!
//! A migration is a function with a name. Each call takes the next rows of the table in the order of their ids, and
//! stores its position in a row of its own, in the same transaction. If the process is killed, no row is skipped or
//! converted twice. `convoke migrate` calls it until it is complete. While the schema in code does not fit the
//! database, rows may not fit their struct, so a migration reads them as they are stored.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use convoke_macros::{args, table, value};

use crate::context::shared::Call;
use crate::context::{Context as _, MutationCtx, Read as _};
use crate::services::Services;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_store::{Column, Db, Doc, Plan, Row, StoreError, Table, Value};

/// Default number of rows per call: some milliseconds of the writer.
pub const ROWS: i64 = 500;
/// Maximum number of rows per call.
pub const ROWS_MAX: i64 = 10_000;

/// The arguments of a migration.
#[args(name = "Batch")]
pub struct Batch {
    /// Maximum rows of this call: 500 by default, at most 10,000.
    pub limit: Option<i64>,
    /// Start again, if it is complete.
    pub again: Option<bool>,
}

/// The progress of a migration.
#[value(name = "Migrated")]
#[derive(Clone, Debug)]
pub struct Migrated {
    /// Rows that it has processed, in all its calls.
    pub done: i64,
    /// Rows of the table when it started.
    pub total: i64,
    /// True if it is complete.
    pub finished: bool,
}

/// The stored progress of a migration.
#[table(name = "_migrations", prefix = "migration")]
#[index(by_name(name), unique)]
pub struct Migration {
    /// The function's path.
    pub name: String,
    /// The id of the last processed row, as text.
    pub last: Option<String>,
    /// Rows that it has processed.
    pub done: i64,
    /// Rows of the table when it started.
    pub total: i64,
    /// Number of calls so far.
    pub batches: i64,
    /// Time of the start.
    pub started_at: Millis,
    /// Time of the last batch's commit.
    pub updated_at: Millis,
    /// Time of completion; none before.
    pub finished_at: Option<Millis>,
}

/// A row as stored, which may not fit its struct.
pub struct StoredRow<T: Table> {
    id: Id<T>,
    values: Vec<Value>,
    changes: Vec<(usize, Value)>,
}

impl<T: Table> StoredRow<T> {
    fn of(row: &dyn Row) -> Result<Self, StoreError> {
        let values = (0..T::DEF.fields.len()).map(|place| row.value(place).map(|value| value.to_value()));
        Ok(Self { id: Id::from_bits(row.id()?), values: values.collect::<Result<_, _>>()?, changes: Vec::new() })
    }

    /// Returns the `_id`.
    pub fn id(&self) -> Id<T> {
        self.id
    }

    /// Returns the value of a field, by the name of its column (in camelCase). Use an `Option` if it may be missing.
    ///
    /// # Errors
    /// `INTERNAL` if there is no such field, if it is retired, or if its value is not a `C`.
    pub fn get<C: Column>(&self, field: &str) -> Result<C> {
        let place = place::<T>(field)?;
        let changed = self.changes.iter().find(|(changed, _)| *changed == place).map(|(_, value)| value);
        let value = changed.unwrap_or(&self.values[place]);
        C::from_value(value.as_ref())
            .map_err(|problem| Error::internal(format!("{} {}: {field}: {problem}", T::DEF.name, self.id)))
    }

    /// Sets the value of a field. It is stored when `work` returns.
    ///
    /// # Errors
    /// `INTERNAL` if there is no such field, or it is retired.
    pub fn set<C: Column>(&mut self, field: &str, value: &C) -> Result<()> {
        let place = place::<T>(field)?;
        self.changes.retain(|(changed, _)| *changed != place);
        self.changes.push((place, value.to_value()));
        Ok(())
    }
}

fn place<T: Table>(field: &str) -> Result<usize> {
    let table = T::DEF.name;
    match T::DEF.field(field) {
        Some(place) if T::DEF.fields[place].retired => Err(Error::internal(format!(
            "field {field} of table {table} is #[retired], and a retired field cannot be read or set; make it an Option \
             without #[retired] until the migration is complete"
        ))),
        Some(place) => Ok(place),
        None => Err(Error::internal(format!("table {table} has no field {field}"))),
    }
}

impl MutationCtx {
    /// Runs the next batch of the migration that this mutation implements: passes each row to `work`, stores the
    /// changed fields, and returns the progress. It is for a mutation that is marked `admin` and takes a [`Batch`]:
    ///
    /// ```
    /// # extern crate convoke_calls as convoke;
    /// # mod library {
    /// # use convoke::{Batch, Migrated, MutationCtx};
    /// # use convoke_core::error::Result;
    /// # use convoke_macros::{mutation, table};
    /// #[table(name = "books", prefix = "book")]
    /// pub struct Book {
    ///     pub title: String,
    ///     pub shelf: String,
    /// }
    ///
    /// /// Puts each book without a shelf on one.
    /// #[mutation(admin)]
    /// pub fn fill_shelves(ctx: &mut MutationCtx, args: Batch) -> Result<Migrated> {
    ///     ctx.migrate::<Book>(&args, |book| {
    ///         if book.get::<Option<String>>("shelf")?.is_none() {
    ///             let title: String = book.get("title")?;
    ///             book.set("shelf", &title.chars().take(1).collect::<String>())?;
    ///         }
    ///         Ok(())
    ///     })
    /// }
    /// # }
    /// # fn main() {}
    /// ```
    /// Rows that are added while it runs come last and are not skipped. The name of the migration is the function's
    /// path: after a rename, it starts again.
    ///
    /// # Errors
    /// Those of `work`, and then the batch is rolled back; `INVALID_ARGUMENT`; a failure of the store.
    pub fn migrate<T: Table>(
        &mut self,
        args: &Batch,
        mut work: impl FnMut(&mut StoredRow<T>) -> Result<()>,
    ) -> Result<Migrated> {
        self.migrate_with(args, |_, row| work(row))
    }

    /// As [`MutationCtx::migrate`], for work that also reads or changes other rows, or deletes its row: `work` receives
    /// the context first. Changes of other rows are part of the same transaction.
    ///
    /// # Errors
    /// As [`MutationCtx::migrate`].
    pub fn migrate_with<T: Table>(
        &mut self,
        args: &Batch,
        mut work: impl FnMut(&mut MutationCtx, &mut StoredRow<T>) -> Result<()>,
    ) -> Result<Migrated> {
        let limit = args.limit.unwrap_or(ROWS);
        if !(1..=ROWS_MAX).contains(&limit) {
            return Err(Error::invalid_argument("limit", format!("must be 1 to {ROWS_MAX} (got {limit})")));
        }
        let migration = self.migration::<T>(args.again == Some(true))?;
        if migration.finished_at.is_some() {
            return Ok(Migrated { done: migration.done, total: migration.total, finished: true });
        }
        let rows = next_rows::<T>(self.db(), migration.last.as_deref(), limit)?;
        for mut row in rows.iter().map(|row| StoredRow::<T> { id: row.id, values: row.values.clone(), changes: vec![] })
        {
            work(self, &mut row)?;
            if !row.changes.is_empty() {
                self.db_mut().writer().update(T::DEF, row.id.bits(), &row.values, &row.changes)?;
            }
        }
        let taken = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        let (now, finished) = (self.now(), taken < limit);
        let name = migration.name.clone();
        let migration = self.db_mut().patch_doc(migration, |migration| {
            migration.last = rows.last().map(|row| row.id.to_string()).or_else(|| migration.last.clone());
            migration.done += taken;
            migration.batches += 1;
            migration.updated_at = now;
            migration.finished_at = finished.then_some(now);
        })?;
        let (done, total) = (migration.done, migration.total.max(migration.done));
        tracing::info!(target: "convoke::migration", migration = name, done, total, finished, "migrated");
        self.call().work.is_part.store(!finished, Ordering::Relaxed);
        Ok(Migrated { done, total, finished })
    }

    /// Returns the row of this migration, which its first call creates.
    fn migration<T: Table>(&mut self, again: bool) -> Result<Doc<Migration>> {
        let name = self.root_path().to_owned();
        let found = self.db().query(Migration::by_name).eq(name.as_str()).unique()?;
        if let Some(found) = found {
            if !again || found.finished_at.is_none() {
                return Ok(found);
            }
            self.db_mut().delete(found.id())?;
        }
        let total = i64::try_from(self.db().scan::<T>().count()?).unwrap_or(i64::MAX);
        let now = self.now();
        let (started_at, updated_at) = (now, now);
        let row = Migration { name, last: None, done: 0, total, batches: 0, started_at, updated_at, finished_at: None };
        let id = self.db_mut().insert(row)?;
        self.db().get(id)?.ok_or_else(|| Error::internal("the row of a migration is missing in its own transaction"))
    }
}

fn next_rows<T: Table>(db: &Db, last: Option<&str>, limit: i64) -> Result<Vec<StoredRow<T>>> {
    let mut plan = Plan::new(T::DEF, None);
    plan.limit = u64::try_from(limit).ok();
    if let Some(last) = last {
        let last: Id<T> =
            last.parse().map_err(|_| Error::internal(format!("a migration has the invalid position {last:?}")))?;
        plan.after = Some((Vec::new(), last.bits()));
    }
    let mut rows = Vec::new();
    db.reader().select(&plan, &mut |row| {
        rows.push(StoredRow::of(row)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

/// Returns the migrations that have started, by name.
pub fn begun(db: &Db) -> Result<Vec<Doc<Migration>>> {
    Ok(db.query(Migration::by_name).take(usize::MAX)?)
}

impl Services {
    /// Has the database follow the schema in code once more, and everybody in if it does now.
    ///
    /// # Errors
    /// The engine's.
    pub async fn apply_schema(&self) -> Result<()> {
        let store = self.store().clone();
        let applied = tokio::task::spawn_blocking(move || store.apply_schema()).await.map_err(Error::internal)?;
        applied.map_err(Error::internal)?;
        if self.store().difference().is_none() {
            tracing::info!(target: "convoke::migration", "the database fits the schema; everybody is served");
        }
        Ok(())
    }

    /// Applies additions to the schema before a part of a migration, if the schema keeps the store closed, once per
    /// process. The migration then finds the fields of its code.
    pub(crate) async fn before_migration(&self, is_expanded: &AtomicBool) -> Result<()> {
        if self.store().difference().is_none() || is_expanded.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let store = self.store().clone();
        let applied = tokio::task::spawn_blocking(move || store.apply_schema_in_part()).await;
        applied.map_err(Error::internal)?.map_err(Error::internal)?;
        Ok(())
    }

    /// Applies the schema after an admin mutation, if the schema keeps the store closed: the mutation may have fixed the
    /// difference. Skipped after a part of a migration, because the comparison may read every row.
    pub(crate) async fn after_admin_mutation(&self, call: &Call) {
        if call.work.is_part.load(Ordering::Relaxed) || self.store().difference().is_none() {
            return;
        }
        if let Err(error) = self.apply_schema().await {
            tracing::error!(target: "convoke::migration", "the schema could not be compared: {}", error.chain());
        }
    }
}
