//! The way from the schema in the database to the one in code: steps where nothing is lost, words where something would
//! be.

use super::catalog::{Catalog, Extent};
use super::definition::{Definition, FieldShape, TableShape};
use super::misfit::misfits;
use super::releases::needs_value;
use super::table::{Condition, FieldDef, IndexDef, TableDef};
use crate::error::OpenError;

/// What there is to do, or why it is not done.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// The steps to take, in order.
    pub steps: Vec<Described>,
    /// Changes of the recorded schema that need no step, in words.
    pub noted: Vec<String>,
    /// What cannot be applied, a sentence each.
    pub refused: Vec<String>,
    /// The schema when the steps are taken: what is refused stands in it as it is in the database.
    pub result: Definition,
}

/// One step, and what it does in words.
#[derive(Clone, Debug)]
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
    /// The part of it that is to be taken and committed by itself, before the rest is compared again; none if all of it is
    /// one part. In a large table each index is a part, so that a start that is killed goes on behind the last one that was
    /// made. What may still be refused comes before what the former release does not read.
    ///
    /// # Errors
    /// The engine's.
    pub(super) fn first_part(
        &self,
        catalog: &dyn Catalog,
        stored: &Definition,
        extent: Extent,
    ) -> Result<Option<Difference>, OpenError> {
        let (mut now, mut later) = (None, Vec::new());
        for described in &self.steps {
            let Step::CreateIndex(table, index) = &described.step else { continue };
            if self.makes(table) || !catalog.is_large(table.name)? {
                continue;
            }
            match self.needs_change(table, index) {
                // In part, one in which rows collide is passed over; it would be tried again and again.
                false if extent == Extent::Part && index.unique => {}
                false => now = now.or(Some((*table, *index, described))),
                // Those that are unique may still be refused, with everything that they rest on.
                true if index.unique => {}
                true => later.push((table.name, index.name)),
            }
        }
        if let Some((table, index, described)) = now {
            return Ok(Some(self.one_index(stored, table, index, described)));
        }
        let is_later =
            |step: &Step| matches!(step, Step::CreateIndex(table, index) if later.contains(&(table.name, index.name)));
        let steps: Vec<Described> = self.steps.iter().filter(|described| !is_later(&described.step)).cloned().collect();
        if later.is_empty() || steps.is_empty() {
            return Ok(None);
        }
        let mut result = self.result.clone();
        for (table, index) in later {
            if let Some(table) = result.tables.get_mut(table) {
                table.indexes.remove(index);
            }
        }
        Ok(Some(Difference { steps, noted: self.noted.clone(), refused: Vec::new(), result }))
    }

    /// The change of one index alone.
    fn one_index(
        &self,
        stored: &Definition,
        table: &'static TableDef,
        index: &'static IndexDef,
        described: &Described,
    ) -> Difference {
        let drops = |step: &Step| matches!(step, Step::DropIndex(of, name) if of == table.name && name == index.name);
        let mut steps: Vec<Described> = self.steps.iter().filter(|described| drops(&described.step)).cloned().collect();
        steps.push(described.clone());
        let mut result = stored.clone();
        let text = self.result.tables.get(table.name).and_then(|table| table.indexes.get(index.name));
        if let (Some(table), Some(text)) = (result.tables.get_mut(table.name), text) {
            table.indexes.insert(index.name.to_owned(), text.clone());
        }
        // Shapes too, so that the rows are not read again before each index: the former release only widens them again.
        for (name, table) in &mut result.tables {
            for (field, kept) in &mut table.fields {
                let new = self.result.tables.get(name).and_then(|table| table.fields.get(field));
                if let Some(new) = new.filter(|new| new.holds == kept.holds) {
                    kept.shape.clone_from(&new.shape);
                }
            }
        }
        Difference { steps, noted: self.noted.clone(), refused: Vec::new(), result }
    }

    /// True if it makes the table.
    fn makes(&self, table: &TableDef) -> bool {
        self.steps.iter().any(|described| matches!(described.step, Step::CreateTable(made) if made.name == table.name))
    }

    /// True if the index rests on a field that it adds or fills.
    fn needs_change(&self, table: &TableDef, index: &IndexDef) -> bool {
        let condition = index.when.map(Condition::field);
        let rests_on = |field: &str| {
            condition == Some(field) || index.keys.iter().any(|key| table.fields[key.field].name == field)
        };
        self.steps.iter().any(|described| match &described.step {
            Step::AddField(of, field) => of.name == table.name && rests_on(field.name),
            Step::Fill(of, place) => of.name == table.name && rests_on(table.fields[*place].name),
            _ => false,
        })
    }

    /// What it changes, in words.
    pub(super) fn words(&self) -> Vec<String> {
        self.steps.iter().map(|described| &described.what).chain(&self.noted).cloned().collect()
    }

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
        let mut change = TableChange::new(table, catalog);
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
        change.shapes(old, &mut shape)?;
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
        let TableChange { fields, fills, noted, refused, .. } = change;
        self.refused.extend(refused);
        self.noted.extend(noted);
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
    noted: Vec<String>,
    refused: Vec<String>,
}

impl<'a> TableChange<'a> {
    fn new(table: &'static TableDef, catalog: &'a dyn Catalog) -> Self {
        Self { table, catalog, fields: Vec::new(), fills: Vec::new(), noted: Vec::new(), refused: Vec::new() }
    }

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
            self.refuse(&format!(
                "field {} was added without a default; make it an Option, give it a default, or write a migration that \
                 fills it",
                field.name
            ));
            // Without a value in any row: a migration may give them theirs.
            shape.lacks_values(field.name);
        }
        self.fields.push(self.described(Step::AddField(self.table, field), &format!("field {} added", field.name)));
        Ok(())
    }

    /// Compares the shapes of values. Where the recorded one may have values that the one in code does not take, the rows
    /// decide; a field with a row that does not fit stays as it is recorded.
    fn shapes(&mut self, old: &TableShape, shape: &mut TableShape) -> Result<(), OpenError> {
        let (mut doubtful, mut is_recorded) = (Vec::new(), false);
        for (place, field) in self.table.fields.iter().enumerate().filter(|(_, field)| !field.retired) {
            let (Some(kept), Some(new)) = (old.fields.get(field.name), shape.fields.get(field.name)) else { continue };
            // Of another column, it is as it is recorded.
            let Some(new) = new.shape.as_ref() else { continue };
            let is_known = match &kept.shape {
                None => {
                    is_recorded = true;
                    new.takes_every(field.column)
                }
                Some(former) => {
                    if former != new {
                        self.noted.push(format!("table {}: field {}: its values change", self.table.name, field.name));
                    }
                    new.takes_all_of(former)
                }
            };
            if !is_known {
                doubtful.push(place);
            }
        }
        if is_recorded {
            self.noted.push(format!("table {}: what its values may be is recorded", self.table.name));
        }
        for misfit in misfits(self.catalog, self.table, &doubtful)? {
            let name = self.table.fields[misfit.place].name;
            let former = old.fields.get(name).and_then(|kept| kept.shape.clone());
            self.refuse(&misfit.refusal(self.table, former.as_ref()));
            if let Some(field) = shape.fields.get_mut(name) {
                field.shape = former;
            }
        }
        Ok(())
    }

    fn compare(
        &mut self,
        place: usize,
        field: &FieldDef,
        old: &FieldShape,
        shape: &mut TableShape,
    ) -> Result<(), OpenError> {
        let holds = FieldShape::holds(field);
        if old.holds != holds {
            shape.fields.insert(field.name.to_owned(), old.clone());
            self.refuse(&format!(
                "field {} changed from {} to {holds}; write a migration that fills a new field, and mark this one #[retired]",
                field.name, old.holds
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
                shape.lacks_values(field.name);
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
