//! Several releases of a program on one database: the differences that an older release may ignore.
//!
//! The history of the schema shows which release is older: a program whose tables equal those of a former version has
//! served the database before. It may serve as long as it can read every row and its rows can be read by the newer
//! release, and it changes no schema.

use super::catalog::Catalog;
use super::definition::{Definition, FieldShape, TableShape};
use super::misfit::misfits;
use super::table::TableDef;
use crate::error::OpenError;

/// Returns true if the code is that of a former version of the database's schema.
pub(super) fn is_older(
    catalog: &dyn Catalog,
    stored: &Definition,
    tables: &[&'static TableDef],
) -> Result<bool, OpenError> {
    if !catalog.has_releases() {
        return Ok(false);
    }
    let code = Definition::of(tables, |table, index| catalog.index_text(table, index));
    if is_same(&code, stored) {
        return Ok(false);
    }
    Ok(catalog.former()?.iter().any(|former| is_same(&code, former)))
}

/// Returns true if these are the tables of `code`, apart from fields that were retired before.
fn is_same(code: &Definition, kept: &Definition) -> bool {
    code.tables.len() == kept.tables.len()
        && code.tables.iter().all(|(name, table)| {
            kept.tables.get(name).is_some_and(|kept| {
                kept.prefix == table.prefix && kept.indexes == table.indexes && have_like_fields(kept, table)
            })
        })
}

fn have_like_fields(one: &TableShape, other: &TableShape) -> bool {
    let in_use = |table: &'_ TableShape| table.fields.values().filter(|field| !field.retired).count();
    in_use(one) == in_use(other)
        && one
            .fields
            .iter()
            .filter(|(_, field)| !field.retired)
            .all(|(name, field)| other.fields.get(name).is_some_and(|other| field.is_like(other)))
}

/// Returns the reasons why an older release cannot serve beside the newer one, a sentence each.
pub(super) fn hindrances(
    catalog: &dyn Catalog,
    stored: &Definition,
    tables: &[&'static TableDef],
) -> Result<Vec<String>, OpenError> {
    let mut all = Vec::new();
    for table in tables {
        let mut refuse = |why: String| all.push(format!("table {}: {why}; start the newer release", table.name));
        let Some(shape) = stored.tables.get(table.name) else {
            refuse("a newer release has dropped it".to_owned());
            continue;
        };
        for (place, field) in table.fields.iter().enumerate().filter(|(_, field)| !field.retired) {
            let (name, code) = (field.name, FieldShape::of(field));
            match shape.fields.get(name) {
                Some(kept) if kept.holds != code.holds => {
                    refuse(format!("field {name} is {} in a newer release", kept.holds));
                }
                Some(kept) if !kept.retired && code.nullable && !kept.nullable => {
                    refuse(format!("a newer release requires a value in field {name}"));
                }
                Some(kept)
                    if (kept.nullable || kept.retired) && !code.nullable && catalog.has_null(table.name, name)? =>
                {
                    refuse(format!("a newer release leaves field {name} empty"));
                }
                Some(FieldShape { shape: Some(kept), .. }) if code.shape.as_ref() != Some(kept) => {
                    if code.shape.is_some_and(|own| !kept.takes_all_of(&own)) {
                        refuse(format!(
                            "a newer release does not take every value that this one writes into field {name}"
                        ));
                    }
                    for misfit in misfits(catalog, table, &[place])? {
                        let (row, reason) = (misfit.row(table), &misfit.reason);
                        refuse(format!(
                            "a newer release wrote a value into field {name} of row {row} that does not fit: {reason}"
                        ));
                    }
                }
                Some(_) => {}
                None => refuse(format!("a newer release has no field {name}")),
            }
        }
        for name in unknown(table, shape) {
            if needs_value(catalog, table, shape, name)? {
                refuse(format!("a newer release requires a value in field {name}, which this one does not know"));
            }
        }
    }
    Ok(all)
}

/// Returns the fields that the code does not know.
fn unknown<'a>(table: &TableDef, shape: &'a TableShape) -> impl Iterator<Item = &'a str> {
    shape.fields.keys().filter(|name| table.field(name).is_none()).map(String::as_str)
}

/// Returns true if the newer release cannot read a row without a value in this field, which the code does not know.
pub(super) fn needs_value(
    catalog: &dyn Catalog,
    table: &TableDef,
    shape: &TableShape,
    field: &str,
) -> Result<bool, OpenError> {
    let is_required = shape.fields.get(field).is_some_and(|field| !field.nullable && !field.retired);
    Ok(is_required && !catalog.has_default(table.name, field)?)
}
