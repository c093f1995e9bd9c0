//! Rows whose values no longer fit the types in code, and the migration that they need.

use std::ops::ControlFlow;

use tracing::info;

use super::catalog::Catalog;
use super::shape::Shape;
use super::table::{FieldDef, TableDef};
use crate::error::OpenError;
use crate::value::{ColumnType, ValueRef};
use convoke_core::id;

/// Number of rows between two log lines about a check.
const PROGRESS_ROWS: u64 = 500_000;
/// Longest reason in characters; it may quote a stored value.
const REASON_CHARS_MAX: usize = 200;

/// The first row whose value of a field does not fit.
#[derive(Debug)]
pub(super) struct Misfit {
    /// Position of the field.
    pub place: usize,
    /// Reason why the type rejects the value.
    pub reason: String,
    id: u128,
}

/// Reads these fields of all rows and returns the first misfit of each field. Null always fits.
pub(super) fn misfits(
    catalog: &dyn Catalog,
    table: &'static TableDef,
    places: &[usize],
) -> Result<Vec<Misfit>, OpenError> {
    let (mut found, mut rows) = (Vec::<Misfit>::new(), 0_u64);
    if places.is_empty() {
        return Ok(found);
    }
    catalog.begins(&format!("table {}: checking whether its values fit", table.name));
    catalog.values(table, places, &mut |id, values| {
        rows += 1;
        if rows.is_multiple_of(PROGRESS_ROWS) {
            info!(table = table.name, rows, "checking whether stored values fit the types in code");
        }
        for (&place, value) in places.iter().zip(values) {
            if *value == ValueRef::Null || found.iter().any(|misfit| misfit.place == place) {
                continue;
            }
            if let Err(reason) = (table.fields[place].check)(*value) {
                found.push(Misfit { place, id, reason: reason.chars().take(REASON_CHARS_MAX).collect() });
            }
        }
        if found.len() < places.len() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(found)
}

impl Misfit {
    /// Returns the id of the row as text.
    pub(super) fn row(&self, table: &TableDef) -> String {
        format!("{}_{}", table.prefix, String::from_utf8_lossy(&id::encode(self.id)))
    }

    /// Returns the message: field, row, reason, and the migration to write. `former` is the recorded shape.
    pub(super) fn refusal(&self, table: &TableDef, former: Option<&Shape>) -> String {
        let (field, row) = (&table.fields[self.place], self.row(table));
        let change = change(field, former);
        format!(
            "field {}: row {row} holds a value that does not fit: {}; write a migration that changes such rows: \
             `ctx.migrate::<T>(&args, |row| {{ {change} Ok(()) }})`, where T is the struct at {}:{}",
            field.name, self.reason, table.file, table.line
        )
    }
}

/// Returns the code that a migration runs per row.
fn change(field: &FieldDef, former: Option<&Shape>) -> String {
    let (name, shape) = (field.name, Shape::of(field));
    let variants = shape.variants();
    let of = |plain: &str| if field.nullable { format!("Option<{plain}>") } else { plain.to_owned() };
    match (field.column, variants.first()) {
        (ColumnType::Text, Some(new)) => {
            let former = former.map(Shape::variants).unwrap_or_default();
            let gone = former.iter().find(|variant| !variants.contains(variant)).unwrap_or(&"…");
            let (ty, some) = (of("String"), if field.nullable { ".as_deref() == Some" } else { " == " });
            let is = if field.nullable { format!("{some}({gone:?})") } else { format!("{some}{gone:?}") };
            format!("if row.get::<{ty}>({name:?})?{is} {{ row.set({name:?}, &{new:?}.to_owned())?; }}")
        }
        (ColumnType::Json, _) => {
            let (new, old) = (of("New"), of("Old"));
            format!(
                "if row.get::<{new}>({name:?}).is_err() {{ let old: {old} = row.get({name:?})?; \
                 row.set({name:?}, &New {{ … }})?; }}"
            )
        }
        _ => format!("if row.get::<{}>({name:?}).is_err() {{ row.set({name:?}, &…)?; }}", of("New")),
    }
}
