//! `#[table]`: definition, codec, wire form.

use convoke::store::{Column, ColumnType, Condition, Doc, Literal, Row, StoreError, Table, TableDef, Value, ValueRef};
use convoke::{Id, Millis, table, value};
use convoke_core::id::Named;
use serde_json::json;

#[table(name = "meetings", prefix = "meeting")]
pub(crate) struct Meeting {
    pub title: String,
    /// Two tables may hold ids of each other, and a table its own.
    pub first: Option<Id<Entry>>,
    pub parent: Option<Id<Meeting>>,
}

#[value]
pub(crate) enum Status {
    Waiting,
    Matched,
}

#[value]
pub(crate) struct Constraint {
    pub roles: Vec<String>,
}

/// A request to meet.
#[table(name = "queueEntries", prefix = "queue")]
#[index(by_user(meeting_id, status))]
#[index(one_waiting(meeting_id), unique, when(status = Status::Waiting))]
#[index(by_use(usage_count desc, name))]
#[index(ended(ended_at), when(ended_at is not null))]
#[index(open(name), when(ended_at is null))]
pub(crate) struct Entry {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    #[default(Status::Matched)]
    pub status: Status,
    #[default(-5)]
    pub usage_count: i64,
    #[retired]
    pub old: Option<String>,
    pub name: String,
    pub constraint: Option<Constraint>,
    pub ended_at: Option<Millis>,
}

fn entry() -> Entry {
    Entry {
        meeting_id: Id::from_bits(5),
        status: Status::Waiting,
        usage_count: 3,
        name: "n".to_owned(),
        constraint: Some(Constraint { roles: vec!["mentor".to_owned()] }),
        ended_at: None,
    }
}

/// Returns a row with these values.
struct Held(Vec<Value>);

impl Row for Held {
    fn id(&self) -> Result<u128, StoreError> {
        Ok(1)
    }
    fn creation_time(&self) -> Result<i64, StoreError> {
        Ok(2)
    }
    fn value(&self, place: usize) -> Result<ValueRef<'_>, StoreError> {
        Ok(self.0[place].as_ref())
    }
}

#[test]
fn table_has_its_names_fields_and_indexes() {
    let def: &TableDef = Entry::DEF;
    assert_eq!((def.name, def.prefix, Entry::NAME, Entry::PREFIX), ("queueEntries", "queue", "queueEntries", "queue"));
    assert!(def.file.ends_with("tables.rs"));
    let fields: Vec<_> = def
        .fields
        .iter()
        .map(|field| (field.name, field.column, field.nullable, field.default.map(|default| default()), field.retired))
        .collect();
    assert_eq!(
        fields,
        [
            ("meetingId", ColumnType::Id, false, None, false),
            ("status", ColumnType::Text, false, Some(Value::Text("matched".to_owned())), false),
            ("usageCount", ColumnType::Integer, false, Some(Value::Integer(-5)), false),
            ("old", ColumnType::Text, true, None, true),
            ("name", ColumnType::Text, false, None, false),
            ("constraint", ColumnType::Json, true, None, false),
            ("endedAt", ColumnType::Integer, true, None, false),
        ]
    );
    assert_eq!(def.fields[0].references, Some("meeting"));
    let indexes: Vec<_> = def
        .indexes
        .iter()
        .map(|index| {
            (
                index.name,
                index.keys.iter().map(|key| (key.field, key.descending)).collect::<Vec<_>>(),
                index.unique,
                index.when,
            )
        })
        .collect();
    assert_eq!(
        indexes,
        [
            ("by_user", vec![(0, false), (1, false)], false, None),
            ("one_waiting", vec![(0, false)], true, Some(Condition::Equals("status", Literal::Text("waiting")))),
            ("by_use", vec![(2, true), (4, false)], false, None),
            ("ended", vec![(6, false)], false, Some(Condition::NotNull("endedAt"))),
            ("open", vec![(4, false)], false, Some(Condition::IsNull("endedAt"))),
        ]
    );
}

#[test]
fn row_round_trips_through_columns() {
    let values = entry().encode();
    assert_eq!(values.len(), Entry::DEF.fields.len());
    assert_eq!(values[1], Value::Text("waiting".to_owned()));
    assert_eq!(values[3], Value::Null);
    assert_eq!(values[5], Value::Text(r#"{"roles":["mentor"]}"#.to_owned()));
    assert_eq!(Entry::decode(&Held(values)).unwrap(), entry());
}

#[test]
fn row_changes_match_its_columns() {
    let mut changed = entry();
    changed.name.push('x');
    let other =
        Entry { status: Status::Matched, usage_count: 4, constraint: None, ended_at: Some(Millis(9)), ..changed };
    let (before, after) = (entry().encode(), other.encode());
    assert!(entry().changes(&before).is_empty());
    // All fields but the meeting and the retired one.
    let expected: Vec<_> = [1, 2, 4, 5, 6].map(|place| (place, after[place].clone())).into();
    assert_eq!(other.changes(&before), expected);
    let mut gone = before.clone();
    gone[3] = Value::Text("once".to_owned());
    assert!(entry().changes(&gone).is_empty());
    gone[4] = Value::Null;
    assert_eq!(entry().changes(&gone), [(4, before[4].clone())]);
}

#[test]
fn older_row_gets_the_default_of_a_new_field() {
    let mut values = entry().encode();
    values[2] = Value::Null;
    assert_eq!(Entry::decode(&Held(values.clone())).unwrap().usage_count, -5);
    values[4] = Value::Null;
    let error = Entry::decode(&Held(values)).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { table: "queueEntries", field: "name", .. }), "{error}");
}

#[test]
fn row_serializes_in_camel_case_without_absent_fields() {
    let json = serde_json::to_string(&entry()).unwrap();
    assert_eq!(
        json,
        r#"{"meetingId":"meeting_00000000000000000000000005","status":"waiting","usageCount":3,"name":"n","constraint":{"roles":["mentor"]}}"#
    );
}

#[test]
fn row_and_document_have_schemas() {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = serde_json::to_value(generator.into_root_schema_for::<Doc<Entry>>()).unwrap();
    assert_eq!(schema["description"], "A request to meet.");
    assert_eq!(schema["required"], json!(["_id", "_creationTime", "meetingId", "status", "usageCount", "name"]));
    assert_eq!(schema["properties"]["meetingId"]["description"], "The meeting.\n\nId of a row of `meetings`.");
    assert!(schema["properties"]["_id"]["pattern"].as_str().unwrap().starts_with("^queue_"));
    assert!(schema["properties"].get("old").is_none());
    assert_eq!(<Id<Meeting> as Column>::REFERENCES, Some("meeting"));
}

#[test]
fn tables_are_registered() {
    let names: Vec<_> = inventory::iter::<convoke::__private::SubmittedTable>().map(|table| table.0.name).collect();
    assert!(names.contains(&"queueEntries") && names.contains(&"meetings"), "{names:?}");
}
