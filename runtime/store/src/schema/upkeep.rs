//! Updates the database to the schema of the code, in one transaction of the engine.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::ControlFlow;

use tracing::{debug, info};

use super::catalog::{Catalog, Extent};
use super::definition::Definition;
use super::difference::{Described, Difference, Step, difference};
use super::releases::{hindrances, is_older};
use super::table::TableDef;
use crate::error::{OpenError, StoreError};
use crate::fields::Fields;
use crate::overlay::{Base, RowWrite};
use crate::packed_row::PackedRow;
use crate::query::{Plan, index_key};
use crate::value::{Value, ValueRef};
use convoke_core::clock::Millis;
use convoke_core::id;

/// A transaction that changes the schema.
pub trait Upkeep {
    /// Returns the current schema of the database.
    fn catalog(&self) -> &dyn Catalog;

    /// Takes a step, except [`Step::Fill`].
    ///
    /// # Errors
    /// Errors of the engine.
    fn take(&self, step: &Step) -> Result<Stepped, OpenError>;

    /// Returns the rows of the same transaction.
    fn base(&self) -> &dyn Base;

    /// Records the new schema with this version number, and the changes as text.
    ///
    /// # Errors
    /// Errors of the engine.
    fn keep(&self, version: i64, at: Millis, changes: &str, definition: &str) -> Result<(), OpenError>;
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// The step is done.
    Done,
    /// Rows have duplicate keys in the unique index, and nothing changed.
    Collides,
}

/// The result of an update of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The schema is that of the code; these changes were made.
    All(Vec<String>),
    /// These changes were made and must be committed; then the update must be called again.
    Part(Vec<String>),
    /// Not everything was changed, for this reason.
    Rejected {
        /// The reason, in plain words.
        reason: String,
        /// True if anything was changed.
        changed: bool,
    },
}

impl Applied {
    /// Returns true if there is anything to commit.
    pub fn changed(&self) -> bool {
        matches!(self, Applied::All(_) | Applied::Part(_) | Applied::Rejected { changed: true, .. })
    }

    /// Returns the difference that keeps the store closed, if there is one.
    pub fn into_difference(self) -> Option<String> {
        match self {
            Applied::All(_) | Applied::Part(_) => None,
            Applied::Rejected { reason, .. } => Some(reason),
        }
    }
}

/// Applies the additions of the code. If any change is rejected, nothing is applied to the application's tables. The
/// engine commits if [`Applied::changed`]; otherwise, and after an error, it rolls back.
///
/// # Errors
/// Errors of the engine.
pub fn bring_up_to_date(
    upkeep: &dyn Upkeep,
    tables: &[&'static TableDef],
    extent: Extent,
    now: Millis,
) -> Result<Applied, OpenError> {
    let (version, stored) = upkeep.catalog().stored()?;
    if is_older(upkeep.catalog(), &stored, tables)? {
        let reason = hindrances(upkeep.catalog(), &stored, tables)?.join("; ");
        info!(version, "the schema is that of a newer release, which this program leaves as it is");
        let is_served = reason.is_empty();
        return Ok(if is_served { Applied::All(Vec::new()) } else { Applied::Rejected { reason, changed: false } });
    }
    let difference = difference(upkeep.catalog(), &stored, tables)?;
    if extent == Extent::Whole && !difference.refused.is_empty() {
        return refuse(upkeep, version, &stored, tables, difference.refused.join("; "), now);
    }
    if let Some(first) = difference.first_part(upkeep.catalog(), &stored, extent)? {
        if let Some(collision) = take_all(upkeep, &first)? {
            return Ok(Applied::Rejected { reason: collision, changed: false });
        }
        return Ok(Applied::Part(keep(upkeep, version, first, now)?));
    }
    if extent == Extent::Part {
        return part(upkeep, version, &stored, difference, now);
    }
    if version > 0 && difference.steps.is_empty() && difference.result == stored {
        return Ok(Applied::All(Vec::new()));
    }
    if let Some(collision) = take_all(upkeep, &difference)? {
        return Ok(Applied::Rejected { reason: collision, changed: false });
    }
    Ok(Applied::All(keep(upkeep, version, difference, now)?))
}

/// Returns the steps that [`bring_up_to_date`] would take now; empty if it would reject a change. For an engine that
/// prepares some steps concurrently with writes, before the transaction.
///
/// # Errors
/// Errors of the engine.
pub fn steps(catalog: &dyn Catalog, tables: &[&'static TableDef], extent: Extent) -> Result<Vec<Step>, OpenError> {
    let (_, stored) = catalog.stored()?;
    if is_older(catalog, &stored, tables)? {
        return Ok(Vec::new());
    }
    let Difference { steps, refused, .. } = difference(catalog, &stored, tables)?;
    let is_refused = extent == Extent::Whole && !refused.is_empty();
    Ok(if is_refused { Vec::new() } else { steps.into_iter().map(|described| described.step).collect() })
}

/// Logs the changes after their commit.
pub fn log_changes(applied: &Applied) {
    let (Applied::All(changes) | Applied::Part(changes)) = applied else { return };
    if !changes.is_empty() {
        let tables_added = changes.iter().filter(|what| what.ends_with(" added") && !what.contains(": ")).count();
        info!(changes = changes.len(), tables_added, "the schema was brought up to date");
        changes.iter().for_each(|change| debug!("schema: {change}"));
    }
}

/// Takes all possible steps. Rejected changes, and indexes with duplicate keys, keep their state.
fn part(
    upkeep: &dyn Upkeep,
    version: i64,
    stored: &Definition,
    mut difference: Difference,
    now: Millis,
) -> Result<Applied, OpenError> {
    let mut taken = Vec::new();
    for described in std::mem::take(&mut difference.steps) {
        match (take(upkeep, &described.step)?, &described.step) {
            (Stepped::Done, _) => taken.push(described),
            (Stepped::Collides, Step::CreateIndex(table, index)) => {
                difference.refused.push(collision(upkeep, &described));
                if let Some(table) = difference.result.tables.get_mut(table.name) {
                    table.indexes.remove(index.name);
                }
            }
            (Stepped::Collides, step) => return Err(OpenError::Engine(format!("rows collide after {step:?}"))),
        }
    }
    let reason = difference.refused.join("; ");
    let (is_whole, changed) = (difference.refused.is_empty(), !taken.is_empty() || difference.result != *stored);
    difference.steps = taken;
    let changes = if changed { keep(upkeep, version, difference, now)? } else { Vec::new() };
    Ok(if is_whole { Applied::All(changes) } else { Applied::Rejected { reason, changed } })
}

/// Largest number of rows that are compared to name two of those that collide.
const COMPARED_MAX: u64 = 1_000_000;

fn collision(upkeep: &dyn Upkeep, described: &Described) -> String {
    // The reason is reported without them, too: fields of the code may still be missing in the database.
    let pair = colliding(upkeep.base(), &described.step).ok().flatten();
    let pair = pair.map(|[one, other]| format!(", such as {one} and {other}")).unwrap_or_default();
    format!("{}, but rows collide in it{pair}; write a migration", described.what)
}

/// Returns the ids of two rows with the same keys in the index of a step.
fn colliding(base: &dyn Base, step: &Step) -> Result<Option<[String; 2]>, StoreError> {
    let Step::CreateIndex(table, index) = step else { return Ok(None) };
    let mut plan = Plan::new(table, None);
    plan.limit = Some(COMPARED_MAX);
    let hasher = RandomState::new();
    let (mut seen, mut found) = (HashMap::<u64, u128>::new(), None);
    base.select(&plan, &mut |row| {
        let id = row.id()?;
        let keys = index_key::of_unique_row(table, index, |place| row.value(place).unwrap_or(ValueRef::Null));
        let other = keys.and_then(|keys| seen.insert(hasher.hash_one(keys), id));
        found = other.map(|other| [other, id]);
        Ok(if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    let text = |bits: u128| format!("{}_{}", table.prefix, String::from_utf8_lossy(&id::encode(bits)));
    Ok(found.map(|pair| pair.map(text)))
}

/// The application's tables keep their state, and the old code can still serve them. The tables of the runtime change:
/// the operator needs them for a migration of the others.
fn refuse(
    upkeep: &dyn Upkeep,
    version: i64,
    stored: &Definition,
    tables: &[&'static TableDef],
    reason: String,
    now: Millis,
) -> Result<Applied, OpenError> {
    let is_own = |name: &str| name.starts_with('_');
    let own: Vec<_> = tables.iter().copied().filter(|table| is_own(table.name)).collect();
    let (held, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
        stored.tables.clone().into_iter().partition(|(name, _)| is_own(name));
    let held = Definition { tables: held };
    let mut difference = difference(upkeep.catalog(), &held, &own)?;
    let fits = difference.refused.is_empty() && !difference.steps.is_empty();
    if !fits || take_all(upkeep, &difference)?.is_some() {
        return Ok(Applied::Rejected { reason, changed: false });
    }
    difference.result.tables.extend(others);
    keep(upkeep, version, difference, now)?;
    Ok(Applied::Rejected { reason, changed: true })
}

/// Records the new schema; the changes as text.
fn keep(upkeep: &dyn Upkeep, version: i64, difference: Difference, now: Millis) -> Result<Vec<String>, OpenError> {
    let definition = serde_json::to_string(&difference.result).map_err(|error| OpenError::Engine(error.to_string()))?;
    let changes = difference.words();
    upkeep.keep(version + 1, now, &changes.join("\n"), &definition)?;
    Ok(changes)
}

/// The schema of a database in comparison with the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// Number of schema changes of the database, including its creation.
    pub version: i64,
    /// Time of the last change, in milliseconds since the epoch.
    pub applied_at: i64,
    /// Changes of the next start.
    pub pending: Vec<String>,
    /// Changes that a start cannot make, in plain words; they keep the store closed.
    pub refused: Vec<String>,
}

/// Compares a database with the tables in code without changing it. `applied_at` is the time of its last schema change.
///
/// # Errors
/// Errors of the engine.
pub fn inspect(catalog: &dyn Catalog, tables: &[&'static TableDef], applied_at: i64) -> Result<Inspected, OpenError> {
    let (version, stored) = catalog.stored()?;
    if is_older(catalog, &stored, tables)? {
        let refused = hindrances(catalog, &stored, tables)?;
        return Ok(Inspected { version, applied_at, pending: Vec::new(), refused });
    }
    let difference = difference(catalog, &stored, tables)?;
    Ok(Inspected { version, applied_at, pending: difference.words(), refused: difference.refused })
}

/// Takes the steps. Duplicate keys in a new unique index are a difference, not an error.
fn take_all(upkeep: &dyn Upkeep, difference: &Difference) -> Result<Option<String>, OpenError> {
    for described in &difference.steps {
        if take(upkeep, &described.step)? == Stepped::Collides {
            return Ok(Some(collision(upkeep, described)));
        }
    }
    Ok(None)
}

fn take(upkeep: &dyn Upkeep, step: &Step) -> Result<Stepped, OpenError> {
    match step {
        Step::Fill(table, place) => {
            let field = table.fields[*place].name;
            upkeep.catalog().begins(&format!("table {}: filling field {field}", table.name));
            fill(upkeep.base(), table, *place).map_err(OpenError::from)
        }
        step => {
            if let Step::CreateIndex(table, index) = step
                && upkeep.catalog().is_large(table.name)?
            {
                let step = format!("table {}: making index {}", table.name, index.name);
                info!("{step}");
                upkeep.catalog().begins(&step);
            }
            upkeep.take(step)
        }
    }
}

/// Number of rows that are read together while a default is written into them.
const ROWS: u64 = 1_000;

/// Writes the default of a field into the rows without a value.
fn fill(base: &dyn Base, table: &'static TableDef, place: usize) -> Result<Stepped, StoreError> {
    let Some(default) = table.fields[place].default else { return Ok(Stepped::Done) };
    let (fields, change) = (table.fields.len(), [(place, default())]);
    let mut plan = Plan::new(table, None);
    plan.limit = Some(ROWS);
    loop {
        let (mut writes, mut last) = (Vec::new(), None);
        base.select(&plan, &mut |row| {
            let id = row.id()?;
            if row.value(place)? == ValueRef::Null {
                let filled = row.packed(fields, PackedRow::BYTES_MAX)?.and_then(|row| row.with(fields, &change));
                let filled = filled.ok_or_else(|| StoreError::Engine("a row has at most 4 GiB".to_owned()))?;
                writes.push(RowWrite::update(table, id, filled, Fields::of(&change)));
            }
            last = Some(id);
            Ok(ControlFlow::Continue(()))
        })?;
        match base.apply(&writes) {
            Ok(()) => {}
            Err(StoreError::UniqueViolation { .. }) => return Ok(Stepped::Collides),
            Err(error) => return Err(error),
        }
        match last {
            Some(id) => plan.after = Some((Vec::<Value>::new(), id)),
            None => return Ok(Stepped::Done),
        }
    }
}
