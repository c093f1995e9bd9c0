//! `#[args]`, and `#[value]` on structs: the wire form of objects.

use convoke::Millis;
use convoke::{args, value};
use serde_json::json;

/// An interest as a client sends it.
#[value]
pub(crate) struct Interest {
    pub id: String,
    #[value(rename = "iconName")]
    pub icon: Option<String>,
}

/// Arguments of a listing.
#[args]
pub(crate) struct Listing {
    /// The rows of one page.
    #[default(20)]
    pub limit: i64,
    /// The start of the page.
    pub cursor: Option<String>,
    pub r#type: String,
    pub since: Option<Millis>,
    pub interests: Vec<Interest>,
    pub weights: Option<Vec<i64>>,
    #[retired]
    pub offset: Option<i64>,
}

fn read(json: serde_json::Value) -> Result<Listing, String> {
    let text = json.to_string();
    serde_json::from_str(&text).map_err(crate::sentence)
}

#[test]
fn names_are_camel_case_and_options_accept_null() {
    let absent = read(json!({ "type": "a", "interests": [] })).unwrap();
    assert_eq!((absent.limit, absent.cursor, absent.since, absent.weights), (20, None, None, None));
    let null = json!({ "type": "a", "interests": [{"id": "x", "iconName": null}], "limit": null, "cursor": null });
    let null = read(null).unwrap();
    assert_eq!((null.limit, null.cursor), (20, None));
    assert_eq!(null.interests, [Interest { id: "x".to_owned(), icon: None }]);
    let given = json!({ "type": "a", "interests": [], "limit": 5, "cursor": "c", "since": 7, "weights": [1, 2.0] });
    let given = read(given).unwrap();
    assert_eq!((given.limit, given.since, given.weights), (5, Some(Millis(7)), Some(vec![1, 2])));
}

#[test]
fn integers_accept_a_zero_fraction_and_texts_reject_u0000() {
    assert_eq!(read(json!({ "type": "a", "interests": [], "limit": 3.1e1 })).unwrap().limit, 31);
    let refusal = read(json!({ "type": "a", "interests": [], "limit": 1.5 })).unwrap_err();
    assert_eq!(refusal, "invalid value: floating point `1.5`, expected an integer");
    let refusal = read(json!({ "type": "a\0", "interests": [] })).unwrap_err();
    assert_eq!(refusal, r#"must be a text without U+0000 (got "a\0")"#);
}

#[test]
fn unknown_missing_and_duplicate_members_and_arrays_are_rejected() {
    assert!(
        read(json!({ "type": "a", "interests": [], "surprise": 1 }))
            .unwrap_err()
            .starts_with("unknown field `surprise`")
    );
    assert_eq!(read(json!({ "type": "a" })).unwrap_err(), "missing field `interests`");
    assert_eq!(read(json!(["a", 1])).unwrap_err(), "invalid type: sequence, expected an object");
    assert_eq!(read(json!("a")).unwrap_err(), r#"invalid type: string "a", expected an object"#);
    let nested = read(json!({ "type": "a", "interests": [["x", null]] })).unwrap_err();
    assert_eq!(nested, "invalid type: sequence, expected an object");
    let twice = serde_json::from_str::<Interest>(r#"{"id":"a","id":"b"}"#).unwrap_err().to_string();
    assert!(twice.starts_with("duplicate field `id`"), "{twice}");
    let not_snake = read(json!({ "type": "a", "interests": [{ "id": "x", "icon": "y" }] })).unwrap_err();
    assert!(not_snake.starts_with("unknown field `icon`"), "{not_snake}");
}

#[test]
fn retired_member_is_ignored() {
    assert!(read(json!({ "type": "a", "interests": [], "offset": {"any": ["thing"]} })).is_ok());
}

#[test]
fn serialized_object_omits_absent_members() {
    let listing = read(json!({ "type": "a", "interests": [{"id": "x"}], "since": 7 })).unwrap();
    let json = serde_json::to_string(&listing).unwrap();
    assert_eq!(json, r#"{"limit":20,"type":"a","since":7,"interests":[{"id":"x"}]}"#);
    assert_eq!(read(serde_json::from_str(&json).unwrap()).unwrap().limit, 20);
}

#[test]
fn schema_has_docs_types_and_defaults() {
    let schema = schemars::generate::SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Listing>();
    let schema = serde_json::to_value(schema).unwrap();
    assert_eq!(schema["description"], "Arguments of a listing.");
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], json!(["type", "interests"]));
    assert_eq!(schema["properties"]["limit"]["default"], 20);
    assert_eq!(schema["properties"]["limit"]["description"], "The rows of one page.");
    assert_eq!(schema["properties"]["cursor"]["type"], json!(["string", "null"]));
    assert!(schema["properties"].get("offset").is_none());
    let out = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    let out = serde_json::to_value(out.into_root_schema_for::<Listing>()).unwrap();
    assert_eq!(out["properties"]["cursor"]["type"], "string");
    assert_eq!(out["required"], json!(["limit", "type", "interests"]));
}

#[test]
fn struct_without_members_is_an_empty_object() {
    #[args]
    #[derive(PartialEq)]
    struct Nothing {}
    assert_eq!(serde_json::to_string(&Nothing {}).unwrap(), "{}");
    assert_eq!(serde_json::from_str::<Nothing>("{}").unwrap(), Nothing {});
    assert!(serde_json::from_str::<Nothing>(r#"{"a":1}"#).is_err());
    assert!(serde_json::from_str::<Nothing>("[]").is_err());
    assert!(serde_json::from_str::<Nothing>("null").is_err());
}

#[test]
fn struct_with_absent_members_is_an_empty_object() {
    #[value]
    struct Maybe {
        a: Option<i64>,
    }
    assert_eq!(serde_json::to_string(&Maybe { a: None }).unwrap(), "{}");
    assert_eq!(serde_json::to_string(&Maybe { a: Some(1) }).unwrap(), r#"{"a":1}"#);
}

#[test]
fn output_type_needs_no_deserialization() {
    #[value(output)]
    struct Found {
        rows: convoke::store::Page<i64>,
        #[value(rename = "_id")]
        id: String,
    }
    let found = Found { rows: convoke::store::Page { items: vec![1], cursor: None }, id: "x".to_owned() };
    assert_eq!(serde_json::to_string(&found).unwrap(), r#"{"rows":{"items":[1]},"_id":"x"}"#);
}
