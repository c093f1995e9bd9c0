//! The way from the schema in the file to the one in code: SQL where nothing is lost, words where something would be.

use rusqlite::Connection;

use super::definition::{Definition, FieldShape, TableShape};
use crate::store::sqlite::text::{self, quoted};
use crate::store::table::{FieldDef, TableDef};

/// What there is to do, or why it is not done.
#[derive(Debug, Default)]
pub struct Difference {
    /// The statements to run, in order.
    pub statements: Vec<Statement>,
    /// What cannot be applied, a sentence each.
    pub refused: Vec<String>,
    /// The schema when the statements have run: what is refused stands in it as it is in the file.
    pub result: Definition,
}

/// One statement, and what it does in words.
#[derive(Debug)]
pub struct Statement {
    /// The SQL.
    pub sql: String,
    /// What it does, for the log and for the reader of `_schema`.
    pub what: String,
    /// The table and the index that it makes, if it makes one that was not there.
    pub index: Option<(String, String)>,
}

/// Compares the file with the code.
///
/// # Errors
/// The engine's, when it is asked whether rows exist.
pub fn difference(
    connection: &Connection,
    stored: &Definition,
    tables: &[&'static TableDef],
) -> rusqlite::Result<Difference> {
    let mut all = Difference::default();
    for table in tables {
        let shape = match stored.tables.get(table.name) {
            None => all.create(table),
            Some(old) => all.change(connection, table, old)?,
        };
        all.result.tables.insert(table.name.to_owned(), shape);
    }
    let gone = stored.tables.iter().filter(|(name, _)| tables.iter().all(|table| table.name != **name));
    for (name, shape) in gone {
        if is_empty(connection, name)? {
            all.run(format!("DROP TABLE {}", quoted(name)), format!("table {name} dropped; it had no rows"));
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
    fn run(&mut self, sql: String, what: String) {
        self.statements.push(Statement { sql, what, index: None });
    }

    fn create(&mut self, table: &TableDef) -> TableShape {
        self.run(text::create_table(table, table.name), format!("table {} added", table.name));
        self.run(text::create_id_index(table), format!("table {}: index by _id added", table.name));
        for index in table.indexes {
            self.run(text::create_index(table, index), format!("table {}: index {} added", table.name, index.name));
        }
        TableShape::of(table)
    }

    fn change(&mut self, connection: &Connection, table: &TableDef, old: &TableShape) -> rusqlite::Result<TableShape> {
        let mut shape = TableShape::of(table);
        let mut change = Change { table, connection, statements: Vec::new(), refused: Vec::new() };
        if old.prefix != table.prefix {
            shape.prefix.clone_from(&old.prefix);
            change.refuse(&format!(
                "the prefix of its ids changed from {} to {}, and clients hold such ids",
                old.prefix, table.prefix
            ));
        }
        for field in table.fields {
            change.field(field, old.fields.get(field.name), &mut shape)?;
        }
        for (name, field) in
            old.fields.iter().filter(|(name, _)| table.field(name).is_none_or(|place| table.fields[place].retired))
        {
            let retired = field.retired || table.field(name).is_some();
            if !retired {
                change
                    .refuse(&format!("field {name} was removed; mark it #[retired] instead, so that its values stay"));
            }
            shape.fields.insert(name.clone(), FieldShape { retired, ..field.clone() });
        }
        if !change.refused.is_empty() && is_empty(connection, table.name)? {
            let what = format!("table {} made anew; it had no rows", table.name);
            self.run(format!("DROP TABLE {}", quoted(table.name)), what);
            return Ok(self.create(table));
        }
        let Change { statements, refused, .. } = change;
        self.refused.extend(refused);
        // Indexes may rest on a column that is added, and must not stand in the way of one that changes.
        self.drop_indexes(table, old, &shape);
        self.statements.extend(statements);
        self.create_indexes(table, old, &shape);
        Ok(shape)
    }

    fn drop_indexes(&mut self, table: &TableDef, old: &TableShape, new: &TableShape) {
        for (name, sql) in &old.indexes {
            if new.indexes.get(name) != Some(sql) {
                self.run(
                    format!("DROP INDEX {}", text::index_name(table.name, name)),
                    format!("table {}: index {name} dropped", table.name),
                );
            }
        }
    }

    fn create_indexes(&mut self, table: &TableDef, old: &TableShape, new: &TableShape) {
        for (name, sql) in &new.indexes {
            if old.indexes.get(name) != Some(sql) {
                let what = format!("table {}: index {name} added", table.name);
                let index = Some((table.name.to_owned(), name.clone()));
                self.statements.push(Statement { sql: sql.clone(), what, index });
            }
        }
    }
}

/// The changes of one table's columns.
struct Change<'a> {
    table: &'a TableDef,
    connection: &'a Connection,
    statements: Vec<Statement>,
    refused: Vec<String>,
}

impl Change<'_> {
    fn run(&mut self, sql: String, what: &str) {
        self.statements.push(Statement { sql, what: format!("table {}: {what}", self.table.name), index: None });
    }

    fn refuse(&mut self, why: &str) {
        self.refused.push(format!("table {}: {why}", self.table.name));
    }

    fn field(&mut self, field: &FieldDef, old: Option<&FieldShape>, shape: &mut TableShape) -> rusqlite::Result<()> {
        match old {
            _ if field.retired => {}
            None => self.add(field, shape)?,
            Some(old) => self.compare(field, old, shape)?,
        }
        Ok(())
    }

    fn add(&mut self, field: &FieldDef, shape: &mut TableShape) -> rusqlite::Result<()> {
        if !field.nullable && field.default.is_none() && !is_empty(self.connection, self.table.name)? {
            self.refuse(&format!("field {} was added without a default; make it an Option or give it one", field.name));
            // Without a value in any row: a migration may give them theirs.
            FieldShape::of(field).without_values(field.name, shape);
        }
        let mut sql = format!(
            "ALTER TABLE {} ADD COLUMN {} {}",
            quoted(self.table.name),
            quoted(field.name),
            text::column_type(field.column)
        );
        if let Some(default) = field.default {
            // The default fills the rows that are there; new rows name every column.
            sql.push_str(&format!(" DEFAULT {}", text::literal(default)));
        }
        self.run(sql, &format!("field {} added", field.name));
        Ok(())
    }

    fn compare(&mut self, field: &FieldDef, old: &FieldShape, shape: &mut TableShape) -> rusqlite::Result<()> {
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
        if !had_null || field.nullable || !self.has_null(field)? {
            return Ok(());
        }
        match field.default {
            Some(default) => {
                let (table, name, value) = (quoted(self.table.name), quoted(field.name), text::literal(default));
                let sql = format!("UPDATE {table} SET {name} = {value} WHERE {name} IS NULL");
                self.run(sql, &format!("field {}: its default fills rows without a value", field.name));
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

    fn has_null(&self, field: &FieldDef) -> rusqlite::Result<bool> {
        let sql =
            format!("SELECT EXISTS (SELECT 1 FROM {} WHERE {} IS NULL)", quoted(self.table.name), quoted(field.name));
        self.connection.query_row(&sql, [], |row| row.get(0))
    }
}

fn is_empty(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    connection.query_row(&format!("SELECT NOT EXISTS (SELECT 1 FROM {})", quoted(table)), [], |row| row.get(0))
}
