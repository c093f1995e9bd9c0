//! The JSON form of rows and values.

use convoke::store::Table;
use convoke::{Id, Millis};
use schema::*;
use schemars::schema_for;
use serde_json::json;

fn participant() -> Participant {
    Participant {
        meeting_id: Id::from_bits(1),
        user_id: Id::from_bits(2),
        role: Role::Host,
        presence: Presence::Joined,
        joined_at: Some(Millis(5)),
        left_at: None,
        presence_metadata: None,
        presence_at: Millis(6),
    }
}

#[test]
fn row_is_camel_case_and_omits_absent_members() {
    assert_eq!(
        serde_json::to_value(participant()).unwrap(),
        json!({
            "meetingId": "meeting_00000000000000000000000001",
            "userId": "user_00000000000000000000000002",
            "role": "host",
            "presence": "joined",
            "joinedAt": 5,
            "presenceAt": 6,
        })
    );
}

#[test]
fn a_row_has_a_value_for_every_field() {
    let values = participant().encode();
    assert_eq!(values.len(), Participant::DEF.fields.len());
}

#[test]
fn json_schema_has_the_bounds() {
    let schema = schema_for!(Age);
    assert_eq!((schema.get("minimum"), schema.get("maximum")), (Some(&json!(13)), Some(&json!(120))));
    let schema = schema_for!(DisplayName);
    assert_eq!((schema.get("minLength"), schema.get("maxLength")), (Some(&json!(1)), Some(&json!(100))));
    let schema = schema_for!(Bio);
    assert_eq!((schema.get("minLength"), schema.get("maxLength")), (None, Some(&json!(1000))));
    let schema = schema_for!(EmailAddress);
    assert_eq!(schema.get("maxLength"), Some(&json!(254)));
    let schema = schema_for!(Gender);
    assert_eq!(schema.get("enum"), Some(&json!(["male", "female", "non-binary", "prefer-not-to-say"])));
    let schema = schema_for!(Metadata);
    assert_eq!(schema.get("maxProperties"), Some(&json!(32)));
}

#[test]
fn every_type_with_a_rule_has_a_description() {
    for schema in [schema_for!(UserRef), schema_for!(ClientToken), schema_for!(HttpUrl), schema_for!(LanguageTag)] {
        assert!(schema.get("description").is_some_and(|doc| doc.as_str().is_some_and(|doc| doc.len() > 10)));
    }
}
