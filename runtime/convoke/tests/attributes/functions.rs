//! `#[query]`, `#[mutation]`, `#[action]`: the registered function, and the errors for invalid arguments.

use convoke::testing::TestApp;
use convoke_calls::function::{Function, FunctionDef, Kind, Visibility};
use serde_json::{Value, json};

pub(crate) mod onboarding {
    use convoke::prelude::*;

    convoke::rate_class!("onboarding", 120, per 60 s);

    #[value]
    pub(crate) enum Category {
        Academic,
        Industry,
        Skill,
        Personal,
    }

    #[value(integer, min = 13, max = 120)]
    pub struct Age(i64);

    #[value(text, trim, min = 1, max = 100, too_short = "Display name cannot be empty")]
    pub struct DisplayName(String);

    #[value(text, trim, min = 1, max = 120)]
    pub struct ShortText(String);

    #[value]
    pub(crate) struct Interest {
        pub name: ShortText,
        pub category: Category,
    }

    /// Arguments of [`save`].
    #[args]
    pub(crate) struct Save {
        /// The age in years.
        pub age: Age,
        pub display_name: Option<DisplayName>,
        pub interests: Vec<Interest>,
        pub bio: String,
        #[default(7)]
        pub weeks: i64,
    }

    /// Saves a person.
    ///
    /// # Errors
    /// - `FORBIDDEN`: never.
    #[mutation(rate = "onboarding")]
    pub(crate) fn save(_ctx: &mut MutationCtx, args: Save) -> Result<String> {
        let name = args.display_name.as_deref().unwrap_or("nobody");
        Ok(format!("{name}, {}, {}, {}", args.age, args.interests.len(), args.weeks))
    }

    #[mutation(internal)]
    #[cron("0 3 * * *")]
    #[cron("30 0 12 1 jan *")]
    pub(crate) fn forget(_ctx: &mut MutationCtx) -> Result<()> {
        Ok(())
    }

    #[cfg(any())]
    #[query]
    pub fn left_out_above(_ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }

    #[query]
    #[cfg(any())]
    pub fn left_out_below(_ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }

    #[action(admin)]
    pub(crate) async fn r#loop(ctx: &ActionCtx) -> Result<String> {
        let interests = Vec::new();
        let age = Age::new(40).map_err(|invalid| invalid.at("age"))?;
        ctx.run::<save>(Save { age, display_name: None, interests, bio: String::new(), weeks: 1 }).await
    }
}

use onboarding::{forget, r#loop, save};

fn def<F: Function>() -> &'static FunctionDef {
    F::DEF
}

#[test]
fn function_is_registered_with_its_attributes() {
    let save = def::<save>();
    assert_eq!((save.name, save.kind, save.visibility), ("save", Kind::Mutation, Visibility::Public));
    assert!(save.module.ends_with("::functions::onboarding"), "{}", save.module);
    assert!(save.file.ends_with("functions.rs") && save.line > 1);
    assert_eq!(save.doc, "Saves a person.\n\n# Errors\n- `FORBIDDEN`: never.");
    assert_eq!((save.rate, save.crons, save.identity_hook), (Some("onboarding"), &[][..], false));

    let forget = def::<forget>();
    assert_eq!((forget.visibility, forget.crons), (Visibility::Internal, &["0 3 * * *", "30 0 12 1 jan *"][..]));
    let looping = def::<r#loop>();
    assert_eq!((looping.name, looping.kind, looping.visibility), ("loop", Kind::Action, Visibility::Admin));
}

#[test]
fn functions_are_registered_unless_cfg_removes_them() {
    let names: Vec<_> = inventory::iter::<convoke::__private::Submitted>().map(|function| function.0.name).collect();
    for name in ["save", "forget", "loop"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.iter().any(|name| name.starts_with("left_out")), "{names:?}");
}

fn good() -> Value {
    json!({ "age": 31.0, "interests": [{"name": "Rust", "category": "skill"}], "bio": "", "displayName": " Ada " })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut args = good();
    *args.pointer_mut(pointer).expect("it is there") = value;
    args
}

#[test]
fn valid_arguments_reach_the_function() {
    let app = TestApp::new();
    let reply = app.nobody().call("functions/onboarding/save", good());
    assert_eq!(reply.value(), &json!("Ada, 31, 1, 7"));
}

#[test]
fn invalid_arguments_are_rejected_with_path_and_value() {
    let app = TestApp::new();
    let twelve = json!([{"name": "a", "category": "skill"}, {"name": "b", "category": "zzz"}]);
    let mut unknown = good();
    unknown["surprise"] = json!(1);
    let mut missing = good();
    missing.as_object_mut().expect("an object").remove("bio");
    for (args, field, message) in [
        (with("/age", json!(7)), "age", "age: must be an integer between 13 and 120 (got 7)"),
        (with("/age", json!(13.5)), "age", "age: must be an integer between 13 and 120 (got 13.5)"),
        (with("/age", json!("x")), "age", "age: must be an integer between 13 and 120 (got \"x\")"),
        (with("/age", Value::Null), "age", "age: must be an integer between 13 and 120 (got null)"),
        (with("/displayName", json!(" ")), "displayName", "Display name cannot be empty"),
        (with("/bio", json!("a\0")), "bio", "bio: must be a text without U+0000 (got \"a\\0\")"),
        (with("/bio", json!(5)), "bio", "bio: must be a text (got 5)"),
        (
            with("/interests", twelve),
            "interests[1].category",
            "interests[1].category: must be one of academic, industry, skill, personal (got \"zzz\")",
        ),
        (
            with("/interests/0/name", json!(" ")),
            "interests[0].name",
            "interests[0].name: must be a text of 1 to 120 characters (got 0 characters)",
        ),
        (
            with("/interests/0", json!({"name": "a"})),
            "interests[0].category",
            "Missing required argument: interests[0].category",
        ),
        (
            with("/interests/0", json!({"name": "a", "category": "skill", "x": 1})),
            "interests[0].x",
            "Unknown argument: interests[0].x",
        ),
        (with("/interests/0", json!(["a", "skill"])), "interests[0]", "interests[0]: must be an object (got an array)"),
        (unknown, "surprise", "Unknown argument: surprise"),
        (missing, "bio", "Missing required argument: bio"),
    ] {
        let reply = app.nobody().call("functions/onboarding/save", args);
        assert_eq!((reply.code(), reply.field(), reply.message()), ("INVALID_ARGUMENT", Some(field), message));
    }
}
