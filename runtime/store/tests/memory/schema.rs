//! The schema of a database in memory, recorded as JSON and updated step by step.

use std::sync::Arc;

use convoke_core::clock::{Clock, Millis};
use convoke_store::overlay::Base;
use convoke_store::schema::{
    Catalog, Definition, Extent, Inspected, Step, Stepped, Upkeep, VisitValues, bring_up_to_date, inspect, log_changes,
};
use convoke_store::{IndexDef, OpenError, TableDef, Value};

use super::database::{Database, Index, StoredRow, Table, index_text};
use super::transaction::Transaction;

/// Applies the tables in code as far as possible, and returns the remaining difference.
pub(crate) fn apply(
    database: &Database,
    tables: &[&'static TableDef],
    extent: Extent,
    clock: &Arc<dyn Clock>,
) -> Result<(Database, Option<String>), OpenError> {
    let work = Work(Transaction::new(database.clone(), clock.clone(), std::time::Duration::MAX));
    let applied = bring_up_to_date(&work, tables, extent, clock.now())?;
    let database = if applied.changed() { work.0.database() } else { database.clone() };
    log_changes(&applied);
    Ok((database, applied.into_difference()))
}

/// Compares a database with the tables in code.
pub(crate) fn compare(database: Database, tables: &[&'static TableDef]) -> Result<Inspected, OpenError> {
    let applied_at = database.applied_at;
    inspect(&Kept(database), tables, applied_at)
}

struct Kept(Database);

impl Catalog for Kept {
    fn stored(&self) -> Result<(i64, Definition), OpenError> {
        match self.0.version {
            0 => Ok((0, Definition::default())),
            version => Ok((version, Definition::read(&self.0.definition)?)),
        }
    }

    fn index_text(&self, table: &TableDef, index: &IndexDef) -> String {
        index_text(table, index)
    }

    fn is_empty(&self, table: &str) -> Result<bool, OpenError> {
        Ok(self.0.tables.get(table).is_none_or(|table| table.rows.is_empty()))
    }

    fn has_null(&self, table: &str, field: &str) -> Result<bool, OpenError> {
        let null = |row: &Arc<StoredRow>| *row.value(field) == Value::Null;
        Ok(self.0.tables.get(table).is_some_and(|table| table.rows.values().any(null)))
    }

    fn values(&self, table: &'static TableDef, places: &[usize], visit: &mut VisitValues<'_>) -> Result<(), OpenError> {
        for (id, row) in self.0.tables.get(table.name).into_iter().flat_map(|table| &table.rows) {
            let values: Vec<_> = places.iter().map(|place| row.value(table.fields[*place].name).as_ref()).collect();
            if visit(*id, &values).is_break() {
                break;
            }
        }
        Ok(())
    }
}

struct Work(Transaction);

impl Catalog for Work {
    fn stored(&self) -> Result<(i64, Definition), OpenError> {
        Kept(self.0.database()).stored()
    }

    fn index_text(&self, table: &TableDef, index: &IndexDef) -> String {
        index_text(table, index)
    }

    fn is_empty(&self, table: &str) -> Result<bool, OpenError> {
        Kept(self.0.database()).is_empty(table)
    }

    fn has_null(&self, table: &str, field: &str) -> Result<bool, OpenError> {
        Kept(self.0.database()).has_null(table, field)
    }

    fn values(&self, table: &'static TableDef, places: &[usize], visit: &mut VisitValues<'_>) -> Result<(), OpenError> {
        Kept(self.0.database()).values(table, places, visit)
    }
}

impl Work {
    fn change_table(&self, name: &str, change: impl FnOnce(&mut Table) -> Stepped) -> Stepped {
        self.0.change(|database| {
            let mut table = database.tables.get(name).cloned().unwrap_or_default();
            let stepped = change(&mut table);
            if stepped == Stepped::Done {
                database.tables.insert_mut(name.to_owned(), table);
            }
            stepped
        })
    }
}

impl Upkeep for Work {
    fn catalog(&self) -> &dyn Catalog {
        self
    }

    fn take(&self, step: &Step) -> Result<Stepped, OpenError> {
        Ok(match step {
            // Rows are always ordered by id.
            Step::CreateTable(table) | Step::CreateIdIndex(table) => self.change_table(table.name, |_| Stepped::Done),
            Step::CreateIndex(table, index) => self.change_table(table.name, |stored| {
                let mut made = Index::new(table, index);
                let fits = stored.rows.iter().all(|(id, row)| made.add(*id, row));
                stored.indexes.insert_mut(index.name.to_owned(), made);
                if fits { Stepped::Done } else { Stepped::Collides }
            }),
            Step::DropIndex(table, index) => self.change_table(table, |stored| {
                stored.indexes.remove_mut(index);
                Stepped::Done
            }),
            Step::DropTable(table) => self.0.change(|database| {
                database.tables.remove_mut(table);
                Stepped::Done
            }),
            Step::AddField(table, field) => self.change_table(table.name, |stored| {
                let Some(default) = field.default else { return Stepped::Done };
                for (id, row) in &stored.rows.clone() {
                    let mut row = (**row).clone();
                    row.values.insert(field.name.to_owned(), default());
                    stored.rows.insert_mut(*id, Arc::new(row));
                }
                Stepped::Done
            }),
            Step::Fill(table, _) => {
                return Err(OpenError::Engine(format!("rows of {} are written as rows", table.name)));
            }
        })
    }

    fn base(&self) -> &dyn Base {
        &self.0
    }

    fn keep(&self, version: i64, at: Millis, _changes: &str, definition: &str) -> Result<(), OpenError> {
        self.0.change(|database| {
            (database.version, database.applied_at) = (version, at.0);
            definition.clone_into(&mut database.definition);
        });
        Ok(())
    }
}
