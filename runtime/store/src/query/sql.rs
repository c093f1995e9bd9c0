//! The SQL of plans, for engines that read by SQL: names, columns, conditions and order.
//!
//! Parameters are numbered in this order: the equal keys, the list, the range, the position to continue from, the limit.
//! Null is part of the text, never a parameter.

use std::fmt::Write as _;
use std::marker::PhantomData;
use std::ops::Bound;

use super::Plan;
use crate::schema::table::{Condition, IndexDef, TableDef};
use crate::value::{ColumnType, Value};

/// `_id`, as a column.
pub const ID: &str = "\"_id\"";

/// The differences between the engines.
pub trait Dialect {
    /// The sign before the number of a parameter.
    const PARAMETER: char;
    /// The words behind an ascending key of an order, and behind a descending one.
    const DIRECTIONS: [&'static str; 2];
    /// True if the engine does not know that a key which is null in all rows has no effect on their order.
    const ORDERS_BY_NULL_KEYS: bool;

    /// Returns a constant.
    fn literal(value: &Value) -> String;

    /// Returns null as a column of this type.
    fn null(column: ColumnType) -> &'static str;

    /// Returns an expression that is the id of a row if the row meets a condition, and the same for all other rows.
    fn id_if(condition: &str) -> String;

    /// Returns the condition that a field has one of these values.
    fn any(field: &str, values: &[Value], parameters: &mut Parameters<Self>) -> String;
}

/// Returns a name in double quotes.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns the condition of a conditional index. The constant must be in the text, so that the engine sees that the index
/// applies.
pub fn condition<D: Dialect>(condition: Condition) -> String {
    match condition {
        Condition::Equals(field, value) => format!("{} = {}", quoted(field), D::literal(&value.value())),
        Condition::IsNull(field) => format!("{} IS NULL", quoted(field)),
        Condition::NotNull(field) => format!("{} IS NOT NULL", quoted(field)),
    }
}

/// Returns the columns of a row: id, creation time, and every field at its position; retired ones read as null.
pub fn columns<D: Dialect>(table: &TableDef) -> String {
    let mut sql = format!("{ID}, \"_creationTime\"");
    for field in table.fields {
        let column = if field.retired { D::null(field.column).to_owned() } else { quoted(field.name) };
        let _ = write!(sql, ", {column}");
    }
    sql
}

/// Like [`columns`], with only the id and the keys of the plan's index.
pub fn keys<D: Dialect>(plan: &Plan) -> String {
    let mut sql = format!("{ID}, {}", D::null(ColumnType::Integer));
    let keys = plan.index.map_or(&[][..], |index| index.keys);
    for (place, field) in plan.table.fields.iter().enumerate() {
        let is_key = keys.iter().any(|key| key.field == place);
        let column = if is_key { quoted(field.name) } else { D::null(field.column).to_owned() };
        let _ = write!(sql, ", {column}");
    }
    sql
}

/// The last key of an index, which makes its order total.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The id.
    Id,
    /// None: the keys are unique and never null.
    None,
    /// The id if one of these nullable keys is null, otherwise nothing: unique keys that may be null. Rows with a null
    /// key never conflict.
    IdIfNull(Vec<usize>),
}

impl Tail {
    /// Returns the tail of an index, or of a table's order by id.
    pub fn of(table: &TableDef, index: Option<&IndexDef>) -> Self {
        let Some(index) = index.filter(|index| index.unique) else { return Tail::Id };
        let nullable: Vec<usize> =
            (0..index.keys.len()).filter(|&key| table.fields[index.keys[key].field].nullable).collect();
        if nullable.is_empty() { Tail::None } else { Tail::IdIfNull(nullable) }
    }

    /// Returns the last expression of the index.
    pub fn expression<D: Dialect>(&self, table: &TableDef, index: Option<&IndexDef>) -> Option<String> {
        match (self, index) {
            (Tail::None, _) => None,
            (Tail::IdIfNull(nullable), Some(index)) => {
                let is_null = |key: &usize| format!("{} IS NULL", quoted(table.fields[index.keys[*key].field].name));
                let null: Vec<String> = nullable.iter().map(is_null).collect();
                Some(D::id_if(&null.join(" OR ")))
            }
            (Tail::Id | Tail::IdIfNull(_), _) => Some(ID.to_owned()),
        }
    }
}

/// The numbers of parameters, in order.
pub struct Parameters<D: ?Sized> {
    last: usize,
    dialect: PhantomData<D>,
}

impl<D: Dialect + ?Sized> Parameters<D> {
    /// Returns the next parameter.
    pub fn one(&mut self) -> String {
        self.last += 1;
        format!("{}{}", D::PARAMETER, self.last)
    }

    /// Returns the next parameters, separated by commas.
    pub fn list(&mut self, count: usize) -> String {
        (0..count).map(|_| self.one()).collect::<Vec<_>>().join(",")
    }
}

impl<D> Default for Parameters<D> {
    fn default() -> Self {
        Self { last: 0, dialect: PhantomData }
    }
}

/// A key of the order of a plan's rows.
struct OrderKey {
    expression: String,
    descending: bool,
    nullable: bool,
}

/// The text of a plan.
pub struct PlanText<'plan, D> {
    plan: &'plan Plan,
    /// The parameters so far.
    pub parameters: Parameters<D>,
}

impl<'plan, D: Dialect> PlanText<'plan, D> {
    /// Begins a text.
    pub fn new(plan: &'plan Plan) -> Self {
        Self { plan, parameters: Parameters::default() }
    }

    /// Returns ` WHERE …`, or nothing if the plan has no condition.
    pub fn filter(&mut self) -> String {
        let conditions = self.conditions();
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) }
    }

    /// Returns ` ORDER BY …`, or nothing if at most one row has the equal keys.
    pub fn order(&self) -> String {
        let plan = self.plan;
        let null_keys =
            plan.eq.iter().enumerate().filter(|(_, value)| **value == Value::Null).map(|(key, _)| OrderKey {
                expression: self.field(key),
                descending: plan.index.is_some_and(|index| index.keys[key].descending) != plan.reverse,
                nullable: true,
            });
        let keys = null_keys.filter(|_| D::ORDERS_BY_NULL_KEYS).chain(self.keys());
        let keys: Vec<String> = keys.map(|key| key.expression + D::DIRECTIONS[usize::from(key.descending)]).collect();
        if keys.is_empty() { String::new() } else { format!(" ORDER BY {}", keys.join(", ")) }
    }

    fn field(&self, key: usize) -> String {
        let index = self.plan.index.expect("keys are given for an index only");
        quoted(self.plan.table.fields[index.keys[key].field].name)
    }

    fn conditions(&mut self) -> Vec<String> {
        let plan = self.plan;
        let mut all = Vec::new();
        all.extend(plan.index.and_then(|index| index.when).map(condition::<D>));
        for (key, value) in plan.eq.iter().enumerate() {
            let field = self.field(key);
            all.push(match value {
                Value::Null => format!("{field} IS NULL"),
                _ => format!("{field} = {}", self.parameters.one()),
            });
        }
        if let Some(values) = &plan.any {
            let field = self.field(plan.eq.len());
            let list = D::any(&field, values, &mut self.parameters);
            all.push(if values.contains(&Value::Null) { format!("({field} IS NULL OR {list})") } else { list });
        }
        if let Some((start, end)) = &plan.range {
            self.range(start, end, &mut all);
        }
        if let Some((values, _)) = &plan.after {
            all.push(self.after(values));
        }
        all
    }

    /// Null as a start excludes only null, which every range excludes; as an end it excludes everything.
    fn range(&mut self, start: &Bound<Value>, end: &Bound<Value>, all: &mut Vec<String>) {
        let field = self.field(self.plan.eq.len());
        let is_null = |bound: &Bound<Value>| {
            matches!(bound, Bound::Included(Value::Null) | Bound::Excluded(Value::Null) | Bound::Unbounded)
        };
        match start {
            Bound::Included(value) if *value != Value::Null => {
                all.push(format!("{field} >= {}", self.parameters.one()));
            }
            Bound::Excluded(value) if *value != Value::Null => {
                all.push(format!("{field} > {}", self.parameters.one()));
            }
            _ => {}
        }
        match end {
            Bound::Unbounded if is_null(start) => all.push(format!("{field} IS NOT NULL")),
            Bound::Unbounded => {}
            Bound::Included(Value::Null) | Bound::Excluded(Value::Null) => all.push("FALSE".to_owned()),
            Bound::Included(_) => all.push(format!("{field} <= {}", self.parameters.one())),
            Bound::Excluded(_) => all.push(format!("{field} < {}", self.parameters.one())),
        }
    }

    /// The keys of the order: those that have no fixed value, and the tail.
    fn keys(&self) -> Vec<OrderKey> {
        let (plan, mut keys) = (self.plan, Vec::new());
        for key in plan.index.map_or(&[][..], |index| index.keys).iter().skip(plan.eq.len()) {
            let field = &plan.table.fields[key.field];
            keys.push(OrderKey {
                expression: quoted(field.name),
                descending: key.descending != plan.reverse,
                nullable: field.nullable,
            });
        }
        if let Some(expression) = Tail::of(plan.table, plan.index).expression::<D>(plan.table, plan.index) {
            keys.push(OrderKey { expression, descending: plan.reverse, nullable: false });
        }
        keys
    }

    /// Returns the condition for rows behind a position. If all keys have one direction and null cannot be among those
    /// behind, it is a comparison of row values, at which an engine starts directly. Otherwise it is a condition per key.
    fn after(&mut self, values: &[Value]) -> String {
        let keys = self.keys();
        let fixed = self.plan.eq.len();
        let is_null = |key: usize| values.get(fixed + key) == Some(&Value::Null);
        let places: Vec<Option<String>> =
            (0..keys.len()).map(|key| if is_null(key) { None } else { Some(self.parameters.one()) }).collect();
        let Some(first) = keys.first() else { return "FALSE".to_owned() };
        let one_way = keys.iter().all(|key| key.descending == first.descending && !(key.descending && key.nullable));
        if one_way && places.iter().all(Option::is_some) {
            let names: Vec<&str> = keys.iter().map(|key| &*key.expression).collect();
            let sign = if first.descending { '<' } else { '>' };
            let values: Vec<&str> = places.iter().flatten().map(String::as_str).collect();
            return format!("({}) {sign} ({})", names.join(", "), values.join(", "));
        }
        behind(&keys, &places)
    }
}

/// `(first key at or behind) AND ((first key behind) OR (the rest behind))`; the first part lets an engine start near.
fn behind(keys: &[OrderKey], places: &[Option<String>]) -> String {
    let [key, rest @ ..] = keys else { return "FALSE".to_owned() };
    let name = &key.expression;
    let (beyond, at) = match (&places[0], key.descending) {
        (None, false) => (format!("{name} IS NOT NULL"), format!("{name} IS NULL")),
        (None, true) => ("FALSE".to_owned(), format!("{name} IS NULL")),
        (Some(place), false) => (format!("{name} > {place}"), format!("{name} = {place}")),
        (Some(place), true) if key.nullable => {
            (format!("({name} < {place} OR {name} IS NULL)"), format!("{name} = {place}"))
        }
        (Some(place), true) => (format!("{name} < {place}"), format!("{name} = {place}")),
    };
    let near = match (&places[0], key.descending) {
        (Some(place), false) => format!("{name} >= {place} AND "),
        (Some(place), true) if !key.nullable => format!("{name} <= {place} AND "),
        (None, true) => format!("{name} IS NULL AND "),
        (None, false) | (Some(_), true) => String::new(),
    };
    format!("({near}({beyond} OR ({at} AND {})))", behind(rest, &places[1..]))
}
