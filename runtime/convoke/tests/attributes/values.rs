//! `#[value]` on enums and on structs around one value: rules, sentences, bounds.

use convoke::store::{Column, ColumnType, Value, ValueRef};
use convoke::{Invalid, value};
use serde::de::DeserializeOwned;
use serde_json::json;

/// What kind of interest it is.
#[value]
pub(crate) enum Category {
    /// At a university.
    Academic,
    Industry,
    Skill,
    Personal,
}

#[value(rename_all = "camelCase")]
enum Spelled {
    NonBinary,
    #[value(rename = "x")]
    Other,
}

/// The name that other users see.
#[value(text, trim, min = 1, max = 100, too_short = "Display name cannot be empty")]
pub struct DisplayName(String);

#[value(max = LONG, too_long = "Bio cannot exceed 1000 characters")]
struct Bio(String);
const LONG: usize = 1000;

#[value(text, pattern = "^[a-z]+$", expected = "a lower-case word", check = no_ghosts)]
struct Word(String);

fn no_ghosts(word: String) -> Result<String, String> {
    match word.as_str() {
        "boo" => Err("Ghosts are not words".to_owned()),
        "bad" => Err("must be a good word".to_owned()),
        _ => Ok(word + "!"),
    }
}

/// The age in years.
#[value(integer, min = 13, max = 120)]
pub struct Age(i64);

#[value]
struct Small(i32);

#[value(integer, min = 1, too_small = "Maximum participants must be at least 1")]
struct Participants(u32);

#[value(number, min = 0.0, max = 1.0)]
struct Confidence(f64);

fn read<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, String> {
    serde_json::from_str(&value.to_string()).map_err(crate::sentence)
}

fn schema<T: schemars::JsonSchema>() -> serde_json::Value {
    let mut schema = schemars::schema_for!(T).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.retain(|key, _| key != "$schema" && key != "title");
    }
    schema
}

#[test]
fn enum_accepts_only_its_texts() {
    assert_eq!(
        Category::ALL.iter().map(|one| one.as_str()).collect::<Vec<_>>(),
        ["academic", "industry", "skill", "personal"]
    );
    assert_eq!(read::<Category>(json!("skill")), Ok(Category::Skill));
    let refusal = "must be one of academic, industry, skill, personal (got \"zzz\")";
    assert_eq!(read::<Category>(json!("zzz")).unwrap_err(), refusal);
    assert_eq!("zzz".parse::<Category>(), Err(Invalid::new(refusal)));
    assert_eq!(
        read::<Category>(json!(7)).unwrap_err(),
        "invalid type: integer `7`, expected one of academic, industry, skill, personal"
    );
    assert_eq!(serde_json::to_value(Category::Personal).unwrap(), "personal");
    assert_eq!(format!("[{:>10}]", Category::Skill), "[     skill]");
    assert!(Category::Academic < Category::Industry);
    assert_eq!((Spelled::NonBinary.as_str(), Spelled::Other.as_str()), ("nonBinary", "x"));
    assert_eq!(
        schema::<Category>(),
        json!({
            "type": "string",
            "enum": ["academic", "industry", "skill", "personal"],
            "description": "What kind of interest it is.\n- `academic`: At a university.",
        })
    );
}

#[test]
fn enum_is_stored_as_text() {
    assert_eq!(Category::TYPE, ColumnType::Text);
    assert_eq!(Category::Skill.to_value(), Value::Text("skill".to_owned()));
    assert_eq!(Category::from_value(ValueRef::Text("skill")), Ok(Category::Skill));
    assert!(Category::from_value(ValueRef::Text("gone")).is_err());
    assert!(Category::from_value(ValueRef::Integer(1)).is_err());
}

#[test]
fn text_rule_applies_to_every_source() {
    let name = read::<DisplayName>(json!("\u{a0}Ada Lovelace\u{3000}")).unwrap();
    assert_eq!(name.as_str(), "Ada Lovelace");
    assert_eq!(name, DisplayName::new("Ada Lovelace").unwrap());
    assert_eq!(name.len(), 12);
    assert_eq!(read::<DisplayName>(json!(" ")).unwrap_err(), "Display name cannot be empty");
    assert!(read::<DisplayName>(json!("ä".repeat(100))).is_ok());
    assert_eq!(
        read::<DisplayName>(json!("ä".repeat(101))).unwrap_err(),
        "must be a text of 1 to 100 characters (got 101 characters)"
    );
    assert_eq!(
        read::<DisplayName>(json!(null)).unwrap_err(),
        "invalid type: null, expected a text of 1 to 100 characters"
    );
    assert!(Bio::new("x".repeat(1000)).is_ok());
    assert_eq!(Bio::new("x".repeat(1001)).unwrap_err().sentence(), "Bio cannot exceed 1000 characters");
    assert_eq!(serde_json::to_value(&name).unwrap(), "Ada Lovelace");
    assert_eq!(
        schema::<DisplayName>(),
        json!({ "type": "string", "minLength": 1, "maxLength": 100, "description": "The name that other users see." })
    );
}

#[test]
fn pattern_precedes_the_check_which_may_change_the_text() {
    assert_eq!(Word::new("word").unwrap().as_str(), "word!");
    assert_eq!(Word::new("Word").unwrap_err().sentence(), "must be a lower-case word (got \"Word\")");
    assert_eq!(Word::new("boo").unwrap_err().sentence(), "Ghosts are not words");
    assert_eq!(Word::new("bad").unwrap_err().sentence(), "must be a good word (got \"bad\")");
    assert_eq!(schema::<Word>()["pattern"], "^[a-z]+$");
}

#[test]
fn integer_rule_applies_to_every_source() {
    assert_eq!(read::<Age>(json!(31.0)).unwrap().get(), 31);
    assert_eq!(Age::new(13).unwrap(), Age::new(13).unwrap());
    assert_eq!(read::<Age>(json!(7)).unwrap_err(), "must be an integer between 13 and 120 (got 7)");
    assert_eq!(Age::new(121).unwrap_err().sentence(), "must be an integer between 13 and 120 (got 121)");
    assert_eq!(Participants::new(0).unwrap_err().sentence(), "Maximum participants must be at least 1");
    assert_eq!(read::<Participants>(json!(-1)).unwrap_err(), "Maximum participants must be at least 1");
    assert_eq!(
        read::<Small>(json!(2_147_483_648i64)).unwrap_err(),
        "must be an integer between -2147483648 and 2147483647 (got 2147483648)"
    );
    assert_eq!(read::<Small>(json!(-2_147_483_648i64)).unwrap().get(), i32::MIN);
    assert_eq!(
        schema::<Age>(),
        json!({ "type": "integer", "format": "int64", "minimum": 13, "maximum": 120, "description": "The age in years." })
    );
}

#[test]
fn number_rule_applies_to_every_source() {
    assert_eq!(read::<Confidence>(json!(1)).unwrap().get(), 1.0);
    assert_eq!(read::<Confidence>(json!(1.01)).unwrap_err(), "must be a number between 0 and 1 (got 1.01)");
    assert!(Confidence::new(f64::NAN).is_err());
    assert_eq!(schema::<Confidence>(), json!({ "type": "number", "format": "double", "minimum": 0.0, "maximum": 1.0 }));
}

#[test]
fn stored_value_is_not_checked() {
    assert_eq!(Age::from_value(ValueRef::Integer(7)).unwrap().get(), 7);
    assert_eq!(DisplayName::from_value(ValueRef::Text("")).unwrap().as_str(), "");
    assert_eq!(
        (Age::TYPE, DisplayName::TYPE, Confidence::TYPE),
        (ColumnType::Integer, ColumnType::Text, ColumnType::Float)
    );
}

/// An event.
#[value(tag = "kind", rename_all = "camelCase", name = "Happening")]
enum Event {
    /// It moved.
    HasMoved {
        /// The destination.
        to: DisplayName,
        #[default(2)]
        steps: i64,
        by: Option<Age>,
        #[value(rename = "_from")]
        origin: Option<Box<Event>>,
        #[retired]
        speed: Option<f64>,
    },
    #[value(rename = "shut")]
    Closed,
}

#[test]
fn variant_with_fields_is_a_tagged_object() {
    let moved = json!({ "kind": "hasMoved", "to": "north", "speed": "any", "_from": { "kind": "shut" } });
    let moved = read::<Event>(moved).unwrap();
    let written = r#"{"kind":"hasMoved","to":"north","steps":2,"_from":{"kind":"shut"}}"#;
    assert_eq!(serde_json::to_string(&moved).unwrap(), written);
    assert_eq!(Event::from_value(Event::to_value(&moved).as_ref()), Ok(moved));
    assert_eq!(Event::TYPE, ColumnType::Json);
    assert_eq!(serde_json::from_str::<Event>(r#"{"kind":"shut"}"#).unwrap(), Event::Closed);
    assert_eq!(read::<Event>(json!({})).unwrap_err(), "missing field `kind`");
    assert_eq!(
        read::<Event>(json!({ "kind": "closed" })).unwrap_err(),
        "must be one of hasMoved, shut (got \"closed\")"
    );
    assert_eq!(read::<Event>(json!({ "to": "north", "kind": "hasMoved", "by": 7 })).unwrap_err(), {
        "at `by`: must be an integer between 13 and 120 (got 7)"
    });
}

#[test]
fn schema_of_variants_has_a_discriminator_and_names() {
    let generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let schema = generator.into_root_schema_for::<Event>().to_value();
    assert_eq!(
        schema["oneOf"],
        json!([{ "$ref": "#/$defs/HappeningHasMoved" }, { "$ref": "#/$defs/HappeningClosed" }])
    );
    assert_eq!(
        schema["discriminator"],
        json!({
            "propertyName": "kind",
            "mapping": { "hasMoved": "#/$defs/HappeningHasMoved", "shut": "#/$defs/HappeningClosed" },
        })
    );
    let moved = &schema["$defs"]["HappeningHasMoved"];
    assert_eq!(moved["description"], "It moved.");
    assert_eq!(moved["properties"]["kind"], {
        json!({ "type": "string", "enum": ["hasMoved"], "description": "Always `hasMoved`." })
    });
    assert_eq!(moved["properties"]["to"]["description"], "The destination.\n\nThe name that other users see.");
    assert_eq!((&moved["required"], &moved["additionalProperties"]), (&json!(["kind", "to"]), &json!(false)));
    assert_eq!(schema["$defs"]["HappeningClosed"]["required"], json!(["kind"]));
}

mod first {
    #[convoke::value]
    pub(super) struct Add {
        pub at: i64,
    }
}

mod second {
    #[convoke::value(name = "Sum")]
    pub(super) struct Add {
        pub at: i64,
    }
}

#[test]
fn type_name_comes_from_the_module_or_the_author() {
    assert_eq!(<first::Add as schemars::JsonSchema>::schema_name(), "ValuesFirstAdd");
    assert_eq!(<second::Add as schemars::JsonSchema>::schema_name(), "Sum");
    assert_eq!(<Category as schemars::JsonSchema>::schema_name(), "ValuesCategory");
    assert_eq!((first::Add { at: 1 }.at, second::Add { at: 1 }.at), (1, 1));
}
