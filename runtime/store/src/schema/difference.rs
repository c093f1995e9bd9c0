//! The way from the schema in the database to the one in code: steps where nothing is lost, words where something would
//! be.

use super::Catalog;
use super::releases::needs_value;
use crate::definition::{Definition, FieldShape, TableShape};
use crate::error::OpenError;
use crate::table::{FieldDef, IndexDef, TableDef};

/// What there is to do, or why it is not done.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// The steps to take, in order.
    pub steps: Vec<Described>,
    /// What cannot be applied, a sentence each.
    pub refused: Vec<String>,
    /// The schema when the steps are taken: what is refused stands in it as it is in the database.
    pub result: Definition,
}

/// One step, and what it does in words.
#[derive(Debug)]
pub(super) struct Described {
    /// The step.
    pub step: Step,
    /// What it does, for the log and for the reader of the schema's history.
    pub what: String,
}

/// One step on the way.
#[derive(Clone, Debug)]
pub enum Step {
    /// Makes a table, without indexes.
    CreateTable(&'static TableDef),
    /// Makes the index by which rows are found by their id.
    CreateIdIndex(&'static TableDef),
    /// Makes an index; rows may collide in it.
    CreateIndex(&'static TableDef, &'static IndexDef),
    /// Drops an index of a table, by their names.
    DropIndex(String, String),
    /// Drops a table without rows, by its name.
    DropTable(String),
    /// Adds a field; the rows that are there get its default, if it has one.
    AddField(&'static TableDef, &'static FieldDef),
    /// Writes the default of the field at this place into the rows without a value: a step that no engine takes, since
    /// rows are written through a writer.
    Fill(&'static TableDef, usize),
}

/// Compares the database with the code.
///
/// # Errors
/// The engine's, when it is asked whether rows exist.
pub(super) fn difference(
    catalog: &dyn Catalog,
    stored: &Definition,
    tables: &[&'static TableDef],
) -> Result<Difference, OpenError> {
    let mut all = Difference::default();
    for table in tables {
        let shape = match stored.tables.get(table.name) {
            None => all.create(catalog, table),
            Some(old) => all.change(catalog, table, old)?,
        };
        all.result.tables.insert(table.name.to_owned(), shape);
    }
    let gone = stored.tables.iter().filter(|(name, _)| tables.iter().all(|table| table.name != **name));
    for (name, shape) in gone {
        if catalog.has_company()? {
            all.result.tables.insert(name.clone(), shape.clone());
        } else if catalog.is_empty(name)? {
            all.add(Step::DropTable(name.clone()), format!("table {name} dropped; it had no rows"));
        } else {
            all.refused.push(format!(
                "table {name} is in the database with rows and not in the code; \
                 write a migration that empties it before the struct goes"
            ));
            all.result.tables.insert(name.clone(), shape.clone());
        }
    }
    Ok(all)
}

impl Difference {
    fn add(&mut self, step: Step, what: String) {
        self.steps.push(Described { step, what });
    }

    fn create(&mut self, catalog: &dyn Catalog, table: &'static TableDef) -> TableShape {
        self.add(Step::CreateTable(table), format!("table {} added", table.name));
        self.add(Step::CreateIdIndex(table), format!("table {}: index by _id added", table.name));
        for index in table.indexes {
            let what = format!("table {}: index {} added", table.name, index.name);
            self.add(Step::CreateIndex(table, index), what);
        }
        TableShape::of(table, |index| catalog.index_text(table, index))
    }

    fn change(
        &mut self,
        catalog: &dyn Catalog,
        table: &'static TableDef,
        old: &TableShape,
    ) -> Result<TableShape, OpenError> {
        let mut shape = TableShape::of(table, |index| catalog.index_text(table, index));
        let mut change = TableChange { table, catalog, fields: Vec::new(), fills: Vec::new(), refused: Vec::new() };
        if old.prefix != table.prefix {
            shape.prefix.clone_from(&old.prefix);
            change.refuse(&format!(
                "the prefix of its ids changed from {} to {}, and clients hold such ids",
                old.prefix, table.prefix
            ));
        }
        for (place, field) in table.fields.iter().enumerate() {
            change.field(place, field, old.fields.get(field.name), &mut shape)?;
        }
        for (name, field) in
            old.fields.iter().filter(|(name, _)| table.field(name).is_none_or(|place| table.fields[place].retired))
        {
            let retired = field.retired || table.field(name).is_some();
            if !retired && catalog.has_company()? && !needs_value(catalog, table, old, name)? {
                shape.fields.insert(name.clone(), field.clone());
                continue;
            }
            if !retired {
                change
                    .refuse(&format!("field {name} was removed; mark it #[retired] instead, so that its values stay"));
            }
            shape.fields.insert(name.clone(), FieldShape { retired, ..field.clone() });
        }
        if !change.refused.is_empty() && !catalog.has_company()? && catalog.is_empty(table.name)? {
            let what = format!("table {} made anew; it had no rows", table.name);
            self.add(Step::DropTable(table.name.to_owned()), what);
            return Ok(self.create(catalog, table));
        }
        let TableChange { fields, fills, refused, .. } = change;
        self.refused.extend(refused);
        if catalog.has_company()? {
            for (name, text) in &old.indexes {
                shape.indexes.entry(name.clone()).or_insert_with(|| text.clone());
            }
        }
        // Indexes may rest on a field that is added, and must not stand in the way of one that changes.
        self.drop_indexes(table, old, &shape);
        self.steps.extend(fields);
        // Rows are read with all their fields.
        self.steps.extend(fills);
        self.create_indexes(table, old, &shape);
        Ok(shape)
    }

    fn drop_indexes(&mut self, table: &TableDef, old: &TableShape, new: &TableShape) {
        for (name, text) in &old.indexes {
            if new.indexes.get(name) != Some(text) {
                let what = format!("table {}: index {name} dropped", table.name);
                self.add(Step::DropIndex(table.name.to_owned(), name.clone()), what);
            }
        }
    }

    fn create_indexes(&mut self, table: &'static TableDef, old: &TableShape, new: &TableShape) {
        for (name, text) in &new.indexes {
            let index = table.indexes.iter().find(|index| index.name == name);
            if let Some(index) = index.filter(|_| old.indexes.get(name) != Some(text)) {
                self.add(Step::CreateIndex(table, index), format!("table {}: index {name} added", table.name));
            }
        }
    }
}

/// The changes of one table's fields.
struct TableChange<'a> {
    table: &'static TableDef,
    catalog: &'a dyn Catalog,
    fields: Vec<Described>,
    fills: Vec<Described>,
    refused: Vec<String>,
}

impl TableChange<'_> {
    fn described(&self, step: Step, what: &str) -> Described {
        Described { step, what: format!("table {}: {what}", self.table.name) }
    }

    fn refuse(&mut self, why: &str) {
        self.refused.push(format!("table {}: {why}", self.table.name));
    }

    fn field(
        &mut self,
        place: usize,
        field: &'static FieldDef,
        old: Option<&FieldShape>,
        shape: &mut TableShape,
    ) -> Result<(), OpenError> {
        match old {
            _ if field.retired => {}
            None => self.add(field, shape)?,
            Some(old) => self.compare(place, field, old, shape)?,
        }
        Ok(())
    }

    fn add(&mut self, field: &'static FieldDef, shape: &mut TableShape) -> Result<(), OpenError> {
        if !field.nullable && field.default.is_none() && !self.catalog.is_empty(self.table.name)? {
            self.refuse(&format!("field {} was added without a default; make it an Option or give it one", field.name));
            // Without a value in any row: a migration may give them theirs.
            FieldShape::of(field).without_values(field.name, shape);
        }
        self.fields.push(self.described(Step::AddField(self.table, field), &format!("field {} added", field.name)));
        Ok(())
    }

    fn compare(
        &mut self,
        place: usize,
        field: &FieldDef,
        old: &FieldShape,
        shape: &mut TableShape,
    ) -> Result<(), OpenError> {
        let new = FieldShape::of(field);
        if old.holds != new.holds {
            shape.fields.insert(field.name.to_owned(), old.clone());
            self.refuse(&format!(
                "field {} changed from {} to {}; write a migration that fills a new field, and mark this one #[retired]",
                field.name, old.holds, new.holds
            ));
            return Ok(());
        }
        // While a field is retired, new rows have no value for it.
        let had_null = old.nullable || old.retired;
        if !had_null || field.nullable || !self.catalog.has_null(self.table.name, field.name)? {
            return Ok(());
        }
        match field.default {
            Some(_) => {
                let what = format!("field {}: its default fills rows without a value", field.name);
                self.fills.push(self.described(Step::Fill(self.table, place), &what));
            }
            None => {
                new.without_values(field.name, shape);
                self.refuse(&format!(
                "field {} is no longer an Option, and rows without a value exist; write a migration that fills them, \
                 or give it a default",
                field.name
            ));
            }
        }
        Ok(())
    }
}
