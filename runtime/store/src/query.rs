//! The database as a function sees it: reads that rustc checks field by field, and writes.
//!
//! A query names an index, gives its keys in order (`eq`), at most one `any` or `range` for the next one, and ends in
//! `take`, `page`, `first`, `unique`, `count` or `encode`. Every ending is one statement.

use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::rc::Rc;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::error::StoreError;
use super::pages::{PageEnds, Stretch};
use super::table::{Doc, Field, Index, KeyOf, Keys, Table, TableDef, Unique, json, write_id};
use super::transaction::{Plan, Reader, Row, Writer};
use super::value::Value;
use convoke_core::clock::Millis;
use convoke_core::id::{Id, IdGenerator};
use convoke_core::limits::Limits;

/// For so many rows there is room before the first is read, if that many may come.
const ROWS_FORESEEN: u64 = 64;

/// Reads within one transaction.
#[derive(Clone)]
pub struct Db {
    pub(crate) reader: Rc<dyn Reader>,
    pub(crate) limits: ReadLimits,
    /// Of a query that is run again and again for the same client.
    pub(crate) page_ends: Option<Rc<PageEnds>>,
}

/// How large a read may become.
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

/// Reads and writes within one transaction. Writes take `&mut self`: nothing can be written while rows are visited.
pub struct DbMut {
    db: Db,
    writer: Rc<dyn Writer>,
    ids: Arc<IdGenerator>,
    now: Millis,
}

/// What [`DbMut::insert_unique`] did.
#[derive(Clone, Debug)]
pub enum Inserted<T: Table> {
    /// The row is new.
    New(Doc<T>),
    /// A row with the same unique keys stood there.
    Existing(Doc<T>),
}

impl<T: Table> Inserted<T> {
    /// The row that stands there now.
    pub fn into_doc(self) -> Doc<T> {
        match self {
            Inserted::New(doc) | Inserted::Existing(doc) => doc,
        }
    }
}

impl Db {
    /// Reads through `reader`, within these bounds.
    pub fn new(reader: Rc<dyn Reader>, limits: ReadLimits) -> Self {
        Self { reader, limits, page_ends: None }
    }

    /// The same reads; pages end where they ended in the query's first run.
    #[must_use]
    pub fn with_page_ends(self, ends: Rc<PageEnds>) -> Self {
        Self { page_ends: Some(ends), ..self }
    }

    /// The transaction itself, beneath the types: values and plans, to read.
    pub fn reader(&self) -> &dyn Reader {
        &*self.reader
    }

    /// The row with this id.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn get<T: Table>(&self, id: Id<T>) -> Result<Option<Doc<T>>, StoreError> {
        let mut found = None;
        self.reader.get(T::DEF, id.bits(), &mut |row| {
            found = Some(decode(row)?);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// The rows with these ids, each at the place of its id; one statement.
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
            let doc: Doc<T> = decode(row)?;
            found.insert(doc.id().bits(), doc);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(bits.iter().map(|id| found.get(id).cloned()).collect())
    }

    /// Starts a query on an index: `db.query(Participant::by_user).eq(user).take(10)`.
    pub fn query<I: Index>(&self, _index: I) -> Query<'_, I::Table, I, I::Fields> {
        Query::new(self, Plan::new(I::Table::DEF, Some(I::DEF)))
    }

    /// How many statements ran in this transaction so far: for tests of what a function costs.
    pub fn statements(&self) -> u64 {
        self.reader.statements()
    }

    /// How many rows were read whole in this transaction so far, not those that were counted or of which an index was
    /// read: for tests of what a function costs.
    pub fn rows_read(&self) -> u64 {
        self.reader.rows_visited()
    }

    /// Of how many rows an index was read in this transaction so far, and not the rows themselves: for tests of what a
    /// function costs.
    pub fn keys_read(&self) -> u64 {
        self.reader.keys_visited()
    }

    /// Starts a query on all rows of a table, by id. Its cost grows with the table, hence a name of its own.
    pub fn scan<T: Table>(&self) -> Query<'_, T, (), ()> {
        Query::new(self, Plan::new(T::DEF, None))
    }
}

impl std::ops::Deref for DbMut {
    type Target = Db;
    fn deref(&self) -> &Db {
        &self.db
    }
}

impl DbMut {
    /// Reads and writes through `writer`; new rows have ids of `ids` and were made at `now`.
    pub fn new(writer: Rc<dyn Writer>, limits: ReadLimits, ids: Arc<IdGenerator>, now: Millis) -> Self {
        Self { db: Db::new(writer.clone(), limits), writer, ids, now }
    }

    /// The transaction itself, beneath the types: values and plans, to write.
    pub fn writer(&mut self) -> &dyn Writer {
        &*self.writer
    }

    /// Adds a row and returns its id.
    ///
    /// # Errors
    /// [`StoreError::UniqueViolation`] if a unique index refuses it.
    pub fn insert<T: Table>(&mut self, row: T) -> Result<Id<T>, StoreError> {
        let id = self.ids.next(self.now);
        self.writer.insert(T::DEF, id, self.now.0, &row.encode())?;
        Ok(Id::from_bits(id))
    }

    /// Adds a row, or returns the one that stands there with the same keys of the unique index `index`.
    ///
    /// # Errors
    /// [`StoreError::UniqueViolation`] if another unique index refuses it.
    pub fn insert_unique<I: Unique>(&mut self, index: I, row: I::Table) -> Result<Inserted<I::Table>, StoreError> {
        let _ = index;
        let def = <I::Table as Table>::DEF;
        let values = row.encode();
        let mut plan = Plan::new(def, Some(I::DEF));
        plan.eq = I::DEF.keys.iter().map(|key| values[key.field].clone()).collect();
        plan.limit = Some(1);
        // A row that is not in the index collides with none that is.
        if !plan.eq.contains(&Value::Null)
            && I::DEF.when.is_none_or(|when| when.holds(def, &values))
            && let Some(existing) = self.db.rows(&plan)?.pop()
        {
            return Ok(Inserted::Existing(existing));
        }
        let id = self.ids.next(self.now);
        self.writer.insert(def, id, self.now.0, &values)?;
        Ok(Inserted::New(Doc::new(Id::from_bits(id), self.now, row)))
    }

    /// Changes fields of a row; writes only what differs. Returns the row as it is now.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is no such row; [`StoreError::UniqueViolation`].
    pub fn patch<T: Table>(&mut self, id: Id<T>, change: impl FnOnce(&mut T)) -> Result<Doc<T>, StoreError> {
        let old = self.db.get(id)?.ok_or_else(|| missing(id))?;
        self.patch_doc(old, change)
    }

    /// As [`DbMut::patch`], for a row that was just read in this transaction: saves reading it again.
    ///
    /// # Errors
    /// As [`DbMut::patch`].
    pub fn patch_doc<T: Table>(&mut self, mut doc: Doc<T>, change: impl FnOnce(&mut T)) -> Result<Doc<T>, StoreError> {
        let before = doc.encode();
        change(doc.fields_mut());
        let changes = doc.changes(&before);
        if !changes.is_empty() && !self.writer.update(T::DEF, doc.id().bits(), &before, &changes)? {
            return Err(missing(doc.id()));
        }
        Ok(doc)
    }

    /// Writes all fields of a row anew.
    ///
    /// # Errors
    /// As [`DbMut::patch`].
    pub fn replace<T: Table>(&mut self, id: Id<T>, row: T) -> Result<(), StoreError> {
        self.patch(id, |old| *old = row).map(|_| ())
    }

    /// Removes a row; says whether there was one.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn delete<T: Table>(&mut self, id: Id<T>) -> Result<bool, StoreError> {
        self.writer.delete(T::DEF, id.bits())
    }
}

impl Db {
    fn rows<T: Table>(&self, plan: &Plan) -> Result<Vec<Doc<T>>, StoreError> {
        let mut rows = Vec::with_capacity(plan.limit.map_or(0, |limit| limit.min(ROWS_FORESEEN) as usize));
        self.reader.select(plan, &mut |row| {
            rows.push(decode(row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(rows)
    }
}

pub(crate) fn decode<T: Table>(row: &dyn Row) -> Result<Doc<T>, StoreError> {
    Ok(Doc::new(Id::from_bits(row.id()?), Millis(row.creation_time()?), T::decode(row)?))
}

fn missing<T: Table>(id: Id<T>) -> StoreError {
    StoreError::Missing { table: T::DEF.name, id: id.to_string() }
}

impl Plan {
    /// All rows of a table, in the order of an index or of `_id`.
    pub fn new(table: &'static TableDef, index: Option<&'static super::table::IndexDef>) -> Self {
        Self {
            table,
            index,
            eq: Vec::new(),
            any: None,
            range: None,
            reverse: false,
            limit: None,
            keys_only: false,
            after: None,
        }
    }
}

/// A query under way: a table `T`, an index `I`, and the list of its fields that have no key yet.
#[must_use = "a query does nothing until it ends in take, page, first, unique, count or encode"]
pub struct Query<'db, T, I, Rest> {
    pub(crate) db: &'db Db,
    pub(crate) plan: Plan,
    table: PhantomData<fn() -> T>,
    index: PhantomData<fn() -> I>,
    rest: PhantomData<fn() -> Rest>,
}

/// What is left of an index after a `range` or `any`: nothing that a key could be given for.
pub struct Ranged;

/// In which direction an index is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As the index lies: ascending, unless a key of it is `desc`.
    Asc,
    /// From its end.
    Desc,
}

impl<'db, T: Table, I, Rest> Query<'db, T, I, Rest> {
    fn new(db: &'db Db, plan: Plan) -> Self {
        Self { db, plan, table: PhantomData, index: PhantomData, rest: PhantomData }
    }

    fn retyped<NewRest>(self) -> Query<'db, T, I, NewRest> {
        Query::new(self.db, self.plan)
    }

    /// Sets the direction; [`Order::Asc`] by default.
    pub fn order(mut self, order: Order) -> Self {
        self.plan.reverse = order == Order::Desc;
        self
    }

    /// The first `rows_max` rows.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn take(mut self, rows_max: usize) -> Result<Vec<Doc<T>>, StoreError> {
        self.plan.limit = Some(rows_max as u64);
        self.db.rows(&self.plan)
    }

    /// The first row.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn first(self) -> Result<Option<Doc<T>>, StoreError> {
        Ok(self.take(1)?.pop())
    }

    /// How many rows there are. Costs a walk over them in the index.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn count(self) -> Result<u64, StoreError> {
        self.db.reader.count(&self.plan)
    }

    /// At most `rows_max` rows behind `cursor`, and the cursor of the page after them. A page also ends when its rows
    /// are larger than the limit of a page, so that it always fits a response.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] if the cursor is not of this query.
    pub fn page(mut self, cursor: Option<&Cursor>, rows_max: usize) -> Result<Page<Doc<T>>, StoreError> {
        let fingerprint = self.plan.fingerprint();
        if let Some(cursor) = cursor {
            self.plan.after = Some(cursor.place(&self.plan, fingerprint)?);
        }
        let bytes_max = self.db.limits.page_bytes_max;
        let Stretch { rows, mut cursors, is_cut } = self.stretch(None, fingerprint, rows_max, bytes_max)?;
        Ok(Page { items: rows, cursor: cursors.pop().filter(|_| is_cut) })
    }

    /// At most `rows_max` rows as JSON, written inside the snapshot without making Rust values of them.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] beyond the limit of a response.
    pub fn encode(mut self, rows_max: usize) -> Result<Encoded<Vec<Doc<T>>>, StoreError> {
        self.plan.limit = Some(rows_max as u64);
        let mut json = vec![b'['];
        let limit = self.db.limits.encoded_bytes_max;
        self.db.reader.select(&self.plan, &mut |row| {
            if json.len() > 1 {
                json.push(b',');
            }
            write_row(T::DEF, row, &mut json)?;
            if json.len() > limit { Err(StoreError::TooLarge { limit }) } else { Ok(ControlFlow::Continue(())) }
        })?;
        json.push(b']');
        Encoded::new(json)
    }
}

/// What an index says of a row: the id and, as a list, the values of its keys.
pub type Keyed<T, I> = (Id<T>, <<I as Index>::Fields as Keys>::Values);

impl<T: Table, I: Index<Table = T, Fields: Keys>, Rest> Query<'_, T, I, Rest> {
    /// The ids and keys of the first `rows_max` rows, out of the index: what else a row holds costs nothing, however
    /// large it is. For an index that is not `unique`; one that is does not hold the ids.
    ///
    /// ```text
    /// for (id, (user, (status, ()))) in db.query(QueueEntry::by_user_status).eq(user).keys(100)? { … }
    /// ```
    ///
    /// # Errors
    /// A failure of the store.
    pub fn keys(mut self, rows_max: usize) -> Result<Vec<Keyed<T, I>>, StoreError> {
        self.plan.limit = Some(rows_max as u64);
        self.plan.keys_only = true;
        let mut found = Vec::new();
        self.db.reader.select(&self.plan, &mut |row| {
            found.push((Id::from_bits(row.id()?), I::Fields::read(row, T::DEF, I::DEF.keys)?));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }
}

impl<'db, T: Table, I: Index<Table = T>, F: Field, Rest> Query<'db, T, I, (F, Rest)> {
    /// The next key of the index has this value; `None` matches the rows without one.
    pub fn eq<K: KeyOf<F::Type>>(mut self, key: K) -> Query<'db, T, I, Rest> {
        self.plan.eq.push(key.key_of());
        self.retyped()
    }

    /// The next key has one of these values; rows come in the index's order, in one statement.
    pub fn any<K: KeyOf<F::Type>>(mut self, keys: impl IntoIterator<Item = K>) -> Query<'db, T, I, Ranged> {
        let mut values: Vec<Value> = keys.into_iter().map(|key| key.key_of()).collect();
        // Lists may be long: asking each time whether a value is there would take the square of their length.
        let mut seen = HashSet::with_capacity(values.len());
        values.retain(|value| seen.insert(value.identity()));
        self.plan.any = Some(values);
        self.retyped()
    }

    /// The next key lies within these bounds (rows without a value are outside any bound).
    pub fn range<K: KeyOf<F::Type>>(mut self, bounds: impl RangeBounds<K>) -> Query<'db, T, I, Ranged> {
        let bound = |bound: Bound<&K>| bound.map(KeyOf::key_of);
        self.plan.range = Some((bound(bounds.start_bound()), bound(bounds.end_bound())));
        self.retyped()
    }
}

impl<T: Table, I: Index<Table = T>> Query<'_, T, I, ()> {
    /// The one row with these keys.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn unique(self) -> Result<Option<Doc<T>>, StoreError>
    where
        I: Unique,
    {
        self.first()
    }
}

pub(crate) fn write_row(table: &'static TableDef, row: &dyn Row, out: &mut Vec<u8>) -> Result<(), StoreError> {
    out.extend_from_slice(b"{\"_id\":");
    write_id(table.prefix, row.id()?, out);
    out.extend_from_slice(b",\"_creationTime\":");
    json(&row.creation_time()?, out)?;
    for (place, field) in table.fields.iter().enumerate() {
        let value = row.value(place)?;
        if field.retired || value == super::value::ValueRef::Null {
            continue;
        }
        out.extend_from_slice(b",\"");
        out.extend_from_slice(field.name.as_bytes());
        out.extend_from_slice(b"\":");
        (field.write_json)(value, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Rows that are JSON already: serializes as a `V` would, and cannot be read in Rust. For `serde_json` only.
#[derive(Clone, Debug)]
pub struct Encoded<V> {
    json: String,
    of: PhantomData<fn() -> V>,
}

impl<V> Encoded<V> {
    fn new(json: Vec<u8>) -> Result<Self, StoreError> {
        let json = String::from_utf8(json).map_err(|error| StoreError::Engine(error.to_string()))?;
        Ok(Self { json, of: PhantomData })
    }

    /// The JSON.
    pub fn get(&self) -> &str {
        &self.json
    }
}

/// Under this name `serde_json` takes a text as JSON (it is how its `RawValue` serializes). A `RawValue` itself can
/// only be made by reading the whole text again, a tenth of the cost of a list.
const RAW: &str = "$serde_json::private::RawValue";

impl<V> Serialize for Encoded<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut raw = serializer.serialize_struct(RAW, 1)?;
        raw.serialize_field(RAW, &self.json)?;
        raw.end()
    }
}

impl<V: JsonSchema> JsonSchema for Encoded<V> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        V::schema_name()
    }
    fn schema_id() -> std::borrow::Cow<'static, str> {
        V::schema_id()
    }
    fn inline_schema() -> bool {
        V::inline_schema()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        V::json_schema(generator)
    }
}

/// A part of a list, and where the next part begins.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageOf{T}")]
pub struct Page<T> {
    /// The rows of this part.
    pub items: Vec<T>,
    /// What to send for the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Cursor")]
    pub cursor: Option<Cursor>,
}

impl<T> Page<T> {
    /// The same page of other items.
    pub fn map<U>(self, of: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(of).collect(), cursor: self.cursor }
    }
}

/// Where a page ended: opaque to clients, bound to its query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Cursor(String);

/// What a cursor holds, before base64.
#[derive(Serialize, Deserialize)]
struct Place(u64, Vec<PlaceValue>, String);

/// Stands in the place of an id: behind all rows.
const END: &str = "end";

/// Where a cursor stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stop {
    /// Behind the row with these keys and this id.
    At(Vec<Value>, u128),
    /// Behind all rows, also those that come later.
    End,
}

#[derive(Serialize, Deserialize)]
enum PlaceValue {
    #[serde(rename = "n")]
    Null,
    #[serde(rename = "b")]
    Bool(bool),
    #[serde(rename = "i")]
    Integer(i64),
    #[serde(rename = "f")]
    Float(f64),
    #[serde(rename = "t")]
    Text(String),
    #[serde(rename = "x")]
    Bytes(Vec<u8>),
    #[serde(rename = "d")]
    Id(String),
}

impl Cursor {
    /// Behind this row of a plan's, for readers that have no types.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn behind(plan: &Plan, row: &dyn Row) -> Result<Self, StoreError> {
        Self::at(plan, plan.fingerprint(), row)
    }

    /// Where it stands in a plan, as [`Plan::after`] has it.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] if it belongs to another one.
    pub fn place_in(&self, plan: &Plan) -> Result<(Vec<Value>, u128), StoreError> {
        self.place(plan, plan.fingerprint())
    }

    pub(crate) fn at(plan: &Plan, fingerprint: u64, row: &dyn Row) -> Result<Self, StoreError> {
        let keys = plan.index.map_or(&[][..], |index| index.keys);
        let values = keys
            .iter()
            .map(|key| row.value(key.field).map(|value| PlaceValue::from(value.to_value())))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of(&Place(fingerprint, values, format!("{:x}", row.id()?))))
    }

    /// Behind all rows.
    pub(crate) fn end(fingerprint: u64) -> Self {
        Self::of(&Place(fingerprint, Vec::new(), END.to_owned()))
    }

    fn of(place: &Place) -> Self {
        Self(URL_SAFE_NO_PAD.encode(serde_json::to_vec(place).expect("a place is JSON")))
    }

    fn place(&self, plan: &Plan, fingerprint: u64) -> Result<(Vec<Value>, u128), StoreError> {
        match self.stop(plan, fingerprint)? {
            Stop::At(values, id) => Ok((values, id)),
            Stop::End => Err(StoreError::BadCursor),
        }
    }

    pub(crate) fn stop(&self, plan: &Plan, fingerprint: u64) -> Result<Stop, StoreError> {
        let json = URL_SAFE_NO_PAD.decode(&self.0).map_err(|_| StoreError::BadCursor)?;
        let Place(made_by, values, id) = serde_json::from_slice(&json).map_err(|_| StoreError::BadCursor)?;
        if made_by == fingerprint && values.is_empty() && id == END {
            return Ok(Stop::End);
        }
        let keys = plan.index.map_or(0, |index| index.keys.len());
        if made_by != fingerprint || values.len() != keys {
            return Err(StoreError::BadCursor);
        }
        let id = u128::from_str_radix(&id, 16).map_err(|_| StoreError::BadCursor)?;
        let values = values.into_iter().map(Value::try_from).collect::<Result<_, _>>()?;
        Ok(Stop::At(values, id))
    }
}

impl From<Value> for PlaceValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => PlaceValue::Null,
            Value::Bool(value) => PlaceValue::Bool(value),
            Value::Integer(value) => PlaceValue::Integer(value),
            Value::Float(value) => PlaceValue::Float(value),
            Value::Text(value) => PlaceValue::Text(value),
            Value::Bytes(value) => PlaceValue::Bytes(value),
            Value::Id(value) => PlaceValue::Id(format!("{value:x}")),
        }
    }
}

impl TryFrom<PlaceValue> for Value {
    type Error = StoreError;
    fn try_from(value: PlaceValue) -> Result<Self, StoreError> {
        Ok(match value {
            PlaceValue::Null => Value::Null,
            PlaceValue::Bool(value) => Value::Bool(value),
            PlaceValue::Integer(value) => Value::Integer(value),
            PlaceValue::Float(value) => Value::Float(value),
            PlaceValue::Text(value) => Value::Text(value),
            PlaceValue::Bytes(value) => Value::Bytes(value),
            PlaceValue::Id(value) => Value::Id(u128::from_str_radix(&value, 16).map_err(|_| StoreError::BadCursor)?),
        })
    }
}

impl Plan {
    /// A number that two plans share only if a cursor of one fits the other: it names the table, the index, the
    /// direction and the fixed keys.
    pub(crate) fn fingerprint(&self) -> u64 {
        use sha2::{Digest, Sha256};
        let shape = format!(
            "{}/{}/{}/{:?}/{:?}/{:?}",
            self.table.name,
            self.index.map_or("_id", |index| index.name),
            self.reverse,
            self.eq,
            self.any,
            self.range
        );
        let digest = Sha256::digest(shape);
        u64::from_le_bytes(digest[..8].try_into().expect("a SHA-256 digest has 32 bytes"))
    }
}
