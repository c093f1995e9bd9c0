//! The database in functions: reads of single rows, queries, and writes.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use super::page_ends::PageEnds;
use super::plan::Plan;
use crate::error::StoreError;
use crate::overlay::Transaction;
use crate::reader::Reader;
use crate::schema::table::{Doc, Table, Unique};
use crate::value::Value;
use convoke_core::clock::Millis;
use convoke_core::id::{Id, IdGenerator};
use convoke_core::limits::Limits;

/// Number of rows for which memory is reserved before the first row is read.
const ROWS_FORESEEN: u64 = 64;

/// Reads within one transaction.
#[derive(Clone)]
pub struct Db {
    pub(super) reader: Rc<dyn Reader>,
    pub(super) limits: ReadLimits,
    /// Present for queries that run repeatedly for the same client.
    pub(super) page_ends: Option<Rc<PageEnds>>,
}

/// Limits of the size of reads.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// Bytes of JSON after which a page ends.
    pub page_bytes_max: usize,
    /// Bytes of JSON beyond which an encoded list fails.
    pub encoded_bytes_max: usize,
}

impl From<&Limits> for ReadLimits {
    fn from(limits: &Limits) -> Self {
        Self { page_bytes_max: limits.page_bytes_max, encoded_bytes_max: limits.response_bytes_max }
    }
}

/// Reads and writes within one transaction. Writes take `&mut self`, so no row is written while rows are visited.
pub struct DbMut {
    db: Db,
    transaction: Rc<Transaction>,
    ids: Arc<IdGenerator>,
    now: Millis,
}

/// The result of [`DbMut::insert_unique`].
#[derive(Clone, Debug)]
pub enum Inserted<T: Table> {
    /// The row is new.
    New(Doc<T>),
    /// A row with the same unique keys existed.
    Existing(Doc<T>),
}

impl<T: Table> Inserted<T> {
    /// Returns the row that is in the table now.
    pub fn into_doc(self) -> Doc<T> {
        match self {
            Inserted::New(doc) | Inserted::Existing(doc) => doc,
        }
    }
}

impl Db {
    /// Creates a reader with these limits.
    pub fn new(reader: Rc<dyn Reader>, limits: ReadLimits) -> Self {
        Self { reader, limits, page_ends: None }
    }

    /// Returns the same reader; its pages end where they ended in the first run of the query.
    #[must_use]
    pub fn with_page_ends(self, ends: Rc<PageEnds>) -> Self {
        Self { page_ends: Some(ends), ..self }
    }

    /// Returns the untyped transaction, which reads values and plans.
    pub fn reader(&self) -> &dyn Reader {
        &*self.reader
    }

    /// Returns the row with this id.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn get<T: Table>(&self, id: Id<T>) -> Result<Option<Doc<T>>, StoreError> {
        let mut found = None;
        self.reader.get(T::DEF, id.bits(), &mut |row| {
            found = Some(Doc::read(row)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Returns the rows with these ids, in the order of the ids. Runs one statement.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn get_many<T: Table>(&self, ids: &[Id<T>]) -> Result<Vec<Option<Doc<T>>>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let bits: Vec<u128> = ids.iter().map(|id| id.bits()).collect();
        let mut found: HashMap<u128, Doc<T>> = HashMap::with_capacity(bits.len());
        self.reader.get_many(T::DEF, &bits, &mut |row| {
            let doc: Doc<T> = Doc::read(row)?;
            found.insert(doc.id().bits(), doc);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(bits.iter().map(|id| found.get(id).cloned()).collect())
    }

    /// Returns the number of statements in this transaction so far. Tests use it to check the cost of a function.
    pub fn statements(&self) -> u64 {
        self.reader.statements()
    }

    /// Returns the number of rows read completely in this transaction so far. Rows that were only counted, or read from
    /// an index, do not count. Tests use it to check the cost of a function.
    pub fn rows_read(&self) -> u64 {
        self.reader.rows_visited()
    }

    /// Returns the number of index entries read without their rows in this transaction so far. Tests use it to check
    /// the cost of a function.
    pub fn keys_read(&self) -> u64 {
        self.reader.keys_visited()
    }
}

impl std::ops::Deref for DbMut {
    type Target = Db;
    fn deref(&self) -> &Db {
        &self.db
    }
}

impl DbMut {
    /// Creates a reader and writer. New rows get ids from `ids` and the creation time `now`.
    pub fn new(transaction: Rc<Transaction>, limits: ReadLimits, ids: Arc<IdGenerator>, now: Millis) -> Self {
        Self { db: Db::new(transaction.clone(), limits), transaction, ids, now }
    }

    /// Returns the untyped transaction, which reads and writes values and plans.
    pub fn writer(&mut self) -> &Transaction {
        &self.transaction
    }

    /// Inserts a row and returns its id.
    ///
    /// # Errors
    /// [`StoreError::UniqueViolation`]: a unique index has a row with the same keys.
    pub fn insert<T: Table>(&mut self, row: T) -> Result<Id<T>, StoreError> {
        let id = self.ids.next(self.now);
        self.transaction.insert(T::DEF, id, self.now.0, &row.encode())?;
        Ok(Id::from_bits(id))
    }

    /// Inserts a row whose unique keys no stored row has, as the caller knows, and returns it. The database is not
    /// searched for the keys. If a row has them nevertheless, the transaction fails at its commit.
    ///
    /// # Errors
    /// [`StoreError::UniqueViolation`]: a row that is not committed yet has the same keys.
    #[doc(hidden)]
    pub fn insert_known_unique<T: Table>(&mut self, row: T) -> Result<Doc<T>, StoreError> {
        let id = self.ids.next(self.now);
        self.transaction.insert_known_unique(T::DEF, id, self.now.0, &row.encode())?;
        Ok(Doc::new(Id::from_bits(id), self.now, row))
    }

    /// Inserts a row, or returns the existing row with the same keys in the unique index `index`.
    ///
    /// # Errors
    /// [`StoreError::UniqueViolation`]: another unique index has a row with the same keys.
    pub fn insert_unique<I: Unique>(&mut self, index: I, row: I::Table) -> Result<Inserted<I::Table>, StoreError> {
        let _ = index;
        let def = <I::Table as Table>::DEF;
        let values = row.encode();
        let mut plan = Plan::new(def, Some(I::DEF));
        plan.eq = I::DEF.keys.iter().map(|key| values[key.field].clone()).collect();
        plan.limit = Some(1);
        // A row that is not in the index has no conflict there.
        if !plan.eq.contains(&Value::Null)
            && I::DEF.when.is_none_or(|when| when.holds(def, &values))
            && let Some(existing) = self.db.rows(&plan)?.pop()
        {
            return Ok(Inserted::Existing(existing));
        }
        let id = self.ids.next(self.now);
        self.transaction.insert(def, id, self.now.0, &values)?;
        Ok(Inserted::New(Doc::new(Id::from_bits(id), self.now, row)))
    }

    /// Changes fields of a row, writes only the changed values, and returns the new row.
    ///
    /// # Errors
    /// [`StoreError::Missing`]: there is no such row; [`StoreError::UniqueViolation`].
    pub fn patch<T: Table>(&mut self, id: Id<T>, change: impl FnOnce(&mut T)) -> Result<Doc<T>, StoreError> {
        let old = self.db.get(id)?.ok_or_else(|| missing(id))?;
        self.patch_doc(old, change)
    }

    /// Like [`DbMut::patch`], for a row that this transaction has just read: the row is not read again.
    ///
    /// # Errors
    /// As [`DbMut::patch`].
    pub fn patch_doc<T: Table>(&mut self, mut doc: Doc<T>, change: impl FnOnce(&mut T)) -> Result<Doc<T>, StoreError> {
        let before = doc.encode();
        change(doc.fields_mut());
        let changes = doc.changes(&before);
        if !changes.is_empty() && !self.transaction.update(T::DEF, doc.id().bits(), &before, &changes)? {
            return Err(missing(doc.id()));
        }
        Ok(doc)
    }

    /// Overwrites all fields of a row.
    ///
    /// # Errors
    /// As [`DbMut::patch`].
    pub fn replace<T: Table>(&mut self, id: Id<T>, row: T) -> Result<(), StoreError> {
        self.patch(id, |old| *old = row).map(|_| ())
    }

    /// Deletes a row. Returns true if it existed.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn delete<T: Table>(&mut self, id: Id<T>) -> Result<bool, StoreError> {
        self.transaction.delete(T::DEF, id.bits())
    }
}

impl Db {
    pub(super) fn rows<T: Table>(&self, plan: &Plan) -> Result<Vec<Doc<T>>, StoreError> {
        let mut rows = Vec::with_capacity(plan.limit.map_or(0, |limit| limit.min(ROWS_FORESEEN) as usize));
        self.reader.select(plan, &mut |row| {
            rows.push(Doc::read(row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(rows)
    }
}

fn missing<T: Table>(id: Id<T>) -> StoreError {
    StoreError::Missing { table: T::DEF.name, id: id.to_string() }
}
