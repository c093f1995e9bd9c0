//! The way from the schema in the database to the schema of the code: steps that lose no data, and messages for changes
//! that would.

use super::catalog::{Catalog, Extent};
use super::definition::{Definition, FieldShape, TableShape};
use super::misfit::misfits;
use super::releases::needs_value;
use super::table::{Condition, FieldDef, IndexDef, TableDef};
use crate::error::OpenError;

/// The steps to take, and the changes that are rejected.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// The steps to take, in order.
    pub steps: Vec<Described>,
    /// Changes of the recorded schema without a step, as text.
    pub noted: Vec<String>,
    /// Rejected changes, a sentence each.
    pub refused: Vec<String>,
    /// The schema after the steps. Rejected changes stay as they are in the database.
    pub result: Definition,
}

/// A step and its description.
#[derive(Clone, Debug)]
pub(super) struct Described {
    /// The step.
    pub step: Step,
    /// Description for the log and the history of the schema.
    pub what: String,
}

/// A step.
#[derive(Clone, Debug)]
pub enum Step {
    /// Creates a table, without indexes.
    CreateTable(&'static TableDef),
    /// Creates the index on the ids of the rows.
    CreateIdIndex(&'static TableDef),
    /// Creates an index; rows may have duplicate keys in it.
    CreateIndex(&'static TableDef, &'static IndexDef),
    /// Drops an index of a table, by name.
    DropIndex(String, String),
    /// Drops a table without rows, by name.
    DropTable(String),
    /// Adds a field; existing rows get its default, if it has one.
    AddField(&'static TableDef, &'static FieldDef),
    /// Writes the default of the field at this position into rows without a value. No engine takes this step, since
    /// rows are written through a writer.
    Fill(&'static TableDef, usize),
}

/// Compares the database with the code.
///
/// # Errors
/// Errors of the engine while it checks for rows.
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
    /// Returns the part to apply and commit before the rest is compared again. None: all of it is one part. In a large
    /// table each index is a part, so that a killed start resumes after the last complete index. Steps that may still
    /// fail come before steps that the former release cannot read.
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
                // A partial change skips an index with duplicate keys, which would fail again and again.
                false if extent == Extent::Part && index.unique => {}
                false => now = now.or(Some((*table, *index, described))),
                // A unique index may still fail, with everything that depends on it.
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

    /// Returns the change of one index alone.
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
        // Also records shapes, so that the rows are not read again before each index. The former release only widens
        // them again.
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

    /// Returns true if a step creates the table.
    fn makes(&self, table: &TableDef) -> bool {
        self.steps.iter().any(|described| matches!(described.step, Step::CreateTable(made) if made.name == table.name))
    }

    /// Returns true if the index uses a field that a step adds or fills.
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

    /// Returns the descriptions of its changes.
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
                change.refuse(&format!(
                    "field {name} was removed; mark it #[retired] instead, so that its values stay; if \
                     another field takes its values, keep it as an Option until a migration has copied them"
                ));
            }
            shape.fields.insert(name.clone(), FieldShape { retired, ..field.clone() });
        }
        if !change.refused.is_empty() && !catalog.has_company()? && catalog.is_empty(table.name)? {
            let what = format!("table {} recreated; it had no rows", table.name);
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
        // An index may use an added field, and must not block the change of another one.
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

/// The changes of the fields of a table.
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
            // No row has a value: a migration may add them.
            shape.lacks_values(field.name);
        }
        self.fields.push(self.described(Step::AddField(self.table, field), &format!("field {} added", field.name)));
        Ok(())
    }

    /// Compares the shapes of values. If the recorded shape allows values that the shape in code does not, the rows are
    /// read. A field with a row that does not fit keeps its recorded shape.
    fn shapes(&mut self, old: &TableShape, shape: &mut TableShape) -> Result<(), OpenError> {
        let (mut doubtful, mut is_recorded) = (Vec::new(), false);
        for (place, field) in self.table.fields.iter().enumerate().filter(|(_, field)| !field.retired) {
            let (Some(kept), Some(new)) = (old.fields.get(field.name), shape.fields.get(field.name)) else { continue };
            // A field with another type keeps its recorded shape.
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
            self.noted.push(format!("table {}: its possible values are recorded", self.table.name));
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
                "field {} changed from {} to {holds}; keep its type, write a migration that fills a new field from \
                 it, and mark it #[retired] in the next release",
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
